//! A server of few pages: as much of HTTP/1.1 as browsers and scrapers need.
//!
//! Each client has a thread and a few seconds; then it is left, whether it was silent, slow to ask or slow to read.
//! There is one answer per connection.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// So long one client may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many clients are served at a time; others are turned away.
const MOST_CLIENTS: usize = 64;
/// A longer request is none of ours, bytes.
const LONGEST_REQUEST: usize = 16 << 10;
/// A pause after a client that could not be taken (too many open files).
const RETRY: Duration = Duration::from_millis(50);

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without what comes after a `?`.
    pub(super) path: String,
    /// What it would like to get (`Accept`); empty if it does not say.
    pub(super) accept: String,
    /// Whom it believes to ask (`Host`), without a port; empty if it does not say.
    pub(super) host: String,
}

impl Request {
    /// Whether it is for a host of this name or address, and not for one whose name was made to point here: a page from
    /// anywhere could have its reader's browser ask so.
    pub(super) fn is_for_this_machine(&self) -> bool {
        let address = self.host.trim_start_matches('[').trim_end_matches(']');
        self.host.is_empty() || self.host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
    }
}

/// What it gets.
pub(super) struct Answer {
    /// Code and reason, as `200 OK`.
    pub(super) status: &'static str,
    /// The `Content-Type`.
    pub(super) kind: &'static str,
    /// More fields of the head.
    pub(super) fields: &'static [(&'static str, &'static str)],
    pub(super) body: String,
}

/// A server in a thread of its own. It ends with this, and waits for no client.
pub(super) struct Server {
    /// Where it listens.
    pub(super) address: SocketAddr,
    closed: Arc<AtomicBool>,
}

impl Server {
    /// Begins to listen.
    pub(super) fn start(
        address: SocketAddr,
        answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let closed = Arc::new(AtomicBool::new(false));
        let (ends, answer) = (Arc::clone(&closed), Arc::new(answer));
        let work = move || {
            iostrata_os::signals::block_in_this_thread();
            let clients = Arc::new(());
            while !ends.load(SeqCst) {
                let Ok((stream, _)) = listener.accept() else {
                    std::thread::sleep(RETRY);
                    continue;
                };
                // Each client holds one more, until it is served.
                if Arc::strong_count(&clients) > MOST_CLIENTS {
                    continue;
                }
                let (answer, client) = (Arc::clone(&answer), Arc::clone(&clients));
                let work = move || {
                    // Who went away, or takes too long, needs no answer.
                    let _ = serve(&stream, &*answer);
                    drop(client);
                };
                // Without a thread for it the client is turned away.
                let _ = std::thread::Builder::new().name("client".into()).spawn(work);
            }
        };
        std::thread::Builder::new().name("listen".into()).spawn(work)?;
        Ok(Server { address, closed })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closed.store(true, SeqCst);
        // Wakes the thread. Who listens at all addresses does so at this one.
        let mut own = self.address;
        match own {
            SocketAddr::V4(address) if address.ip().is_unspecified() => own.set_ip(Ipv4Addr::LOCALHOST.into()),
            SocketAddr::V6(address) if address.ip().is_unspecified() => own.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let _ = TcpStream::connect_timeout(&own, RETRY);
    }
}

/// A client whose time ends, however many pieces it sends or takes.
struct Patient<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Patient<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn serve(stream: &TcpStream, answer: &impl Fn(&Request) -> Answer) -> io::Result<()> {
    let mut client = Patient { stream, deadline: Instant::now() + PATIENCE };
    let head = head(&mut client)?;
    let (answer, with_body) = match parse(&head) {
        Some(request) => (answer(&request), request.method != "HEAD"),
        None => (Answer::text("400 Bad Request", "this is no request of HTTP\n"), true),
    };
    client.write_all(&written(&answer, with_body))?;
    // What it still sends is taken: with that unread, the answer would be lost too.
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut client.take(LONGEST_REQUEST as u64), &mut io::sink()).map(drop)
}

/// All up to the empty line.
fn head(client: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut head, mut bytes) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match client.read(&mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => head.extend(&bytes[..read]),
        }
        if head.len() > LONGEST_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(head)
}

fn parse(head: &[u8]) -> Option<Request> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if !version.starts_with("HTTP/1.") || words.next().is_some() {
        return None;
    }
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let values = |wanted: &str| {
        let of = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        of.map(|(_, value)| value.trim()).collect::<Vec<_>>().join(", ")
    };
    let (host, path) = (values("host"), target.split('?').next()?);
    let port = host.rfind(':').filter(|at| host[at + 1..].bytes().all(|byte| byte.is_ascii_digit()));
    let host = host[..port.unwrap_or(host.len())].to_owned();
    Some(Request { method: method.to_owned(), path: path.to_owned(), accept: values("accept"), host })
}

fn written(answer: &Answer, with_body: bool) -> Vec<u8> {
    let mut text = format!(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n",
        answer.status,
        answer.kind,
        answer.body.len()
    );
    for (name, value) in answer.fields {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    if with_body {
        text.push_str(&answer.body);
    }
    text.into_bytes()
}

impl Answer {
    /// A line of text.
    pub(super) fn text(status: &'static str, body: &str) -> Answer {
        Answer { status, kind: "text/plain; charset=utf-8", fields: &[], body: body.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_in_any_pieces_and_nothing_else_is_taken_for_one() {
        let whole = b"GET /metrics?x=1 HTTP/1.1\r\nhost: x\r\naccept: text/plain\r\nAccept:a/b \r\n\r\nrest";
        let mut pieces = whole[..30].chain(&whole[30..31]).chain(&whole[31..]);
        let request = parse(&head(&mut pieces).expect("a head")).expect("a request");
        let wanted = Request {
            method: "GET".into(),
            path: "/metrics".into(),
            accept: "text/plain, a/b".into(),
            host: "x".into(),
        };
        assert_eq!(request, wanted);
        for bad in ["", "GET /", "GET / HTTP/2", "GET / x HTTP/1.1", "\u{16}\u{3}\u{1}"] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        assert!(head(&mut &b"GET / HTTP/1.1\r\n"[..]).is_err(), "it went away");
        assert!(head(&mut io::repeat(b'x')).is_err(), "it never ends");
    }

    #[test]
    fn a_name_that_was_made_to_point_here_is_told_from_ours() {
        let ours = |host: &str| {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            parse(head.as_bytes()).expect("a request").is_for_this_machine()
        };
        assert!(
            ["", "localhost", "Localhost:9000", "127.0.0.1:9000", "[::1]:9000", "[::1]"].map(ours).iter().all(|is| *is)
        );
        assert!(["evil.example", "evil.example:9000", "localhost.evil.example"].map(ours).iter().all(|is| !*is));
    }

    #[test]
    fn a_head_alone_tells_the_length_too() {
        let answer = Answer::text("200 OK", "four");
        let text = |with_body| String::from_utf8(written(&answer, with_body)).expect("text");
        assert!(text(true).ends_with("\r\n\r\nfour") && text(true).contains("Content-Length: 4\r\n"));
        assert!(text(false).ends_with("\r\n\r\n") && text(false).contains("Content-Length: 4\r\n"));
    }
}
