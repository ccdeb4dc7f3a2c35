//! Waking a thread out of a blocking system call.

use std::sync::{Arc, Mutex, Once, PoisonError};

use super::system::{ThreadId, current_thread, signal_thread};

/// Nothing else uses it, it is ignored where no handler stands, and pending ones merge into one.
const WAKE_SIGNAL: i32 = libc::SIGURG;

/// Ends the blocking system call that its thread is in (`EINTR`), from any other thread.
///
/// A thread that is not in a system call takes no notice: a wake-up that comes just before the call is lost. Whoever
/// needs an answer sets a flag that the thread looks at, wakes, and wakes again until the thread has answered.
#[derive(Clone, Debug)]
pub struct Waker {
    /// `None` once the thread has ended. The lock is held while signalling, so that the thread cannot end, and its
    /// number cannot be given to another, in between.
    thread: Arc<Mutex<Option<ThreadId>>>,
}

/// A handle of a thread is an address on macOS; it is only compared and passed on.
struct Registered(Waker);

impl Drop for Registered {
    fn drop(&mut self) {
        *self.0.thread.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

thread_local! {
    /// Dropped by the thread itself when it ends.
    static CURRENT: Registered = Registered(Waker { thread: Arc::new(Mutex::new(Some(current_thread()))) });
}

impl Waker {
    /// A waker of the calling thread, which from now on takes the wake-up signal even if it was born with it blocked.
    pub fn current() -> Waker {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| crate::signals::handle(WAKE_SIGNAL, ignore, 0));
        crate::signals::set_blocked(&[WAKE_SIGNAL], false);
        CURRENT.with(|registered| registered.0.clone())
    }

    /// Interrupts the thread; false if it has ended.
    pub fn wake(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.is_some_and(|thread| signal_thread(thread, WAKE_SIGNAL))
    }
}

/// The handler does nothing: that there is one makes the system call end. (No `SA_RESTART`.)
extern "C" fn ignore(_signal: libc::c_int) {}
