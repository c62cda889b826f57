//! Parking: a thread sleeps until another one gives it a permit.

use std::time::Duration;

#[cfg(any(loom, not(target_os = "linux")))]
pub use portable::Parker;

#[cfg(all(not(loom), target_os = "linux"))]
pub use futex::Parker;

/// Why a thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parked {
    /// It has taken the permit.
    Woken,
    /// The time is over.
    Timeout,
    /// A signal came in, or may have; the permit has not come.
    Interrupted,
}

/// The clock of Python's `time.perf_counter_ns`.
#[must_use]
pub fn clock_now_ns() -> i64 {
    #[cfg(target_os = "macos")]
    const CLOCK: libc::clockid_t = libc::CLOCK_UPTIME_RAW;
    #[cfg(not(target_os = "macos"))]
    const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is ours to write.
    unsafe { libc::clock_gettime(CLOCK, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[cfg(all(not(loom), target_os = "linux"))]
mod futex {
    use super::{Duration, Parked, clock_now_ns};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// One thread at a time parks here; any thread gives the permit.
    #[derive(Debug)]
    pub struct Parker {
        /// 1: given and not taken.
        permit: AtomicU32,
    }

    impl Parker {
        /// Without a permit.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                permit: AtomicU32::new(0),
            }
        }

        /// Whether the permit is there; takes nothing.
        #[inline]
        pub fn has_permit(&self) -> bool {
            self.permit.load(Ordering::Relaxed) != 0
        }

        /// Takes the permit, waiting for it; without `limit`, for ever.
        pub fn park(&self, limit: Option<Duration>) -> Parked {
            let limit_ns = limit.map(|it| i64::try_from(it.as_nanos()).unwrap_or(i64::MAX));
            let deadline = limit_ns.map(|it| clock_now_ns().saturating_add(it));
            while self.permit.swap(0, Ordering::Acquire) == 0 {
                let mut left = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                let mut pointer = std::ptr::null();
                if let Some(deadline) = deadline {
                    let rest = deadline - clock_now_ns();
                    if rest <= 0 {
                        return Parked::Timeout;
                    }
                    left.tv_sec = rest / 1_000_000_000;
                    left.tv_nsec = rest % 1_000_000_000;
                    pointer = &raw const left;
                }
                // SAFETY: the word lives as long as `self`, the time as long as this frame.
                let result = unsafe {
                    libc::syscall(
                        libc::SYS_futex,
                        self.permit.as_ptr(),
                        libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                        0,
                        pointer,
                    )
                };
                if result != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
                    return match self.permit.swap(0, Ordering::Acquire) {
                        0 => Parked::Interrupted,
                        _ => Parked::Woken,
                    };
                }
            }
            Parked::Woken
        }

        /// Gives the permit; what was written before is visible to the thread that takes it.
        pub fn unpark(&self) {
            if self.permit.swap(1, Ordering::AcqRel) == 0 {
                // SAFETY: the word lives as long as `self`.
                unsafe {
                    libc::syscall(
                        libc::SYS_futex,
                        self.permit.as_ptr(),
                        libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                        1,
                    );
                }
            }
        }
    }
}

#[cfg(any(loom, not(target_os = "linux")))]
mod portable {
    use super::{Duration, Parked};
    #[cfg(loom)]
    use loom::sync::{Condvar, Mutex};
    #[cfg(not(loom))]
    use std::sync::{Condvar, Mutex};

    #[cfg(not(loom))]
    const SLICE: Duration = Duration::from_millis(50);

    /// One thread at a time parks here; any thread gives the permit.
    #[derive(Debug)]
    pub struct Parker {
        permit: Mutex<bool>,
        given: Condvar,
    }

    impl Parker {
        /// Without a permit.
        #[cfg(not(loom))]
        #[must_use]
        pub const fn new() -> Self {
            Self {
                permit: Mutex::new(false),
                given: Condvar::new(),
            }
        }

        /// Without a permit.
        #[cfg(loom)]
        #[must_use]
        pub fn new() -> Self {
            Self {
                permit: Mutex::new(false),
                given: Condvar::new(),
            }
        }

        /// Whether the permit is there; takes nothing.
        pub fn has_permit(&self) -> bool {
            *super::super::sync::locked(&self.permit)
        }

        /// Takes the permit, waiting for it; without `limit`, for ever.
        ///
        /// Condition variables do not return on signals, so a long wait is cut into slices that do.
        #[cfg(not(loom))]
        pub fn park(&self, limit: Option<Duration>) -> Parked {
            let slice = limit.map_or(SLICE, |it| it.min(SLICE));
            let permit = super::super::sync::locked(&self.permit);
            let waited = self.given.wait_timeout_while(permit, slice, |given| !*given);
            let (mut permit, _) = match waited {
                Ok(waited) => waited,
                Err(poisoned) => poisoned.into_inner(),
            };
            if std::mem::take(&mut *permit) {
                Parked::Woken
            } else if Some(slice) == limit {
                Parked::Timeout
            } else {
                Parked::Interrupted
            }
        }

        /// Takes the permit, waiting for it; under loom no time passes.
        #[cfg(loom)]
        pub fn park(&self, _limit: Option<Duration>) -> Parked {
            let mut permit = super::super::sync::locked(&self.permit);
            while !*permit {
                permit = self
                    .given
                    .wait(permit)
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            *permit = false;
            Parked::Woken
        }

        /// Gives the permit; what was written before is visible to the thread that takes it.
        pub fn unpark(&self) {
            *super::super::sync::locked(&self.permit) = true;
            self.given.notify_one();
        }
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}
