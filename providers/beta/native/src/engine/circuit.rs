//! Circuits and pipes; admission and their end.
//!
//! What receives
//! -------------
//! A slot names its receiver by 64 bits:
//!
//! ```text
//! 0                 in a queue: a command, told by the low bits of the value; emitted by a kernel: nobody
//! below 2^48        an object of the host's (a pipe to a Python callable), of which the slot owns a reference;
//!                   the value is another, or what the host makes of it
//! above             the handle of a pipe: its address, and in the upper 16 bits a generation, never 0
//! ```
//!
//! A handle owns nothing: a kernel that emits to a pipe that is gone emits to nobody. So what keeps a pipe with a
//! handle until all is delivered that was accepted is the order: dropping it is a command behind that.
//!
//! One order
//! ---------
//! Both kinds stand in the same ingress and the same transit. A circuit is native until the host gives it a
//! receiver of its own: then `hosted` is set, and from then on it waits for workers that can call the host. A
//! native worker that runs it at that moment gives it up, as it is, when it meets such a receiver.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::ingress::{CLOSED, Found, Ingress, Node};
use super::kernel::{Context, Kernel, Slot};
use super::memory::{self, Cache};
use super::object::Place;
use super::scheduler::schedule;
use super::worker::{Transit, Worker};
use super::{events, is_forked};

/// One circuit: one cache line.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Circuit {
    /// See `ingress`.
    pub(crate) ingress: Ingress,
    /// Taken from the ingress, oldest first; the responsible thread's.
    pub(crate) pending: *mut Node,
    /// Transit put aside at the end of a time slice; the responsible thread's.
    pub(crate) parked: *mut Transit,
    /// In a queue of ready circuits, or in the pool's free list.
    pub(crate) link: *mut Circuit,
    /// The number of its name.
    pub(crate) name: u32,
    /// The host's and one of each pipe: a live pipe's circuit can always be looked at.
    references: AtomicU32,
    /// Set by close; emitters drop from then on.
    closing: AtomicBool,
    /// Set once, before it has a receiver that only the host can call.
    hosted: AtomicBool,
    /// The host has taken the time for the value from outside that is being delivered; the responsible thread's.
    pub(crate) timed: AtomicBool,
}

const _: () = assert!(size_of::<Circuit>() == 64);

impl Circuit {
    /// Whether only workers of the host run it.
    #[inline]
    #[must_use]
    pub fn is_hosted(&self) -> bool {
        self.hosted.load(Ordering::Relaxed)
    }

    /// Whether a native worker may go on with it: a hint, since both are set at any time.
    #[inline]
    pub(crate) fn can_be_followed(&self) -> bool {
        !self.closing.load(Ordering::Relaxed) && !self.is_hosted()
    }

    /// Whether the host has taken the time for the value from outside that is being delivered.
    #[must_use]
    pub fn timed(&self) -> bool {
        self.timed.load(Ordering::Relaxed)
    }

    /// Notes that it has.
    pub fn note_time(&self) {
        self.timed.store(true, Ordering::Relaxed);
    }

    /// Whether it takes nothing more.
    #[inline]
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// It drops what comes from now on.
    pub(crate) fn begin_closing(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether it has ended.
    #[inline]
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ingress.seen() == CLOSED
    }
}

/// One pipe with a handle; its state stands behind it or elsewhere.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Pipe {
    /// What receives.
    pub(crate) kernel: Kernel,
    /// Its state; the free list's link of a dead pipe.
    pub(crate) state: *mut c_void,
    /// Its circuit.
    pub(crate) circuit: AtomicPtr<Circuit>,
    /// Its own; 0 while dead.
    pub(crate) handle: AtomicU64,
    /// The host's object that stands for it, while there is one.
    pub object: Place,
    /// The number of its name.
    pub(crate) name: u32,
    generation: u16,
    /// Of 16 bytes, its pool; 0: its state is on the C heap.
    pub(crate) units: u16,
}

const _: () = assert!(size_of::<Pipe>() == 48);

const HANDLE_BITS: u32 = 48;
const HANDLE_MASK: u64 = (1 << HANDLE_BITS) - 1;

/// Whether a slot's receiver is a handle, and not an object of the host's, nor 0.
#[inline]
#[must_use]
pub fn is_handle(receiver: u64) -> bool {
    receiver >> HANDLE_BITS != 0
}

/// The pipe of a handle; to be looked at only (memory is type-stable) until `is_pipe` tells.
#[inline]
#[must_use]
pub fn pipe_of(handle: u64) -> *mut Pipe {
    (handle & HANDLE_MASK) as *mut Pipe
}

/// Whether a pipe is still the one of this handle.
///
/// # Safety
/// The handle was one once.
#[inline]
#[must_use]
pub unsafe fn is_pipe(pipe: *mut Pipe, handle: u64) -> bool {
    // SAFETY: memory of pipes is type-stable.
    unsafe { (*pipe).handle.load(Ordering::Relaxed) == handle }
}

// -- commands

/// In the low bits of a command's value.
pub(crate) const COMMAND_MASK: u64 = 7;
/// Opens a waiter's gate.
pub(crate) const COMMAND_BARRIER: u64 = 0;
/// The end of the circuit.
pub(crate) const COMMAND_CLOSE: u64 = 1;
/// The end of a pipe.
pub(crate) const COMMAND_DROP: u64 = 2;
/// The end of the circuit, and the host's reference to it.
pub(crate) const COMMAND_RELEASE: u64 = 3;
/// Lets go of an object of the host's.
pub(crate) const COMMAND_KEEP: u64 = 4;

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// It has its place.
    Yes,
    /// The circuit is closed: it was not taken.
    Dropped,
    /// Out of memory: it was not taken.
    Memory,
}

/// Gives an item its place in the circuit's order.
///
/// # Safety
/// `worker` is the calling thread's or null; `cache` the caller's alone or null; `circuit` is referenced.
#[inline]
pub unsafe fn admit(worker: *mut Worker, cache: *mut Cache, circuit: *mut Circuit, slot: Slot) -> Admitted {
    // SAFETY: as promised.
    unsafe {
        if (*circuit).is_closing() {
            return Admitted::Dropped;
        }
        put(worker, cache, circuit, slot)
    }
}

/// As `admit`, but closing does not matter: for commands.
///
/// # Safety
/// As `admit`.
#[inline]
pub(crate) unsafe fn put(
    worker: *mut Worker,
    cache: *mut Cache,
    circuit: *mut Circuit,
    slot: Slot,
) -> Admitted {
    // SAFETY: as promised; the node is ours until it is pushed.
    unsafe {
        let node = memory::node_take(cache);
        if node.is_null() {
            return Admitted::Memory;
        }
        (*node).slot.pipe = slot.pipe;
        (*node).slot.bits = slot.bits;
        match (*circuit).ingress.push(node) {
            Found::Busy => {
                touch(circuit);
                Admitted::Yes
            }
            Found::Idle => {
                touch(circuit);
                schedule(worker, circuit);
                Admitted::Yes
            }
            Found::Closed => {
                memory::node_give(cache, node);
                Admitted::Dropped
            }
        }
    }
}

/// After something was given its place in a circuit, by whatever way, and before its giver returns: a wait for a
/// population looks for it (see `touched`).
///
/// # Safety
/// The circuit can be looked at.
#[inline]
pub(crate) unsafe fn touch(circuit: *mut Circuit) {
    // SAFETY: as promised.
    unsafe { memory::touched_of(circuit).note() };
}

/// Puts a command; as `put`.
///
/// # Safety
/// As `admit`; `argument` has its low bits clear and is what the command says.
pub(crate) unsafe fn command(cache: *mut Cache, circuit: *mut Circuit, argument: u64, kind: u64) -> Admitted {
    debug_assert!(argument & COMMAND_MASK == 0);
    // SAFETY: as promised.
    unsafe {
        put(
            null_mut(),
            cache,
            circuit,
            Slot {
                pipe: 0,
                bits: argument | kind,
            },
        )
    }
}

// -- the life of circuits

/// A circuit, with one reference; null: out of memory.
#[must_use]
pub fn circuit_new(name: u32) -> *mut Circuit {
    let circuit = memory::circuit_allocate();
    if !circuit.is_null() {
        // SAFETY: it is ours alone until its ingress opens, and stale handles only ever look at it.
        unsafe { circuit_init(circuit, name) };
    }
    circuit
}

/// Begins a circuit, with one reference.
///
/// # Safety
/// It is the caller's alone; stale handles only ever look at it.
#[inline]
pub(crate) unsafe fn circuit_init(circuit: *mut Circuit, name: u32) {
    // SAFETY: as promised.
    unsafe {
        (*circuit).pending = null_mut();
        (*circuit).parked = null_mut();
        (*circuit).link = null_mut();
        (*circuit).name = name;
        (*circuit).references.store(1, Ordering::Relaxed);
        (*circuit).closing.store(false, Ordering::Relaxed);
        (*circuit).hosted.store(false, Ordering::Relaxed);
        (*circuit).timed.store(false, Ordering::Relaxed);
        (*circuit).ingress.open();
    }
}

/// From now on only workers of the host run it; before its first receiver of the host's.
///
/// # Safety
/// `circuit` is referenced.
pub unsafe fn circuit_host(circuit: *mut Circuit) {
    // SAFETY: as promised.
    unsafe { (*circuit).hosted.store(true, Ordering::Relaxed) };
}

/// Takes a reference.
///
/// # Safety
/// `circuit` is referenced.
pub unsafe fn circuit_keep(circuit: *mut Circuit) {
    // SAFETY: as promised.
    unsafe { (*circuit).references.fetch_add(1, Ordering::Relaxed) };
}

/// Lets go of a reference; the last one frees.
///
/// # Safety
/// The reference is the caller's.
pub unsafe fn circuit_release(circuit: *mut Circuit) {
    // SAFETY: as promised.
    unsafe {
        if circuit_let_go(circuit) {
            memory::circuit_free(circuit);
        }
    }
}

/// Lets go of a reference; true: it was the last one, and the caller frees.
///
/// # Safety
/// The reference is the caller's.
#[inline]
pub(crate) unsafe fn circuit_let_go(circuit: *mut Circuit) -> bool {
    // SAFETY: as promised; the last one has seen what all others did.
    unsafe { (*circuit).references.fetch_sub(1, Ordering::AcqRel) == 1 }
}

/// The end, behind all that was accepted; what comes later is dropped.
///
/// # Safety
/// `circuit` is referenced; `cache` is the caller's alone or null.
pub unsafe fn circuit_close(cache: *mut Cache, circuit: *mut Circuit) -> Admitted {
    // SAFETY: as promised.
    unsafe {
        (*circuit).begin_closing();
        if is_forked() || (*circuit).ingress.close_idle().is_ok() {
            return Admitted::Yes;
        }
        command(cache, circuit, 0, COMMAND_CLOSE)
    }
}

/// The host refers to it no more. What was accepted is still delivered.
///
/// # Safety
/// The reference is the caller's; `cache` is the caller's alone or null.
pub unsafe fn circuit_drop(cache: *mut Cache, circuit: *mut Circuit) {
    if is_forked() {
        return;
    }
    // SAFETY: as promised.
    unsafe {
        match (*circuit).ingress.close_idle() {
            Ok(()) | Err(CLOSED) => circuit_release(circuit),
            Err(_) => {
                if command(cache, circuit, 0, COMMAND_RELEASE) == Admitted::Dropped {
                    circuit_release(circuit);
                }
            }
        }
        super::trim_if_worth_it(cache);
    }
}

/// Runs a command that does not end the circuit.
///
/// # Safety
/// The caller is responsible for the command's circuit, and the command is taken.
pub(crate) unsafe fn run_command(bits: u64, release: unsafe fn(Slot)) {
    let argument = bits & !COMMAND_MASK;
    // SAFETY: the argument is what was put.
    unsafe {
        match bits & COMMAND_MASK {
            COMMAND_BARRIER => events::waiter_done(argument as *mut events::Waiter, release),
            COMMAND_DROP => pipe_end(argument as *mut Pipe),
            COMMAND_KEEP => release(Slot {
                pipe: argument,
                bits: 0,
            }),
            _ => {} // the others end the visit
        }
    }
}

/// Frees a list of nodes that nobody will receive; commands among them still take effect. Returns whether the
/// release of the circuit was one of them.
///
/// # Safety
/// The list is the caller's, who is responsible for the circuit.
unsafe fn discard(cache: *mut Cache, mut list: *mut Node, release: unsafe fn(Slot)) -> bool {
    let mut released = false;
    // SAFETY: as promised.
    unsafe {
        while !list.is_null() {
            let next = (*list).next;
            let slot = (*list).slot;
            memory::node_give(cache, list);
            if slot.pipe == 0 {
                released |= slot.bits & COMMAND_MASK == COMMAND_RELEASE;
                run_command(slot.bits, release);
            } else if !is_handle(slot.pipe) {
                release(slot);
            }
            list = next;
        }
    }
    released
}

/// The circuit's last moment. Afterwards it may be freed by whoever drops it. Returns whether that was asked for
/// already, so that it is the caller who has to let go of the host's reference.
///
/// # Safety
/// The caller is responsible for the circuit; `cache` is its own.
pub(crate) unsafe fn circuit_end(cache: *mut Cache, circuit: *mut Circuit, release: unsafe fn(Slot)) -> bool {
    // SAFETY: as promised; the transit was done before, so nothing is parked.
    unsafe {
        debug_assert!((*circuit).parked.is_null());
        let rest = (*circuit).pending;
        (*circuit).pending = null_mut();
        let released = discard(cache, rest, release);
        // Kept until the list is done: what it releases may let go of the last reference.
        circuit_keep(circuit);
        let released = discard(cache, (*circuit).ingress.close(), release) || released;
        circuit_release(circuit);
        released
    }
}

// -- the life of pipes

/// Stands where a kernel stands in a pipe whose receiver only the host can call; recognised by its code.
pub(crate) unsafe extern "C" fn meet(_context: *mut Context, _state: *mut c_void, _bits: u64) -> i32 {
    MEET
}

/// What `meet` returns; reserved by the header, so no kernel returns it.
pub(crate) const MEET: i32 = i32::MIN;

/// What a pipe with a handle is made of.
#[derive(Debug)]
pub struct Making<'a> {
    /// None: what receives is the host's `object`.
    pub kernel: Option<Kernel>,
    /// The host's object that stands for it, or null.
    pub object: *mut c_void,
    /// The number of its name.
    pub name: u32,
    /// Its initial state.
    pub state: &'a [u8],
    /// Cells, one bit each, that get the pipe's own handle.
    pub own: u64,
}

/// Makes a pipe with a handle; 0: out of memory.
///
/// # Safety
/// `circuit` is referenced.
#[must_use]
pub unsafe fn pipe_new(circuit: *mut Circuit, making: &Making<'_>) -> u64 {
    let pipe = memory::pipe_allocate(making.state.len());
    if pipe.is_null() {
        return 0;
    }
    // SAFETY: the pipe is ours alone until it has its handle.
    unsafe {
        let handle = pipe_init(pipe, circuit, making);
        let state: *mut u8 = (*pipe).state.cast();
        let mut own = making.own;
        while own != 0 {
            state
                .cast::<u64>()
                .add(own.trailing_zeros() as usize)
                .write_unaligned(handle);
            own &= own - 1;
        }
        (*pipe).handle.store(handle, Ordering::Release);
        handle
    }
}

/// Begins a pipe whose state has its place, and returns the handle that it shall get; keeps its circuit.
///
/// # Safety
/// `pipe` is the caller's alone, `circuit` referenced.
#[inline]
pub(crate) unsafe fn pipe_init(pipe: *mut Pipe, circuit: *mut Circuit, making: &Making<'_>) -> u64 {
    // SAFETY: as promised; the state is as large as what is put into it.
    unsafe {
        (*pipe)
            .state
            .cast::<u8>()
            .copy_from_nonoverlapping(making.state.as_ptr(), making.state.len());
        (*pipe).kernel = making.kernel.unwrap_or(meet);
        (*pipe).name = making.name;
        (*pipe).generation = (*pipe).generation.checked_add(1).unwrap_or(1);
        (*pipe).object.set(making.object);
        circuit_keep(circuit);
        (*pipe).circuit.store(circuit, Ordering::Relaxed);
        u64::from((*pipe).generation) << HANDLE_BITS | pipe as u64
    }
}

/// Where a live pipe's state is.
///
/// # Safety
/// The pipe is alive.
#[must_use]
pub unsafe fn pipe_state(handle: u64) -> *mut u8 {
    // SAFETY: as promised.
    unsafe { (*pipe_of(handle)).state.cast() }
}

/// # Safety
/// The caller is responsible for the pipe's circuit, or it has ended.
unsafe fn pipe_end(pipe: *mut Pipe) {
    // SAFETY: as promised, nobody is inside its kernel.
    unsafe {
        let circuit = (*pipe).circuit.load(Ordering::Relaxed);
        (*pipe).handle.store(0, Ordering::Relaxed);
        memory::pipe_free(pipe);
        circuit_release(circuit);
    }
}

/// The host's object is gone: ends the pipe, behind all that was accepted for it.
///
/// # Safety
/// The pipe is alive, and nobody else drops it; `cache` is the caller's alone or null.
pub unsafe fn pipe_drop(cache: *mut Cache, handle: u64) {
    if is_forked() {
        return;
    }
    let pipe = pipe_of(handle);
    // SAFETY: as promised.
    unsafe {
        (*pipe).object.set(null_mut());
        let circuit = (*pipe).circuit.load(Ordering::Relaxed);
        if (*circuit).has_ended() {
            pipe_end(pipe);
        } else if (*circuit).ingress.begin() {
            // Whoever is responsible for the circuit drops its pipes: then no worker is inside this one. Nobody was,
            // so it is us; what comes in meanwhile waits, and is for a pipe that is gone.
            circuit_keep(circuit); // the pipe's was perhaps the last one
            pipe_end(pipe);
            if !(*circuit).ingress.rest() {
                schedule(null_mut(), circuit);
            }
            circuit_release(circuit);
        } else if command(cache, circuit, pipe as u64, COMMAND_DROP) == Admitted::Dropped {
            pipe_end(pipe);
        } // out of memory: the pipe stays
    }
}

/// Whether something was accepted that is not done: by somebody who holds the circuit.
///
/// # Safety
/// `circuit` is referenced.
#[must_use]
pub unsafe fn is_busy(circuit: *mut Circuit) -> bool {
    // SAFETY: as promised.
    let seen = unsafe { (*circuit).ingress.seen() };
    seen != super::ingress::IDLE && seen != CLOSED
}

/// Keeps an object of the host's until all is done that was accepted; false: nothing was, it was not taken.
///
/// # Safety
/// `circuit` is referenced, `object` a reference that is handed over if true is returned.
#[must_use]
pub unsafe fn keep(cache: *mut Cache, circuit: *mut Circuit, object: *mut c_void) -> bool {
    // SAFETY: as promised.
    unsafe {
        !is_forked()
            && is_busy(circuit)
            && command(cache, circuit, object as u64, COMMAND_KEEP) == Admitted::Yes
    }
}
