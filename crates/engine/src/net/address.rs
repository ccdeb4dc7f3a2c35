//! Socket addresses as the kernel takes them.

use std::ffi::OsStr;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;

use iostrata_spec::NetProtocol;

use crate::api::EngineError;

/// An address of any family.
#[derive(Clone, Copy)]
pub(super) struct Address {
    storage: libc::sockaddr_storage,
    len: libc::socklen_t,
}

impl Address {
    /// Room for an address that the kernel fills in.
    pub(super) fn unknown() -> Address {
        // SAFETY: plain integers, for which zero is a value.
        let storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        Address { storage, len: size_of::<libc::sockaddr_storage>() as libc::socklen_t }
    }

    fn of<T: Copy>(address: &T, len: usize) -> Address {
        let mut made = Address { len: len as libc::socklen_t, ..Address::unknown() };
        assert!(size_of::<T>() <= size_of_val(&made.storage), "no address is larger than the storage of one");
        // SAFETY: the storage is large enough, as was just seen, and aligned for every address; they lie apart.
        unsafe { std::ptr::copy_nonoverlapping(address, (&raw mut made.storage).cast::<T>(), 1) };
        made
    }

    /// An address of the internet.
    pub(super) fn ip(address: SocketAddr) -> Address {
        match address {
            SocketAddr::V4(v4) => {
                // SAFETY: plain integers, for which zero is a value.
                let mut raw: libc::sockaddr_in = unsafe { std::mem::zeroed() };
                raw.sin_family = libc::AF_INET as libc::sa_family_t;
                raw.sin_port = v4.port().to_be();
                raw.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                Address::of(&raw, size_of_val(&raw))
            }
            SocketAddr::V6(v6) => {
                // SAFETY: as above.
                let mut raw: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
                raw.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                raw.sin6_port = v6.port().to_be();
                raw.sin6_addr.s6_addr = v6.ip().octets();
                raw.sin6_scope_id = v6.scope_id();
                Address::of(&raw, size_of_val(&raw))
            }
        }
    }

    /// The name of a Unix socket.
    pub(super) fn unix(path: &OsStr) -> Result<Address, EngineError> {
        // SAFETY: as above.
        let mut raw: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        raw.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let name = path.as_bytes();
        if name.len() >= raw.sun_path.len() {
            let text =
                format!("the name of a Unix socket has at most {} bytes: {}", raw.sun_path.len() - 1, path.display());
            return Err(EngineError::Failed { text, errno: libc::ENAMETOOLONG });
        }
        for (to, from) in raw.sun_path.iter_mut().zip(name) {
            *to = *from as libc::c_char;
        }
        Ok(Address::of(&raw, size_of_val(&raw)))
    }

    /// A port of a virtual machine, or of its host.
    #[cfg(target_os = "linux")]
    pub(super) fn vsock(machine: u32, port: u32) -> Address {
        // SAFETY: as above.
        let mut raw: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
        raw.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        raw.svm_cid = machine;
        raw.svm_port = port;
        Address::of(&raw, size_of_val(&raw))
    }

    pub(super) fn raw(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.storage).cast(), self.len)
    }

    /// Where the kernel puts an address, and how long it is.
    pub(super) fn raw_mut(&mut self) -> (*mut libc::sockaddr, *mut libc::socklen_t) {
        self.len = size_of_val(&self.storage) as libc::socklen_t;
        ((&raw mut self.storage).cast(), &raw mut self.len)
    }
}

/// The addresses of a host that are of the protocol's family.
pub(super) fn of_host(host: &str, port: u16, protocol: NetProtocol) -> Result<Vec<SocketAddr>, EngineError> {
    let found = (host, port).to_socket_addrs().map_err(|error| {
        let why = error.to_string();
        let text = format!("hostname={host} is not found: {}", why.rsplit(": ").next().unwrap_or(&why));
        EngineError::Failed { text, errno: error.raw_os_error().unwrap_or(libc::EHOSTUNREACH) }
    })?;
    let found: Vec<SocketAddr> = found.filter(|address| address.is_ipv6() == protocol.is_v6()).collect();
    if found.is_empty() {
        let (has, other) = if protocol.is_v6() { ("IPv6", "tcp or udp") } else { ("IPv4", "tcpv6 or udpv6") };
        let text = format!("hostname={host} has no {has} address: give protocol={other}, or another host");
        return Err(EngineError::Failed { text, errno: libc::EAFNOSUPPORT });
    }
    Ok(found)
}

/// The group that a host's name stands for, if it is one that many can listen to.
pub(super) fn group(host: Option<&str>) -> Option<IpAddr> {
    host?.parse().ok().filter(IpAddr::is_multicast)
}
