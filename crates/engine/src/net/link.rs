//! How the two sides find each other: sockets that connect, listen and join groups.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

use iostrata_spec::{NetOptions, NetProtocol};

use super::Place;
use super::address::{Address, group, of_host};
use crate::api::EngineError;

/// How long a side that calls goes on where nobody listens yet: the other one may be about to begin, also in the same
/// run.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);
/// How long this machine may take to say that nobody listens on it.
const ANSWER: Duration = Duration::from_millis(2);

/// The first datagram, and the end of what is sent, as fio on a machine of little-endian order has them.
pub(super) const OPEN: [u8; 8] = *b"link\0\0\0\x98";
pub(super) const CLOSE: [u8; 8] = *b"knil\x89\0\0\0";

/// Whether these bytes say that the other side has ended, whatever the order of its bytes.
pub(super) fn says_end(bytes: &[u8]) -> bool {
    bytes == CLOSE || bytes == *b"link\0\0\0\x89"
}

/// An open connection, or a socket for datagrams.
pub(super) struct Link {
    pub(super) socket: OwnedFd,
    pub(super) datagrams: bool,
    /// For datagrams: where they go, or came from.
    pub(super) peer: Option<Address>,
}

pub(super) fn failed(call: &'static str) -> EngineError {
    EngineError::System { call, errno: errno() }
}

pub(super) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

fn socket(options: &NetOptions) -> Result<OwnedFd, EngineError> {
    let family = match options.protocol {
        NetProtocol::Tcp | NetProtocol::Udp => libc::AF_INET,
        NetProtocol::TcpV6 | NetProtocol::UdpV6 => libc::AF_INET6,
        NetProtocol::Unix => libc::AF_UNIX,
        #[cfg(target_os = "linux")]
        NetProtocol::Vsock => libc::AF_VSOCK,
        #[cfg(not(target_os = "linux"))]
        NetProtocol::Vsock => {
            return Err(EngineError::Unsupported("protocol=vsock is a family of sockets of Linux alone".into()));
        }
    };
    let kind = if options.protocol.is_udp() { libc::SOCK_DGRAM } else { libc::SOCK_STREAM };
    // SAFETY: plain integers.
    let fd = unsafe { libc::socket(family, kind, 0) };
    if fd < 0 {
        return Err(match (options.protocol, errno()) {
            (NetProtocol::Vsock, libc::EAFNOSUPPORT) => EngineError::Unsupported(
                "protocol=vsock: this kernel has no such sockets; modprobe vsock_loopback, or vhost_vsock, brings them"
                    .into(),
            ),
            (_, errno) => EngineError::System { call: "socket", errno },
        });
    }
    // SAFETY: a new descriptor, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: plain integers.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    let tcp = matches!(options.protocol, NetProtocol::Tcp | NetProtocol::TcpV6);
    if options.window_bytes > 0 {
        let bytes = i32::try_from(options.window_bytes).unwrap_or(i32::MAX);
        set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes, "setsockopt(SO_SNDBUF) for window_size")?;
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes, "setsockopt(SO_RCVBUF) for window_size")?;
    }
    if tcp && options.segment_bytes > 0 {
        let bytes = i32::try_from(options.segment_bytes).unwrap_or(i32::MAX);
        set(&socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes, "setsockopt(TCP_MAXSEG) for mss")?;
    }
    if tcp && options.no_delay {
        set(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1, "setsockopt(TCP_NODELAY)")?;
    }
    Ok(socket)
}

fn set(socket: &OwnedFd, level: i32, name: i32, value: i32, call: &'static str) -> Result<(), EngineError> {
    let bytes = size_of::<i32>() as libc::socklen_t;
    // SAFETY: a live local of this size.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), bytes) } {
        0 => Ok(()),
        _ => Err(failed(call)),
    }
}

/// Where the other side is, or this one for those that wait for it.
fn address(place: &Place<'_>) -> Result<Address, EngineError> {
    let options = place.options;
    if options.protocol == NetProtocol::Unix {
        return Address::unix(std::ffi::OsStr::from_bytes(place.name));
    }
    let port = place.port()?;
    #[cfg(target_os = "linux")]
    if options.protocol == NetProtocol::Vsock {
        let machine = if place.waits() { Ok(libc::VMADDR_CID_ANY) } else { place.host()?.parse() };
        let machine = machine.map_err(|_| {
            let text = "protocol=vsock: hostname= is the number of a machine: 2 is the host, 1 this machine itself";
            EngineError::lacking(text)
        })?;
        return Ok(Address::vsock(machine, port.into()));
    }
    if place.waits() {
        let any =
            if options.protocol.is_v6() { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
        return Ok(Address::ip(SocketAddr::new(any, port)));
    }
    of_host(place.host()?, port, options.protocol).map(|found| Address::ip(found[0]))
}

/// Opens the link; waits for the other side where that is what this one does. A signal ends the wait.
pub(super) fn open(place: &Place<'_>) -> Result<Link, EngineError> {
    let address = address(place)?;
    match (place.options.protocol.is_udp(), place.waits()) {
        (true, true) => receive_datagrams(place, &address),
        (true, false) => send_datagrams(place, address),
        (false, true) => accept(place, &address),
        (false, false) => connect(place, &address),
    }
}

fn bind(place: &Place<'_>, socket: &OwnedFd, address: &Address) -> Result<(), EngineError> {
    let unix = place.options.protocol == NetProtocol::Unix;
    if unix {
        // One that was left behind; anything else stays, and is in the way.
        let path = place.path();
        if std::fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_socket()) {
            let _ = std::fs::remove_file(path);
        }
    } else {
        set(socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1, "setsockopt(SO_REUSEADDR)")?;
    }
    let (raw, len) = address.raw();
    // SAFETY: an address of this length.
    if unsafe { libc::bind(socket.as_raw_fd(), raw, len) } == 0 {
        return Ok(());
    }
    Err(match errno() {
        libc::EADDRINUSE if unix => EngineError::Failed {
            text: format!("{} is there and no socket: give another filename=", place.path().display()),
            errno: libc::EADDRINUSE,
        },
        errno => EngineError::System { call: "bind", errno },
    })
}

fn accept(place: &Place<'_>, address: &Address) -> Result<Link, EngineError> {
    let socket = socket(place.options)?;
    bind(place, &socket, address)?;
    // SAFETY: plain integers.
    if unsafe { libc::listen(socket.as_raw_fd(), 10) } < 0 {
        return Err(failed("listen"));
    }
    // SAFETY: plain integers; no address is asked for.
    let fd = unsafe { libc::accept(socket.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut()) };
    let why = if fd < 0 { errno() } else { 0 };
    if place.options.protocol == NetProtocol::Unix {
        let _ = std::fs::remove_file(place.path());
    }
    match (fd, why) {
        // SAFETY: a new descriptor, and nobody else's.
        (0.., _) => Ok(Link { socket: unsafe { OwnedFd::from_raw_fd(fd) }, datagrams: false, peer: None }),
        (_, libc::EINTR) => Err(nobody_came()),
        (_, errno) => Err(EngineError::System { call: "accept", errno }),
    }
}

fn nobody_came() -> EngineError {
    EngineError::Failed { text: "stopped while it waited for the other side".into(), errno: libc::EINTR }
}

fn connect(place: &Place<'_>, address: &Address) -> Result<Link, EngineError> {
    let begin = Instant::now();
    let (raw, len) = address.raw();
    loop {
        // A socket that failed to connect is of no use any more.
        let socket = socket(place.options)?;
        // SAFETY: an address of this length.
        if unsafe { libc::connect(socket.as_raw_fd(), raw, len) } == 0 {
            return Ok(Link { socket, datagrams: false, peer: None });
        }
        match errno() {
            libc::ECONNREFUSED | libc::ENOENT if begin.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            libc::EINTR => return Err(nobody_came()),
            errno @ (libc::ECONNREFUSED | libc::ENOENT) => {
                let text = "nobody listens there: start the other side first".into();
                return Err(EngineError::Failed { text, errno });
            }
            errno => return Err(EngineError::System { call: "connect", errno }),
        }
    }
}

/// Waits for the other side's first datagram.
fn receive_datagrams(place: &Place<'_>, address: &Address) -> Result<Link, EngineError> {
    let socket = socket(place.options)?;
    bind(place, &socket, address)?;
    let socket = join(place, socket)?;
    let mut link = Link { socket, datagrams: true, peer: None };
    let mut bytes = [0; OPEN.len()];
    loop {
        match link.receive(bytes.as_mut_ptr(), bytes.len()) {
            8 if bytes == OPEN => return Ok(link),
            0.. => {}
            _ if errno() == libc::EINTR => return Err(nobody_came()),
            _ => return Err(failed("recvfrom")),
        }
    }
}

/// Listens to a group, if the host's name is one.
fn join(place: &Place<'_>, socket: OwnedFd) -> Result<OwnedFd, EngineError> {
    let joined = UdpSocket::from(socket);
    let done = match group(place.options.host.as_deref()) {
        Some(IpAddr::V4(group)) => {
            let interface = place.interface()?.unwrap_or(Ipv4Addr::UNSPECIFIED);
            joined.join_multicast_v4(&group, &interface)
        }
        Some(IpAddr::V6(group)) => joined.join_multicast_v6(&group, 0),
        None => Ok(()),
    };
    let errno = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    done.map_err(|error| EngineError::System { call: "joining the group", errno: errno(error) })?;
    Ok(joined.into())
}

fn send_datagrams(place: &Place<'_>, address: Address) -> Result<Link, EngineError> {
    let link = Link { socket: socket(place.options)?, datagrams: true, peer: Some(address) };
    if group(place.options.host.as_deref()).is_some() {
        let ttl = place.options.ttl as i32;
        if place.options.protocol.is_v6() {
            set(&link.socket, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS, ttl, "setsockopt for ttl")?;
        } else {
            set(&link.socket, libc::IPPROTO_IP, libc::IP_MULTICAST_TTL, ttl, "setsockopt for ttl")?;
            if let Some(interface) = place.interface()? {
                let number = i32::from_ne_bytes(interface.octets());
                set(&link.socket, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, number, "setsockopt for interface")?;
            }
        }
    }
    call_out(&link)?;
    Ok(link)
}

/// Sends the first datagram, again where this machine or the other one says that nobody listens yet. Where they say
/// nothing, nobody knows.
fn call_out(link: &Link) -> Result<(), EngineError> {
    let Some(peer) = &link.peer else { return Ok(()) };
    let fd = link.socket.as_raw_fd();
    let (raw, len) = peer.raw();
    let begin = Instant::now();
    // A refusal is told only to a socket that is connected. A group takes none: then it is not, and nothing is told.
    // SAFETY: an address of this length, here and below.
    let connected = unsafe { libc::connect(fd, raw, len) } == 0;
    loop {
        // SAFETY: bytes of ours.
        let sent = unsafe { libc::sendto(fd, OPEN.as_ptr().cast(), OPEN.len(), QUIETLY, raw, len) };
        if sent < 0 && errno() != libc::ECONNREFUSED {
            return Err(failed("sendto"));
        }
        std::thread::sleep(ANSWER);
        if !is_refused(fd) || begin.elapsed() >= PATIENCE {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    if connected {
        // Answers may come from another address, and nothing that is refused is an error of what comes after it.
        // SAFETY: plain integers, for which zero is a value.
        let mut nowhere: libc::sockaddr = unsafe { std::mem::zeroed() };
        nowhere.sa_family = libc::AF_UNSPEC as libc::sa_family_t;
        // SAFETY: a live local; systems that complain of the family have let go of the address all the same.
        unsafe { libc::connect(fd, &raw const nowhere, size_of_val(&nowhere) as libc::socklen_t) };
    }
    Ok(())
}

/// Whether a datagram that was sent has come to a port where nobody is.
fn is_refused(fd: i32) -> bool {
    let (mut value, mut bytes) = (0_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: live locals of these sizes.
    let got =
        unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut value).cast(), &raw mut bytes) };
    got == 0 && value == libc::ECONNREFUSED
}

impl Link {
    /// Sends bytes: how many went, or -1.
    pub(super) fn send(&self, from: *const u8, len: usize) -> isize {
        let (raw, address_len) = self.peer.as_ref().map_or((std::ptr::null(), 0), Address::raw);
        // SAFETY: the caller's bytes, and an address of this length or none.
        unsafe { libc::sendto(self.socket.as_raw_fd(), from.cast(), len, QUIETLY, raw, address_len) }
    }

    /// Receives bytes: how many came, or -1. Of a datagram, who sent it is remembered.
    pub(super) fn receive(&mut self, to: *mut u8, len: usize) -> isize {
        let mut from = Address::unknown();
        let (raw, address_len) = from.raw_mut();
        // SAFETY: the caller's bytes, and room for an address of any family.
        let got = unsafe { libc::recvfrom(self.socket.as_raw_fd(), to.cast(), len, 0, raw, address_len) };
        if got >= 0 && self.datagrams {
            self.peer = Some(from);
        }
        got
    }

    /// Whether nothing more will come.
    pub(super) fn is_at_end(&self) -> bool {
        let mut byte = 0_u8;
        // SAFETY: a live local of one byte.
        0 == unsafe { libc::recv(self.socket.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_PEEK) }
    }

    /// Tells the other side that this was all.
    pub(super) fn say_end(&self) {
        let (raw, len) = self.peer.as_ref().map_or((std::ptr::null(), 0), Address::raw);
        let flags = QUIETLY | libc::MSG_DONTWAIT;
        // One that does not hear it sees the end of the stream.
        // SAFETY: bytes of ours, and an address of this length or none.
        unsafe { libc::sendto(self.socket.as_raw_fd(), CLOSE.as_ptr().cast(), CLOSE.len(), flags, raw, len) };
    }
}

/// No `SIGPIPE` where the other side is gone; elsewhere the program ignores that signal.
#[cfg(target_os = "linux")]
const QUIETLY: i32 = libc::MSG_NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const QUIETLY: i32 = 0;
