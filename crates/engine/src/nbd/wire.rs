//! The protocol, as the NBD project's `doc/proto.md` defines it: how a client and a server agree on an export, and what
//! requests and replies look like.

use std::io::{self, Read, Write};

/// Server: `NBDMAGIC`, `IHAVEOPT`; or, of old, what stands in the latter's place.
const MAGIC: u64 = 0x4e42_444d_4147_4943;
const HAVE_OPTIONS: u64 = 0x4948_4156_454f_5054;
const OLD_STYLE: u64 = 0x0000_4202_8186_1253;
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;

/// Flags of both sides in the handshake: the fixed new style, and no zeros after the old way of choosing an export.
const FIXED_NEW_STYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

const OPTION_EXPORT_NAME: u32 = 1;
const OPTION_GO: u32 = 7;
const INFO_BLOCK_SIZE: u16 = 3;
const INFO_EXPORT: u16 = 0;

const REPLY_ACK: u32 = 1;
const REPLY_INFO: u32 = 3;
const REPLY_ERROR: u32 = 1 << 31;
const ERROR_UNSUPPORTED: u32 = REPLY_ERROR | 1;

/// A longer answer to an option is not meant for us, bytes.
const LONGEST_ANSWER: u32 = 1 << 20;

/// Flags of an export.
pub(super) const READ_ONLY: u16 = 1 << 1;
pub(super) const SEND_FLUSH: u16 = 1 << 2;
pub(super) const SEND_TRIM: u16 = 1 << 5;

/// Types of requests.
pub(super) const READ: u16 = 0;
pub(super) const WRITE: u16 = 1;
pub(super) const DISCONNECT: u16 = 2;
pub(super) const FLUSH: u16 = 3;
pub(super) const TRIM: u16 = 4;

const REQUEST: u32 = 0x2560_9513;
const SIMPLE_REPLY: u32 = 0x6744_6698;
pub(super) const REQUEST_BYTES: usize = 28;
pub(super) const REPLY_BYTES: usize = 16;

/// What a server that names no limit takes in one request, bytes.
const USUAL_LIMIT: u32 = 32 << 20;

/// An export that was agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Export {
    pub(super) bytes: u64,
    pub(super) flags: u16,
    /// Offsets and lengths are multiples of this.
    pub(super) block_bytes: u32,
    /// Longest read or write.
    pub(super) limit_bytes: u32,
}

/// What ended the handshake.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The connection broke.
    Broken(io::Error),
    /// A sentence about what the server said.
    Said(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Broken(error)
    }
}

fn array<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn long(stream: &mut impl Read) -> io::Result<u64> {
    array(stream).map(u64::from_be_bytes)
}

fn word(stream: &mut impl Read) -> io::Result<u32> {
    array(stream).map(u32::from_be_bytes)
}

fn half(stream: &mut impl Read) -> io::Result<u16> {
    array(stream).map(u16::from_be_bytes)
}

/// Agrees with the server on the export of this name.
pub(super) fn agree(stream: &mut (impl Read + Write), export: &str) -> Result<Export, Refusal> {
    if long(stream)? != MAGIC {
        return Err(Refusal::Said("what answers there is no NBD server".into()));
    }
    match long(stream)? {
        HAVE_OPTIONS => {}
        OLD_STYLE => return old_style(stream),
        _ => return Err(Refusal::Said("what answers there speaks no NBD that is known".into())),
    }
    let server = half(stream)?;
    let ours = server & (FIXED_NEW_STYLE | NO_ZEROES);
    stream.write_all(&u32::from(ours).to_be_bytes())?;
    if ours & FIXED_NEW_STYLE == 0 {
        return by_name(stream, export, ours);
    }
    match go(stream, export)? {
        Some(export) => Ok(export),
        None => by_name(stream, export, ours),
    }
}

/// The server has one export and says at once what it is.
fn old_style(stream: &mut impl Read) -> Result<Export, Refusal> {
    let (bytes, flags) = (long(stream)?, word(stream)? as u16);
    array::<124>(stream)?;
    Ok(Export { bytes, flags, block_bytes: 1, limit_bytes: USUAL_LIMIT })
}

fn option(stream: &mut impl Write, option: u32, data: &[u8]) -> io::Result<()> {
    let mut message = HAVE_OPTIONS.to_be_bytes().to_vec();
    message.extend(option.to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    message.extend(data);
    stream.write_all(&message)
}

/// The way of servers before 2016: a name that they do not know ends the connection.
fn by_name(stream: &mut (impl Read + Write), export: &str, ours: u16) -> Result<Export, Refusal> {
    option(stream, OPTION_EXPORT_NAME, export.as_bytes())?;
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Refusal::Said(format!("the server has no export `{export}`")),
        _ => Refusal::Broken(error),
    };
    let bytes = long(stream).map_err(gone)?;
    let flags = half(stream)?;
    if ours & NO_ZEROES == 0 {
        array::<124>(stream)?;
    }
    Ok(Export { bytes, flags, block_bytes: 1, limit_bytes: USUAL_LIMIT })
}

/// `NBD_OPT_GO`; `None` if the server does not know it.
fn go(stream: &mut (impl Read + Write), export: &str) -> Result<Option<Export>, Refusal> {
    let mut data = (export.len() as u32).to_be_bytes().to_vec();
    data.extend(export.as_bytes());
    data.extend(1u16.to_be_bytes());
    data.extend(INFO_BLOCK_SIZE.to_be_bytes());
    option(stream, OPTION_GO, &data)?;
    let mut found = Export { bytes: 0, flags: 0, block_bytes: 1, limit_bytes: USUAL_LIMIT };
    loop {
        if long(stream)? != OPTION_REPLY {
            return Err(Refusal::Said("the server answers an option with something else".into()));
        }
        let (_, kind, length) = (word(stream)?, word(stream)?, word(stream)?);
        if length > LONGEST_ANSWER {
            return Err(Refusal::Said(format!("the server answers an option with {length} bytes")));
        }
        let mut answer = vec![0; length as usize];
        stream.read_exact(&mut answer)?;
        match kind {
            REPLY_ACK => return Ok(Some(found)),
            REPLY_INFO => found.learn(&answer),
            ERROR_UNSUPPORTED => return Ok(None),
            error if error & REPLY_ERROR != 0 => return Err(Refusal::Said(refused(error, export, &answer))),
            _ => {}
        }
    }
}

/// Why the server does not give the export.
fn refused(error: u32, export: &str, answer: &[u8]) -> String {
    let why = match error & !REPLY_ERROR {
        2 => format!("the server's policy does not allow the export `{export}`"),
        5 => {
            format!("the server gives the export `{export}` to clients with TLS only, which this engine does not speak")
        }
        6 => format!("the server has no export `{export}`"),
        7 => "the server is shutting down".into(),
        8 => format!("the server gives the export `{export}` to clients only that know its block sizes"),
        code => format!("the server refuses the export `{export}` (error {code})"),
    };
    match String::from_utf8_lossy(answer) {
        said if said.is_empty() => why,
        said => format!("{why}: {said}"),
    }
}

impl Export {
    /// Takes one piece of information about it.
    fn learn(&mut self, info: &[u8]) {
        let at = |from: usize| info.get(from..from + 4)?.try_into().ok().map(u32::from_be_bytes);
        let kind = info.get(..2).map(|kind| u16::from_be_bytes([kind[0], kind[1]]));
        match (kind, info.len()) {
            (Some(INFO_EXPORT), 12..) => {
                let bytes: [u8; 8] = std::array::from_fn(|index| info[2 + index]);
                self.bytes = u64::from_be_bytes(bytes);
                self.flags = u16::from_be_bytes([info[10], info[11]]);
            }
            (Some(INFO_BLOCK_SIZE), 14..) => {
                self.block_bytes = at(2).unwrap_or(1).max(1);
                self.limit_bytes = at(10).unwrap_or(USUAL_LIMIT).max(self.block_bytes);
            }
            _ => {}
        }
    }
}

/// The client leaves before anything was transferred.
pub(super) fn leave(stream: &mut impl Write) {
    // A server that is gone need not be told.
    let _ = stream.write_all(&request(DISCONNECT, 0, 0, 0));
}

/// A request's head.
pub(super) fn request(kind: u16, cookie: u64, offset: u64, bytes: u32) -> [u8; REQUEST_BYTES] {
    let mut head = [0; REQUEST_BYTES];
    head[..4].copy_from_slice(&REQUEST.to_be_bytes());
    head[6..8].copy_from_slice(&kind.to_be_bytes());
    head[8..16].copy_from_slice(&cookie.to_be_bytes());
    head[16..24].copy_from_slice(&offset.to_be_bytes());
    head[24..].copy_from_slice(&bytes.to_be_bytes());
    head
}

/// Error and cookie of a reply's head; `None` if it is none.
pub(super) fn reply(head: &[u8; REPLY_BYTES]) -> Option<(u32, u64)> {
    let word = |from: usize| u32::from_be_bytes(std::array::from_fn(|index| head[from + index]));
    (word(0) == SIMPLE_REPLY).then(|| (word(4), u64::from(word(8)) << 32 | u64::from(word(12))))
}

/// The errno of an error in a reply: the protocol's numbers are Linux's.
pub(super) fn errno(error: u32) -> i32 {
    match error {
        1 => libc::EPERM,
        5 => libc::EIO,
        12 => libc::ENOMEM,
        28 => libc::ENOSPC,
        75 => libc::EOVERFLOW,
        95 => libc::EOPNOTSUPP,
        108 => libc::ESHUTDOWN,
        _ => libc::EINVAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose words are known before; keeps what it hears.
    struct Script {
        says: io::Cursor<Vec<u8>>,
        hears: Vec<u8>,
    }

    impl Script {
        fn new(parts: &[&[u8]]) -> Script {
            Script { says: io::Cursor::new(parts.concat()), hears: Vec::new() }
        }
    }

    impl Read for Script {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.says.read(bytes)
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.hears.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn answer(kind: u32, data: &[u8]) -> Vec<u8> {
        let head = [&OPTION_REPLY.to_be_bytes()[..], &OPTION_GO.to_be_bytes(), &kind.to_be_bytes()].concat();
        [head, (data.len() as u32).to_be_bytes().to_vec(), data.to_vec()].concat()
    }

    const HELLO: &[u8] = b"NBDMAGICIHAVEOPT\x00\x03";

    #[test]
    fn an_export_is_agreed_on() {
        let export = answer(REPLY_INFO, &[0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0x25]);
        let sizes = answer(REPLY_INFO, &[0, 3, 0, 0, 2, 0, 0, 0, 0x10, 0, 1, 0, 0, 0]);
        let other = answer(REPLY_INFO, &[0, 1, b'x']);
        let mut server = Script::new(&[HELLO, &export, &other, &sizes, &answer(REPLY_ACK, &[])]);
        let found = agree(&mut server, "disk").expect("an export");
        assert_eq!(found, Export { bytes: 1 << 26, flags: 0x25, block_bytes: 512, limit_bytes: 1 << 24 });
        assert_eq!(server.hears[..4], [0, 0, 0, 3]);
        assert!(server.hears.ends_with(b"\0\0\0\x04disk\0\x01\0\x03"));
    }

    #[test]
    fn servers_of_old_are_understood() {
        let mut bytes = 4096u64.to_be_bytes().to_vec();
        bytes.extend([0, 5]);
        let unsupported = answer(ERROR_UNSUPPORTED, b"what?");
        let mut server = Script::new(&[HELLO, &unsupported, &bytes]);
        assert_eq!(agree(&mut server, "x").expect("an export").bytes, 4096);
        let mut server = Script::new(&[b"NBDMAGICIHAVEOPT\x00\x00", &bytes, &[0; 124]]);
        assert_eq!(agree(&mut server, "x").expect("an export").flags, 5);
        let first = [&b"NBDMAGIC"[..], &OLD_STYLE.to_be_bytes(), &4096u64.to_be_bytes(), &[0, 0, 0, 1], &[0; 124]];
        assert_eq!(agree(&mut Script::new(&first), "").expect("an export").bytes, 4096);
    }

    #[test]
    fn a_refusal_says_why() {
        let said = |parts: &[&[u8]]| match agree(&mut Script::new(parts), "disk") {
            Err(Refusal::Said(text)) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(said(&[HELLO, &answer(REPLY_ERROR | 6, b"gone")]), "the server has no export `disk`: gone");
        assert!(said(&[HELLO, &answer(REPLY_ERROR | 5, b"")]).contains("TLS"));
        assert!(said(&[b"SSH-2.0-OpenSSH_9.2p1"]).contains("no NBD server"));
        assert!(
            said(&[HELLO, &OPTION_REPLY.to_be_bytes(), &[0, 0, 0, 7, 0, 0, 0, 3], &[0x7f, 0, 0, 0]]).contains("bytes")
        );
        assert!(said(&[b"NBDMAGICIHAVEOPT\x00\x02"]).contains("no export `disk`"));
        assert!(matches!(agree(&mut Script::new(&[HELLO]), "x"), Err(Refusal::Broken(_))));
    }

    #[test]
    fn requests_and_replies_are_those_of_the_protocol() {
        let head = request(WRITE, 7, 0x1234, 4096);
        assert_eq!(head, *b"\x25\x60\x95\x13\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x12\x34\0\0\x10\0");
        assert_eq!(reply(b"\x67\x44\x66\x98\0\0\0\x1c\0\0\0\0\0\0\0\x09"), Some((28, 9)));
        assert_eq!(reply(&[0; REPLY_BYTES]), None);
        assert_eq!([errno(28), errno(5), errno(1000)], [libc::ENOSPC, libc::EIO, libc::EINVAL]);
    }
}
