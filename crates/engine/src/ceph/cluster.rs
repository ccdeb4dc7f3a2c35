//! The way to a pool.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use iostrata_spec::CephOptions;

use super::library::{Handle, Rados, text};
use crate::api::EngineError;

/// A connection to a cluster, and one of its pools.
pub(super) struct Cluster {
    pub(super) rados: Rados,
    handle: Handle,
    pub(super) pool: Handle,
}

/// The library's answer as an error with its errno.
pub(super) fn failed(what: String, answer: i32) -> EngineError {
    EngineError::Failed { text: what, errno: answer.saturating_neg() }
}

impl Cluster {
    /// Connects. With `conf`, by that configuration file; else by the one that Ceph's own programs take.
    pub(super) fn connect(options: &CephOptions, conf: Option<&str>) -> Result<Cluster, EngineError> {
        let pool = options.pool.as_deref();
        let pool = pool.ok_or_else(|| EngineError::lacking("pool= is missing: the pool that is worked in"))?;
        let rados = Rados::load().map_err(EngineError::Unsupported)?;
        let mut cluster = Cluster { rados, handle: null_mut(), pool: null_mut() };
        cluster.create(options)?;
        let path = conf.map(text);
        // SAFETY: a handle that was made, and texts that live through the calls, here and below.
        let read =
            unsafe { (rados.conf_read_file)(cluster.handle, path.as_ref().map_or(null(), |path| path.as_ptr())) };
        if read < 0 {
            let file = conf.unwrap_or("$CEPH_CONF, /etc/ceph/ceph.conf, ~/.ceph/config, ceph.conf");
            return Err(failed(format!("no configuration of a cluster can be read ({file})"), read));
        }
        cluster.shorten_wait();
        // SAFETY: as above.
        let connected = unsafe { (rados.connect)(cluster.handle) };
        if connected < 0 {
            let what = "the cluster cannot be reached: look at mon_host and the keyring in its configuration, and at \
                        clientname=";
            return Err(failed(what.into(), connected));
        }
        // SAFETY: as above.
        let opened = unsafe { (rados.ioctx_create)(cluster.handle, text(pool).as_ptr(), &raw mut cluster.pool) };
        if opened < 0 {
            cluster.pool = null_mut();
            return Err(failed(
                format!("pool={pool} cannot be opened: rados lspools shows those that there are"),
                opened,
            ));
        }
        Ok(cluster)
    }

    /// Ceph's own programs wait five minutes for a cluster, and nothing ends that. Another time is the user's will.
    fn shorten_wait(&self) {
        let mut value = [0; 32];
        // SAFETY: a handle that was made, texts, and a live local of this size.
        unsafe {
            let name = c"client_mount_timeout".as_ptr();
            let known = (self.rados.conf_get)(self.handle, name, value.as_mut_ptr(), value.len()) >= 0;
            if known && CStr::from_ptr(value.as_ptr()).to_bytes().starts_with(b"300") {
                (self.rados.conf_set)(self.handle, name, c"30".as_ptr());
            }
        }
    }

    fn create(&mut self, options: &CephOptions) -> Result<(), EngineError> {
        let client = options.client.as_deref();
        let made = match &options.cluster {
            // With a cluster's name the client's has its kind before it.
            Some(name) => {
                let client = client.unwrap_or("admin");
                let client = if client.contains('.') { client.to_owned() } else { format!("client.{client}") };
                let (name, client) = (text(name), text(&client));
                // SAFETY: room for a handle, and texts that live through the call, here and below.
                unsafe { (self.rados.create2)(&raw mut self.handle, name.as_ptr(), client.as_ptr(), 0) }
            }
            None => {
                let client = client.map(text);
                let client = client.as_ref().map_or(null(), |client| client.as_ptr());
                // SAFETY: as above; without a name it is that of Ceph's own programs.
                unsafe { (self.rados.create)(&raw mut self.handle, client) }
            }
        };
        if made < 0 {
            self.handle = null_mut();
            return Err(failed("librados cannot be set up".into(), made));
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: handles that were made and are not used any more; nothing is in flight.
        unsafe {
            if !self.pool.is_null() {
                (self.rados.ioctx_destroy)(self.pool);
            }
            if !self.handle.is_null() {
                (self.rados.shutdown)(self.handle);
            }
        }
    }
}
