//! The ingress of a circuit: one word, which is also where "is it scheduled" is kept.
//!
//! ```text
//! IDLE      nothing waits, nobody runs it
//! BUSY      somebody is responsible for it (it is ready or being run), nothing new waits
//! address   somebody is responsible; the newest node of a list that came in meanwhile
//! CLOSED    it has ended, or is no circuit at the moment; whatever comes is dropped
//! ```
//!
//! 1. Emitters push with compare-and-swap; the one that replaces IDLE makes the circuit ready.
//! 2. The runner takes the whole list by exchange with BUSY.
//! 3. It goes idle by compare-and-swap from BUSY to IDLE, which fails if something came in.
//! 4. Who has a value in hand for an idle circuit may begin it by compare-and-swap from IDLE to BUSY: then the value
//!    has its place, before all that comes in later, without a node.
//!
//! There is no third place where "is it scheduled" is kept, hence no wake-up to lose. Pushing releases, taking
//! acquires; going idle releases, the next push acquires: so everything in a circuit but this word belongs to
//! whoever is responsible for it. Nodes go in one by one and come out all at once, so no node can come back
//! between an emitter's look and its swap unnoticed: if it did, it would be the newest again, as seen.

use super::kernel::Slot;
use super::sync::{AtomicUsize, Ordering};

/// Nothing waits, nobody runs it.
pub const IDLE: usize = 0;
/// Somebody is responsible, nothing new waits.
pub const BUSY: usize = 1;
/// It has ended.
pub const CLOSED: usize = 2;

/// One queued item.
#[repr(C)]
#[derive(Debug)]
pub struct Node {
    /// The next older one in the ingress, the next newer one once taken.
    pub next: *mut Node,
    /// What receives, and what.
    pub slot: Slot,
}

/// What a push found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nobody was responsible: the caller is now, and makes the circuit ready.
    Idle,
    /// Somebody is responsible.
    Busy,
    /// The end: the node was not taken.
    Closed,
}

/// See the module.
#[derive(Debug)]
#[repr(transparent)]
pub struct Ingress(AtomicUsize);

impl Ingress {
    /// An open, idle one.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicUsize::new(IDLE))
    }

    /// Makes it open and idle; nobody else knows it.
    pub fn open(&self) {
        self.0.store(IDLE, Ordering::Release);
    }

    /// The word, as a hint.
    #[inline]
    pub fn seen(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// The word as it is in the one order of all that is sequentially consistent; see `touched`.
    #[inline]
    pub fn seen_in_order(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Appends `node`.
    ///
    /// # Safety
    /// `node` is valid, and the caller's alone; unless Closed is returned, it is the ingress's afterwards.
    #[inline]
    pub unsafe fn push(&self, node: *mut Node) -> Found {
        let mut last = self.0.load(Ordering::Acquire);
        loop {
            if last == CLOSED {
                return Found::Closed;
            }
            // SAFETY: the node is the caller's alone until the swap below.
            unsafe {
                (*node).next = if last <= BUSY {
                    std::ptr::null_mut()
                } else {
                    last as *mut Node
                }
            };
            match self
                .0
                .compare_exchange_weak(last, node as usize, Ordering::SeqCst, Ordering::Acquire)
            {
                Ok(IDLE) => return Found::Idle,
                Ok(_) => return Found::Busy,
                Err(now) => last = now,
            }
        }
    }

    /// Takes what came in, oldest first; the responsible thread's.
    #[inline]
    pub fn take(&self) -> *mut Node {
        oldest_first(self.0.swap(BUSY, Ordering::Acquire))
    }

    /// Gives up responsibility; false: something came in.
    #[inline]
    pub fn rest(&self) -> bool {
        self.0
            .compare_exchange(BUSY, IDLE, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Becomes responsible if nobody is; what the caller has in hand is then the first.
    #[inline]
    pub fn begin(&self) -> bool {
        self.0
            .compare_exchange(IDLE, BUSY, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// Ends it if it is idle; else returns what it is.
    ///
    /// # Errors
    /// The word that was found.
    pub fn close_idle(&self) -> Result<(), usize> {
        self.0
            .compare_exchange(IDLE, CLOSED, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
    }

    /// Ends it and takes what came in, oldest first; the responsible thread's.
    pub fn close(&self) -> *mut Node {
        oldest_first(self.0.swap(CLOSED, Ordering::AcqRel))
    }
}

impl Default for Ingress {
    fn default() -> Self {
        Self::new()
    }
}

fn oldest_first(newest: usize) -> *mut Node {
    let mut list = std::ptr::null_mut();
    if newest > CLOSED {
        let mut node = newest as *mut Node;
        while !node.is_null() {
            // SAFETY: nodes in the ingress are valid, and with the word they were taken by the caller.
            unsafe {
                let next = (*node).next;
                (*node).next = list;
                list = node;
                node = next;
            }
        }
    }
    list
}
