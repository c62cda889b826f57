//! Sleeping workers: a Dekker protocol between a worker that parks and a thread that pushes.
//!
//! 1. The worker enters the list of parked workers and counts itself, under the mutex.
//! 2. Fence; it looks at all queues once more, and leaves the list again if one is not empty.
//! 3. It sleeps on its parker.
//!
//! 1'. A pusher puts a circuit into a queue.
//! 2'. Fence; it reads the count, and if it is not 0 it takes one worker from the list and unparks it.
//!
//! Either the worker sees the circuit in 2 or the pusher sees the worker in 2'.
//!
//! One worker at a time searches: it has just been woken, or looks around for some microseconds before it parks.
//! While one does, pushers wake nobody: it counts as searching until it has found something (then it wakes the
//! next if more waits) or until before its step 1 (then its step 2 sees what was pushed).

use super::parker::Parker;
use super::sync::{AtomicBool, AtomicU32, Mutex, Ordering, fence, locked};

/// A worker's part.
#[derive(Debug)]
pub struct Sleeper {
    /// It sleeps here.
    pub parker: Parker,
    /// In the list; written under the mutex.
    pub listed: AtomicBool,
    /// Counted in `searching`; the worker's, or, while it is woken, its waker's.
    pub searches: AtomicBool,
    next: *mut Sleeper,
    previous: *mut Sleeper,
}

impl Sleeper {
    /// Awake.
    #[must_use]
    pub fn new() -> Self {
        Self {
            parker: Parker::new(),
            listed: AtomicBool::new(false),
            searches: AtomicBool::new(false),
            next: std::ptr::null_mut(),
            previous: std::ptr::null_mut(),
        }
    }
}

impl Default for Sleeper {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug)]
struct List(*mut Sleeper);

// SAFETY: the list is used under the mutex alone.
unsafe impl Send for List {}

/// The parked workers of a team.
#[derive(Debug)]
pub struct Parking {
    list: Mutex<List>,
    /// How many are in the list; written under the mutex.
    pub parked: AtomicU32,
    /// How many look for work.
    pub searching: AtomicU32,
}

impl Parking {
    /// Nobody parked.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            list: Mutex::new(List(std::ptr::null_mut())),
            parked: AtomicU32::new(0),
            searching: AtomicU32::new(0),
        }
    }

    /// Nobody parked.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self {
            list: Mutex::new(List(std::ptr::null_mut())),
            parked: AtomicU32::new(0),
            searching: AtomicU32::new(0),
        }
    }

    /// Counts a worker as searching.
    ///
    /// # Safety
    /// `sleeper` is valid, and the caller's, or taken from the list by the caller.
    pub unsafe fn search_begin(&self, sleeper: *mut Sleeper) {
        // SAFETY: as promised.
        unsafe { (*sleeper).searches.store(true, Ordering::Relaxed) };
        self.searching.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a worker no longer as searching.
    ///
    /// # Safety
    /// `sleeper` is valid, and the caller's.
    pub unsafe fn search_end(&self, sleeper: *mut Sleeper) {
        // SAFETY: as promised.
        unsafe {
            if (*sleeper).searches.load(Ordering::Relaxed) {
                (*sleeper).searches.store(false, Ordering::Relaxed);
                self.searching.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Step 1, and the fence of step 2.
    ///
    /// # Safety
    /// `sleeper` is valid until it has left the list, and the caller's.
    pub unsafe fn enter(&self, sleeper: *mut Sleeper) {
        let mut list = locked(&self.list);
        // SAFETY: the sleeper as promised; the list under its mutex.
        unsafe {
            (*sleeper).previous = std::ptr::null_mut();
            (*sleeper).next = list.0;
            if !list.0.is_null() {
                (*list.0).previous = sleeper;
            }
            list.0 = sleeper;
            (*sleeper).listed.store(true, Ordering::Relaxed);
        }
        self.parked
            .store(self.parked.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        drop(list);
        fence(Ordering::SeqCst);
    }

    /// Leaves the list; false: somebody took the worker out and gives, or gave, the permit.
    ///
    /// # Safety
    /// `sleeper` is valid, and the caller's.
    pub unsafe fn leave(&self, sleeper: *mut Sleeper) -> bool {
        // SAFETY: as promised.
        unsafe { self.leave_if(sleeper, |_| true) }
    }

    /// As `leave`, if `may` says so of the number of workers in the list; it is called under the mutex.
    ///
    /// # Safety
    /// `sleeper` is valid, and the caller's.
    pub unsafe fn leave_if(&self, sleeper: *mut Sleeper, may: impl FnOnce(u32) -> bool) -> bool {
        let mut list = locked(&self.list);
        // SAFETY: the sleeper as promised; the list under its mutex.
        unsafe {
            let leaves =
                (*sleeper).listed.load(Ordering::Relaxed) && may(self.parked.load(Ordering::Relaxed));
            if leaves {
                self.remove(&mut list, sleeper);
            }
            leaves
        }
    }

    /// Step 2' after its fence: takes one worker out, counts it as searching and wakes it. `first` is called
    /// under the mutex, if there is one.
    pub fn wake(&self, first: impl FnOnce()) -> bool {
        let mut list = locked(&self.list);
        let sleeper = list.0;
        if sleeper.is_null() {
            return false;
        }
        // SAFETY: what is in the list is valid; a worker that retires takes the mutex before, so it is until the
        // permit is given.
        unsafe {
            self.remove(&mut list, sleeper);
            self.search_begin(sleeper);
            first();
            (*sleeper).parker.unpark();
        }
        true
    }

    /// Calls `look` under the mutex with the number of parked workers.
    pub fn look<R>(&self, look: impl FnOnce(u32) -> R) -> R {
        let list = locked(&self.list);
        let result = look(self.parked.load(Ordering::Relaxed));
        drop(list);
        result
    }

    /// # Safety
    /// `sleeper` is in the list.
    unsafe fn remove(&self, list: &mut List, sleeper: *mut Sleeper) {
        // SAFETY: what is in the list is valid, and its links are under the mutex.
        unsafe {
            if (*sleeper).previous.is_null() {
                list.0 = (*sleeper).next;
            } else {
                (*(*sleeper).previous).next = (*sleeper).next;
            }
            if !(*sleeper).next.is_null() {
                (*(*sleeper).next).previous = (*sleeper).previous;
            }
            (*sleeper).listed.store(false, Ordering::Relaxed);
        }
        self.parked
            .store(self.parked.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

impl Default for Parking {
    fn default() -> Self {
        Self::new()
    }
}
