//! What workers have to tell the host, and barriers that its threads wait at.
//!
//! Native workers never call into the interpreter: a thread of the host's fetches events.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::circuit::{Admitted, COMMAND_BARRIER, Circuit, Pipe, command, is_pipe, pipe_of};
use super::ingress::{CLOSED, IDLE};
use super::kernel::Slot;
use super::memory::Cache;
use super::parker::{Parked, Parker, clock_now_ns};
use super::sync::{Mutex, locked, relax};
use super::{cores, is_forked, is_stopping, trim_if_worth_it};

/// More wait for the host than it can have use for: the rest is only counted.
const FAULTS_QUEUED: usize = 4096;
/// Looks at a barrier before parking: some tens of microseconds, a futex's price.
const WAIT_SPINS: u32 = 2000;

/// A kernel returned a fault code.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The pipe's handle.
    pub pipe: u64,
    /// The function's address.
    pub kernel: u64,
    /// The number of the circuit's name.
    pub circuit_name: u32,
    /// The number of the pipe's name.
    pub pipe_name: u32,
    /// What the kernel returned.
    pub code: i32,
    /// How many alike came one after the other.
    pub count: u64,
}

struct Waiting {
    faults: VecDeque<Fault>,
    released: Vec<Slot>,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    faults: VecDeque::new(),
    released: Vec::new(),
});
/// Whether there may be any.
static ANY: AtomicBool = AtomicBool::new(false);
static READER: Parker = Parker::new();
/// See `exhausted`.
static EXHAUSTED: AtomicBool = AtomicBool::new(false);
/// See `thread_wanted`.
static WANTED: AtomicBool = AtomicBool::new(false);
static FAULTS: AtomicU64 = AtomicU64::new(0);

/// Reports a kernel's fault code.
///
/// # Safety
/// Circuit and pipe can be looked at.
#[cold]
pub(crate) unsafe fn fault(circuit: *mut Circuit, pipe: *mut Pipe, handle: u64, code: i32) {
    FAULTS.fetch_add(1, Ordering::Relaxed);
    let mut waiting = locked(&WAITING);
    let alike = waiting
        .faults
        .back_mut()
        .filter(|it| it.pipe == handle && it.code == code);
    if let Some(alike) = alike {
        alike.count += 1;
    } else if waiting.faults.len() < FAULTS_QUEUED && waiting.faults.try_reserve(1).is_ok() {
        // SAFETY: as promised.
        let fault = unsafe {
            Fault {
                pipe: handle,
                kernel: (*pipe).kernel as usize as u64,
                circuit_name: (*circuit).name,
                pipe_name: (*pipe).name,
                code,
                count: 1,
            }
        };
        waiting.faults.push_back(fault);
    }
    drop(waiting);
    tell();
}

/// Has the host let go of what a slot owns: from a thread that cannot.
#[cold]
pub(crate) fn release_later(slot: Slot) {
    let mut waiting = locked(&WAITING);
    if waiting.released.try_reserve(1).is_ok() {
        waiting.released.push(slot);
    } // out of memory: it stays
    drop(waiting);
    tell();
}

fn tell() {
    ANY.store(true, Ordering::Release);
    READER.unpark();
}

/// Takes the oldest fault. `look` is called with the host's object that stands for its pipe, unless that is gone;
/// the object does not go meanwhile, and `look` waits for nobody.
pub fn take_fault(look: impl FnOnce(*mut c_void)) -> Option<Fault> {
    // Looked at under the mutex, since a trim may give back what the handle of a pipe that is gone refers to.
    let mut waiting = locked(&WAITING);
    let fault = waiting.faults.pop_front()?;
    let last = waiting.faults.is_empty();
    let pipe = pipe_of(fault.pipe);
    // SAFETY: the handle was one once, and nothing is trimmed while faults wait.
    unsafe {
        (*pipe).object.look(|object| {
            if is_pipe(pipe, fault.pipe) && !object.is_null() {
                look(object);
            }
        });
    }
    drop(waiting);
    if last {
        // SAFETY: no cache.
        unsafe { trim_if_worth_it(null_mut()) };
    }
    Some(fault)
}

/// Calls `then` unless faults wait, whose handles may be looked at; none comes meanwhile.
pub(crate) fn unless_faults_wait(then: impl FnOnce()) {
    let waiting = locked(&WAITING);
    if waiting.faults.is_empty() {
        then();
    }
}

/// All threads that the host lends are in receivers that block, and circuits wait.
#[cold]
pub(crate) fn exhausted() {
    EXHAUSTED.store(true, Ordering::Relaxed);
    tell();
}

/// Whether that has come about for the first time; then no more.
pub fn take_exhausted() -> bool {
    EXHAUSTED.swap(false, Ordering::Relaxed)
}

/// The host has been asked for a thread, which has not come.
#[cold]
pub(crate) fn thread_wanted() {
    WANTED.store(true, Ordering::Relaxed);
    tell();
}

/// Whether the host shall try once more to start a thread that it has been asked for.
pub fn take_wanted() -> bool {
    WANTED.swap(false, Ordering::Relaxed)
}

/// Takes what waits to be let go of.
pub fn take_released() -> Vec<Slot> {
    ANY.store(false, Ordering::Relaxed);
    std::mem::take(&mut locked(&WAITING).released)
}

/// Whether events may wait.
#[inline]
pub fn any() -> bool {
    ANY.load(Ordering::Acquire)
}

/// How many faults there were.
pub fn faults() -> u64 {
    FAULTS.load(Ordering::Relaxed)
}

/// Waits until there are events; one thread at a time. False: the engine stops.
pub fn wait() -> bool {
    while !any() {
        if is_stopping() {
            return false;
        }
        READER.park(None);
    }
    true
}

pub(crate) fn stop() {
    READER.unpark();
}

// -- barriers

/// Where a caller waits for a circuit, or for many.
#[derive(Debug)]
#[repr(align(16))]
pub struct Waiter {
    /// The caller's, and one of all barriers together while they are on their way.
    references: AtomicU32,
    /// Barriers on their way, and one while the caller still sends some.
    left: AtomicUsize,
    /// What the host wants kept until then, or null.
    object: *mut c_void,
    /// Whether it notes when its turn comes; set before it is on its way.
    notes: bool,
    /// Written before the permit is given; 0: its turn has not come, or it does not note.
    turn_ns: AtomicI64,
    parker: Parker,
}

/// # Safety
/// The reference is the caller's.
pub(crate) unsafe fn waiter_release(waiter: *mut Waiter) {
    // SAFETY: as promised; made by `Box`.
    unsafe {
        if (*waiter).references.fetch_sub(1, Ordering::AcqRel) == 1 {
            drop(Box::from_raw(waiter));
        }
    }
}

/// A waiter with two references; null: out of memory. `left`: 1 for the barrier, or for who will send several.
fn waiter_new(notes: bool, object: *mut c_void) -> *mut Waiter {
    // SAFETY: a plain allocation.
    unsafe {
        let waiter: *mut Waiter = std::alloc::alloc(std::alloc::Layout::new::<Waiter>()).cast();
        if !waiter.is_null() {
            waiter.write(Waiter {
                references: AtomicU32::new(2),
                left: AtomicUsize::new(1),
                object,
                notes,
                turn_ns: AtomicI64::new(0),
                parker: Parker::new(),
            });
        }
        waiter
    }
}

/// A barrier's turn has come, or its circuit's end.
///
/// # Safety
/// It is one of those that are left.
pub(crate) unsafe fn waiter_done(waiter: *mut Waiter, release: unsafe fn(Slot)) {
    // SAFETY: as promised; the last one has seen what all others did, and has their reference.
    unsafe {
        if (*waiter).left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        if (*waiter).notes {
            (*waiter).turn_ns.store(clock_now_ns(), Ordering::Relaxed);
        }
        let object = (*waiter).object;
        (*waiter).parker.unpark();
        waiter_release(waiter);
        if !object.is_null() {
            release(Slot {
                pipe: object as u64,
                bits: 0,
            });
        }
    }
}

/// Barriers for many circuits, with one waiter that is made for the first.
#[derive(Debug)]
pub(crate) struct Barriers {
    waiter: *mut Waiter,
    object: *mut c_void,
    failed: bool,
}

impl Barriers {
    /// `object`: what the host wants kept until all turns have come, or null.
    pub(crate) fn new(object: *mut c_void) -> Self {
        Self {
            waiter: null_mut(),
            object,
            failed: false,
        }
    }

    /// Sends one more.
    ///
    /// # Safety
    /// `circuit` is referenced; `cache` is the caller's alone or null.
    pub(crate) unsafe fn send(&mut self, cache: *mut Cache, circuit: *mut Circuit) {
        // SAFETY: as promised; the one that stands for us keeps the waiter.
        unsafe {
            if self.waiter.is_null() {
                self.waiter = waiter_new(false, self.object);
            }
            if self.waiter.is_null() {
                self.failed = true;
                return;
            }
            (*self.waiter).left.fetch_add(1, Ordering::Relaxed);
            let admitted = command(cache, circuit, self.waiter as u64, COMMAND_BARRIER);
            if admitted != Admitted::Yes {
                (*self.waiter).left.fetch_sub(1, Ordering::Relaxed);
                self.failed |= admitted == Admitted::Memory;
            }
        }
    }

    /// No more are sent. What was to be kept is taken unless this returns `Nothing`, or `Memory` if there was none for
    /// the waiter; the host's `release` lets go of it if all turns have come.
    pub(crate) fn sent(self, release: unsafe fn(Slot)) -> Asked {
        if self.waiter.is_null() {
            return if self.failed {
                Asked::Memory
            } else {
                Asked::Nothing
            };
        }
        let barrier = Barrier(self.waiter);
        // SAFETY: the one that stands for us is left.
        unsafe { waiter_done(self.waiter, release) };
        if self.failed && self.object.is_null() {
            return Asked::Memory;
        }
        Asked::Waits(barrier)
    }
}

/// A barrier on its way; lets go of the waiter when dropped.
#[derive(Debug)]
pub struct Barrier(*mut Waiter);

/// What became of a barrier.
#[derive(Debug)]
pub enum Asked {
    /// It is on its way.
    Waits(Barrier),
    /// There is nothing to wait for.
    Nothing,
    /// Out of memory.
    Memory,
}

/// Sends a barrier behind all that was accepted. `notes`: it notes when its turn comes, also if nothing waits.
///
/// # Safety
/// `circuit` is referenced; `cache` is the caller's alone or null.
pub unsafe fn barrier(cache: *mut Cache, circuit: *mut Circuit, notes: bool) -> Asked {
    // SAFETY: as promised.
    unsafe {
        let seen = (*circuit).ingress.seen();
        if seen == CLOSED || is_forked() || (seen == IDLE && !notes) {
            return Asked::Nothing;
        }
        let waiter = waiter_new(notes, null_mut());
        if waiter.is_null() {
            return Asked::Memory;
        }
        match command(cache, circuit, waiter as u64, COMMAND_BARRIER) {
            Admitted::Yes => Asked::Waits(Barrier(waiter)),
            Admitted::Dropped => {
                drop(Box::from_raw(waiter));
                Asked::Nothing
            }
            Admitted::Memory => {
                drop(Box::from_raw(waiter));
                Asked::Memory
            }
        }
    }
}

/// What became of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The turn has come, or never will: the engine stops.
    Done,
    /// The time is over, or a signal came in.
    NotYet,
}

impl Barrier {
    /// Waits for its turn, `limit` at most.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> Waited {
        // SAFETY: the reference is ours until we are dropped.
        let parker = unsafe { &(*self.0).parker };
        if cores() > 1 {
            for _ in 0..WAIT_SPINS {
                if parker.has_permit() {
                    break;
                }
                relax();
            }
        }
        if is_stopping() || parker.park(Some(limit)) == Parked::Woken {
            Waited::Done
        } else {
            Waited::NotYet
        }
    }

    /// Whether its turn has come; takes note of it.
    #[must_use]
    pub fn is_done(&self) -> bool {
        // SAFETY: the reference is ours until we are dropped.
        unsafe { (*self.0).parker.has_permit() }
    }

    /// When its turn came, by the clock of Python's `time.perf_counter_ns`; 0: it has not, or does not note.
    #[must_use]
    pub fn turn_ns(&self) -> i64 {
        // SAFETY: the reference is ours until we are dropped.
        unsafe { (*self.0).turn_ns.load(Ordering::Relaxed) }
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        // SAFETY: the reference is ours.
        unsafe { waiter_release(self.0) }
    }
}
