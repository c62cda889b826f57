//! Where a pipe refers to the host's object that stands for it, without owning it.
//!
//! 1. Who looks takes the place by setting its lowest bit, which no address has, and gives it back afterwards.
//! 2. The object, about to go, takes the place too and leaves it empty; then its memory may be given back.
//!
//! So whoever looks at an object in 1, to take a reference to it if there is still one, looks at memory that is
//! there: in 2 the object waits. Looking calls nothing that could wait for another thread.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::sync::{AtomicPtr, Ordering, relax};

/// See the module.
#[derive(Debug)]
#[repr(transparent)]
pub struct Place(AtomicPtr<c_void>);

fn taken(object: *mut c_void) -> *mut c_void {
    object.map_addr(|it| it | 1)
}

impl Place {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Takes the place; returns what it holds.
    fn take(&self) -> *mut c_void {
        loop {
            let object = self.0.load(Ordering::Relaxed);
            if object != taken(object)
                && self
                    .0
                    .compare_exchange_weak(object, taken(object), Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return object;
            }
            relax();
        }
    }

    /// Puts an object there; null: it is gone.
    pub fn set(&self, object: *mut c_void) {
        self.take();
        self.0.store(object, Ordering::Release);
    }

    /// Empties the place if it holds this object.
    pub fn lose(&self, object: *mut c_void) {
        let held = self.take();
        self.0
            .store(if held == object { null_mut() } else { held }, Ordering::Release);
    }

    /// Calls `look` with the object, or null; the object does not go meanwhile. `look` waits for nobody.
    pub fn look<R>(&self, look: impl FnOnce(*mut c_void) -> R) -> R {
        let object = self.take();
        let result = look(object);
        self.0.store(object, Ordering::Release);
        result
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}
