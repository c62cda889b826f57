//! Where work may be among many circuits: a flag for all those of a slab.
//!
//! Who admits something to a circuit notes it *afterwards*; who looks for what is busy takes the flag back *before*:
//!
//! ```text
//! emitter                               waiter, under the population's mutex
//! 1. swap the circuit's ingress         1'. clear the flag, if it is set
//! 2. set the flag, unless it is set     2'. read the ingress of each circuit
//!                                       3'. set the flag again if one of them is busy
//! ```
//!
//! All four are sequentially consistent. So either the emitter's swap comes before the waiter's reading, which then
//! sees the circuit busy, or the waiter's clearing comes before the emitter's look at the flag, which then sets it
//! before the emission returns: for the next wait. So a wait misses nothing that was admitted before it began. The
//! mutex keeps another waiter from looking between 1' and 3'.
//!
//! Everybody notes, not only who finds the circuit idle: one who finds it busy may return, and wait, before the one
//! who made it busy has come to its step 2.

use super::sync::{AtomicBool, Ordering};

/// See the module.
#[derive(Debug)]
pub struct Touched(AtomicBool);

impl Touched {
    /// Nothing was admitted.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Step 2. In the steady state it is a load of a line that all share.
    #[inline]
    pub fn note(&self) {
        order();
        if !self.0.load(Ordering::SeqCst) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    /// Steps 1' to 3', under the mutex of whoever waits for these circuits: calls `look` if something may be busy;
    /// it reads by `Ingress::seen_in_order`, and returns whether anything is.
    pub fn look(&self, look: impl FnOnce() -> bool) {
        if self.0.load(Ordering::SeqCst) {
            self.0.swap(false, Ordering::SeqCst);
            order();
            if look() {
                self.0.store(true, Ordering::SeqCst);
            }
        }
    }
}

impl Default for Touched {
    fn default() -> Self {
        Self::new()
    }
}

/// For loom, which takes sequentially consistent accesses for weaker ones, but knows the fence.
#[inline]
fn order() {
    #[cfg(loom)]
    super::sync::fence(Ordering::SeqCst);
}
