//! Where an export is: the URI of `uri=`, as the NBD project's `doc/uri.md` defines it, and the connection to it.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use percent_encoding::percent_decode_str;

/// Port of NBD, as IANA has it.
const PORT: u16 = 10_809;

/// A place to connect to, and the export wanted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    place: Place,
    /// Name of the export; empty for the server's default.
    pub(super) export: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Tcp { host: String, port: u16 },
    Unix(String),
}

impl Address {
    /// Reads a URI; the error is a sentence that says what is wrong with it.
    pub(super) fn parse(uri: &str) -> Result<Address, String> {
        let (scheme, rest) =
            uri.split_once("://").ok_or_else(|| format!("`{uri}` is no URI: write nbd://HOST[:PORT]/EXPORT"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let export = decoded(path)?;
        match scheme {
            "nbd" | "nbd+tcp" => {
                // A user's name is for TLS alone.
                let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
                let (host, port) = host_and_port(host).ok_or_else(|| format!("`{authority}` is no host and port"))?;
                Ok(Address { place: Place::Tcp { host, port }, export })
            }
            "nbd+unix" => {
                let socket = query.split('&').find_map(|part| part.strip_prefix("socket="));
                let socket = socket.filter(|path| !path.is_empty()).ok_or("nbd+unix:// needs ?socket=PATH")?;
                Ok(Address { place: Place::Unix(decoded(socket)?), export })
            }
            "nbds" | "nbds+tcp" | "nbds+unix" => Err(format!(
                "{scheme}:// needs TLS, which this engine does not speak: \
                                                             use nbd:// within a network that is trusted"
            )),
            other => Err(format!("{other}:// is no scheme of NBD: there are nbd:// and nbd+unix://")),
        }
    }

    /// Connects.
    pub(super) fn connect(&self) -> io::Result<OwnedFd> {
        match &self.place {
            Place::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                // Requests are small and each is waited for.
                stream.set_nodelay(true)?;
                Ok(stream.into())
            }
            Place::Unix(path) => UnixStream::connect(path).map(OwnedFd::from),
        }
    }

    /// The place in words.
    pub(super) fn shown(&self) -> String {
        match &self.place {
            Place::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Place::Tcp { host, port } => format!("{host}:{port}"),
            Place::Unix(path) => path.clone(),
        }
    }
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| format!("`{text}` is no text in UTF-8"))
}

/// `host`, `host:port`, `[::1]:port`; the host may be missing, which is this machine.
fn host_and_port(authority: &str) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, after.strip_prefix(':').or(after.is_empty().then_some(""))?)
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let port = if port.is_empty() { PORT } else { port.parse().ok()? };
    Some((if host.is_empty() { "localhost".into() } else { host.into() }, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16, export: &str) -> Address {
        Address { place: Place::Tcp { host: host.into(), port }, export: export.into() }
    }

    #[test]
    fn every_form_of_the_uri_is_read() {
        let unix = |path: &str, export: &str| Address { place: Place::Unix(path.into()), export: export.into() };
        for (uri, wanted) in [
            ("nbd://example.com", tcp("example.com", 10_809, "")),
            ("nbd://example.com:10810/disk", tcp("example.com", 10_810, "disk")),
            ("nbd://alice@[2001:db8::1]:1/a%20b/c", tcp("2001:db8::1", 1, "a b/c")),
            ("nbd://localhost/", tcp("localhost", 10_809, "")),
            ("nbd+unix:///?socket=/tmp/nbd.sock", unix("/tmp/nbd.sock", "")),
            ("nbd+unix:///my%2Fexport?tls=x&socket=a%3Fb", unix("a?b", "my/export")),
        ] {
            assert_eq!(Address::parse(uri), Ok(wanted), "{uri}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_uri_is_said() {
        for (uri, word) in [
            ("localhost:10809", "no URI"),
            ("nbd://h:port/x", "no host and port"),
            ("nbd://[::1/x", "no host and port"),
            ("nbd+unix:///x", "?socket="),
            ("nbd://h/%ff", "UTF-8"),
            ("nbds://h/x", "TLS"),
            ("http://h/x", "no scheme"),
        ] {
            let error = Address::parse(uri).expect_err(uri);
            assert!(error.contains(word), "{uri}: {error}");
        }
    }
}
