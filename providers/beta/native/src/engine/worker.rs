//! Visits: delivering what a circuit has. The hot path of the engine.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::circuit::{
    Admitted, COMMAND_CLOSE, COMMAND_MASK, COMMAND_RELEASE, Circuit, MEET, Pipe, admit, circuit_end,
    circuit_release, is_handle, is_pipe, pipe_of, run_command, touch,
};
use super::ingress::{BUSY, Node};
use super::kernel::{Context, FAULT_MEMORY, Kernel, Slot};
use super::memory::{self, Cache, NODES_OF_WORKER};
use super::parking::Sleeper;
use super::scheduler::{self, Queue, Team, put_back, spread};
use super::{events, is_stopping};

/// 4 KiB: stays in the first-level cache; grows on demand.
const TRANSIT_SLOTS: usize = 256;

/// What the engine asks of the program that it runs in: to call receivers that are no kernels.
///
/// A hosted worker holds the interpreter while it is in here, except between `detach` and `attach`. None of its
/// functions may unwind; but the interpreter may end the thread in any of them, by unwinding it without a panic.
/// So no frame between here and the thread's start owns anything that would have to be dropped.
pub trait Host {
    /// Whether its workers run circuits with receivers of the host's.
    const HOSTED: bool;

    /// Delivers to an object; the references to receiver and value are handed over.
    ///
    /// # Safety
    /// The slot is one that the host has admitted.
    unsafe fn receive(worker: *mut Worker, slot: Slot);

    /// Delivers to an object that owns nothing of the slot: what a kernel has emitted.
    ///
    /// # Safety
    /// The pipe is alive.
    unsafe fn receive_scalar(worker: *mut Worker, pipe: *mut Pipe, bits: u64);

    /// Lets go of what a slot owns.
    ///
    /// # Safety
    /// The slot is one that the host has admitted, and nobody else's.
    unsafe fn release(slot: Slot);

    /// Lets other threads have the interpreter, if any waits for it.
    fn breathe();

    /// Gives the interpreter up.
    fn detach() -> *mut c_void;

    /// Gets the interpreter back.
    ///
    /// # Safety
    /// `detached` is what `detach` returned, once.
    unsafe fn attach(detached: *mut c_void);
}

/// The host of native workers: none.
#[derive(Debug)]
pub struct Native;

impl Host for Native {
    const HOSTED: bool = false;

    unsafe fn receive(_worker: *mut Worker, slot: Slot) {
        events::release_later(slot); // never: circuits with such receivers are given up before
    }

    unsafe fn receive_scalar(_worker: *mut Worker, _pipe: *mut Pipe, _bits: u64) {}

    unsafe fn release(slot: Slot) {
        events::release_later(slot);
    }

    fn breathe() {}

    fn detach() -> *mut c_void {
        null_mut()
    }

    unsafe fn attach(_detached: *mut c_void) {}
}

/// Transit put aside.
#[repr(C)]
#[derive(Debug)]
pub struct Transit {
    count: usize,
    slots: [Slot; 0],
}

/// One thread that runs circuits. What is not atomic is the thread's own.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Worker {
    /// First: a kernel's context is the worker.
    pub(crate) context: Context,
    base: *mut Slot,
    end: *mut Slot,
    /// The next slot to deliver.
    pub(crate) head: *mut Slot,
    /// The first slot that the running kernel emitted.
    pub(crate) start: *mut Slot,
    /// What it runs; the watcher looks whether it runs anything.
    pub(crate) circuit: AtomicPtr<Circuit>,
    /// Set by the watcher, cleared by the worker between two deliveries.
    pub(crate) preempt: AtomicBool,
    /// The host's: the object that is receiving.
    pub receiver: *mut c_void,
    /// Where it takes nodes from: its own cache, or the host's.
    pub(crate) cache: *mut Cache,
    own_cache: Cache,
    pub(crate) streak: u32,
    pub(crate) picks: u32,
    pub(crate) team: &'static Team,
    /// Visits of circuits; written by the worker.
    pub(crate) visits: AtomicU64,
    /// Its thread has ended: its place, and this struct, serve the next one.
    pub(crate) gone: AtomicBool,
    /// It is in a call that it has told will block.
    pub(crate) blocked: AtomicU32,
    /// The watcher's.
    pub(crate) stuck_ticks: AtomicU32,
    /// The watcher's.
    pub(crate) seen_visits: AtomicU64,
    pub(crate) sleeper: Sleeper,
    /// Filled by the worker, taken by it or by the watcher.
    pub(crate) next: AtomicPtr<Circuit>,
    /// Filled by the worker, emptied by any worker.
    pub(crate) queue: Queue,
}

const SLOT: usize = size_of::<Slot>();

fn slots_new(count: usize) -> *mut Slot {
    match count.checked_mul(SLOT) {
        // SAFETY: a plain allocation, checked by the caller.
        Some(bytes) => unsafe { libc::malloc(bytes).cast() },
        None => null_mut(),
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Worker {
    /// A worker of `team` that has no buffer yet.
    pub(crate) fn new(team: &'static Team) -> Self {
        Self {
            context: Context {
                tail: null_mut(),
                limit: null_mut(),
                grow,
            },
            base: null_mut(),
            end: null_mut(),
            head: null_mut(),
            start: null_mut(),
            circuit: AtomicPtr::new(null_mut()),
            preempt: AtomicBool::new(false),
            receiver: null_mut(),
            cache: null_mut(),
            own_cache: Cache::new(NODES_OF_WORKER),
            streak: 0,
            picks: 0,
            team,
            visits: AtomicU64::new(0),
            gone: AtomicBool::new(true),
            blocked: AtomicU32::new(0),
            stuck_ticks: AtomicU32::new(0),
            seen_visits: AtomicU64::new(0),
            sleeper: Sleeper::new(),
            next: AtomicPtr::new(null_mut()),
            queue: Queue::new(),
        }
    }

    /// What it runs.
    #[inline]
    pub fn running(&self) -> *mut Circuit {
        self.circuit.load(Ordering::Relaxed)
    }

    /// Where it takes nodes from.
    #[must_use]
    pub fn cache(&self) -> *mut Cache {
        self.cache
    }

    /// Gets its buffer; false: out of memory.
    ///
    /// # Safety
    /// `worker` is nobody else's; `cache` is null or may be used whenever it runs.
    pub(crate) unsafe fn open(worker: *mut Self, cache: *mut Cache) -> bool {
        let base = slots_new(TRANSIT_SLOTS);
        if base.is_null() {
            return false;
        }
        memory::account(signed(TRANSIT_SLOTS * SLOT));
        // SAFETY: as promised.
        unsafe {
            (*worker).cache = if cache.is_null() {
                &raw mut (*worker).own_cache
            } else {
                cache
            };
            (*worker).renew(base, TRANSIT_SLOTS);
        }
        true
    }

    /// Gives its buffer and its nodes back.
    ///
    /// # Safety
    /// `worker` is the caller's, and runs nothing.
    pub(crate) unsafe fn close(worker: *mut Self) {
        // SAFETY: as promised.
        unsafe {
            memory::account(-signed((*worker).room() * SLOT));
            libc::free((*worker).base.cast());
            (*worker).base = null_mut();
            Self::close_cache(worker);
        }
    }

    /// Gives its nodes back.
    ///
    /// # Safety
    /// The worker is the caller's, or parked and kept from leaving.
    pub(crate) unsafe fn close_cache(worker: *mut Self) {
        // SAFETY: as promised.
        unsafe { memory::cache_close(&raw mut (*worker).own_cache) };
    }

    fn room(&self) -> usize {
        (self.end as usize - self.base as usize) / SLOT
    }

    /// Takes an empty buffer of `room` slots.
    fn renew(&mut self, base: *mut Slot, room: usize) {
        self.base = base;
        self.head = base;
        self.start = base;
        self.end = base.wrapping_add(room);
        self.context.tail = base;
        self.context.limit = self.end;
    }
}

/// A kernel found the window full: move what is left to the front, or take a larger buffer.
unsafe extern "C" fn grow(context: *mut Context) -> i32 {
    let worker: *mut Worker = context.cast();
    // SAFETY: the context is the first field of the worker that runs the kernel, on its thread.
    unsafe {
        let tail = (*context).tail;
        let waiting = (tail as usize - (*worker).head as usize) / SLOT;
        let emitted = (tail as usize - (*worker).start as usize) / SLOT;
        let room = (*worker).room();
        let mut base = (*worker).base;
        if waiting > room / 2 {
            let Some(doubled) = room.checked_mul(2) else {
                return FAULT_MEMORY;
            };
            base = slots_new(doubled);
            if base.is_null() {
                return FAULT_MEMORY;
            }
            memory::account_emission(doubled * SLOT);
            memory::account(signed(room * SLOT));
            base.copy_from_nonoverlapping((*worker).head, waiting);
            libc::free((*worker).base.cast());
            (*worker).renew(base, doubled);
            // `deliver_to_one` knows the buffer by its address only, where the next one may lie: it shall look up.
            (*worker).preempt.store(true, Ordering::Relaxed);
        } else {
            base.copy_from((*worker).head, waiting);
        }
        (*worker).head = base;
        (*context).tail = base.add(waiting);
        (*worker).start = (*context).tail.sub(emitted);
    }
    0
}

/// Appends to the transit of the circuit that the calling thread runs; false: out of memory.
///
/// # Safety
/// `worker` is the calling thread's and runs the slot's circuit.
#[inline]
pub unsafe fn push(worker: *mut Worker, slot: Slot) -> bool {
    // SAFETY: as promised; after `grow` there is room.
    unsafe {
        let context = &raw mut (*worker).context;
        if (*context).tail == (*context).limit && grow(context) != 0 {
            return false;
        }
        let tail = (*context).tail;
        (*tail).pipe = slot.pipe;
        (*tail).bits = slot.bits;
        (*context).tail = tail.add(1);
        true
    }
}

/// A buffer that one burst has made large goes back once it is empty and its worker has nothing else to do.
///
/// # Safety
/// `worker` is the calling thread's, and its transit is empty.
pub(crate) unsafe fn shrink(worker: *mut Worker) {
    // SAFETY: the caller's worker, whose transit is empty.
    unsafe {
        let room = (*worker).room();
        if room <= 64 * TRANSIT_SLOTS {
            return;
        }
        let base = slots_new(TRANSIT_SLOTS);
        if base.is_null() {
            return;
        }
        memory::account(-signed((room - TRANSIT_SLOTS) * SLOT));
        libc::free((*worker).base.cast());
        (*worker).renew(base, TRANSIT_SLOTS);
    }
}

/// Sorts what the kernel emitted, from `start` to the tail: other circuits' values are admitted there, this
/// circuit's close up and stay as transit.
unsafe fn route(worker: *mut Worker, circuit: *mut Circuit) {
    // SAFETY: the slots are in the worker's buffer; handles were ones once, so their pipes can be looked at.
    unsafe {
        let mut kept = (*worker).start;
        let end = (*worker).context.tail;
        let mut slot = kept;
        while slot != end {
            let handle = (*slot).pipe;
            let bits = (*slot).bits;
            slot = slot.add(1);
            if !is_handle(handle) {
                if handle == 0 {
                    continue;
                }
                // The kernel has called the host, which has emitted to an object here.
                (*worker).preempt.store(true, Ordering::Relaxed);
                (*kept).pipe = handle;
                (*kept).bits = bits;
                kept = kept.add(1);
                continue;
            }
            let pipe = pipe_of(handle);
            if !is_pipe(pipe, handle) {
                continue;
            }
            let target = (*pipe).circuit.load(Ordering::Relaxed);
            if target == circuit {
                (*kept).pipe = handle;
                (*kept).bits = bits;
                kept = kept.add(1);
            } else {
                prefetch((*pipe).state.cast());
                if admit(worker, (*worker).cache, target, Slot { pipe: handle, bits }) == Admitted::Memory {
                    events::fault(target, pipe, handle, FAULT_MEMORY);
                }
            }
        }
        (*worker).context.tail = kept;
    }
}

#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The watcher asked for the processor. Returns whether the circuit has to be put back.
#[cold]
unsafe fn yields<H: Host>(worker: *mut Worker, circuit: *mut Circuit) -> bool {
    // SAFETY: the caller's worker, which runs the circuit.
    unsafe {
        (*worker).preempt.store(false, Ordering::Relaxed);
        if H::HOSTED {
            H::breathe();
        }
        spread(worker)
            || is_stopping()
            || if H::HOSTED {
                (*worker).team.is_over()
            } else {
                (*circuit).is_hosted()
            }
    }
}

/// Where `deliver_to_one` stopped: the pipe that received last, and its fault code.
#[repr(C)]
struct Delivered {
    handle: u64,
    code: i32,
}

/// Delivers `bits` to a pipe, and as long as its kernel emits one value, and that to its own pipe or to one that this
/// worker can `follow` it to, delivers that too. The buffer is empty and rewound, so the same slot is written and read
/// each time; there is nothing to look up and nothing to route. Returns with what the kernel has emitted last between
/// `base` and the tail, and with the circuit of the last pipe as the running one.
///
/// A function of its own for the sake of registers: spills are stores, and stores bound this loop.
#[inline(never)]
unsafe fn deliver_to_one<H: Host>(
    worker: *mut Worker,
    base: *mut Slot,
    mut handle: u64,
    mut kernel: Kernel,
    mut state: *mut c_void,
    mut bits: u64,
) -> Delivered {
    // SAFETY: the caller's worker and buffer; the pipe is alive while its circuit is run.
    unsafe {
        let context = &raw mut (*worker).context;
        let after = base.add(1);
        loop {
            loop {
                (*context).tail = base;
                let code = kernel(context, state, bits);
                if (*context).tail != after || code != 0 || (*worker).preempt.load(Ordering::Relaxed) {
                    return Delivered { handle, code };
                }
                if (*base).pipe != handle {
                    break;
                }
                bits = (*base).bits;
            }
            let pipe = if H::HOSTED {
                null_mut()
            } else {
                follow(worker, (*base).pipe)
            };
            if pipe.is_null() {
                return Delivered { handle, code: 0 };
            }
            handle = (*base).pipe;
            bits = (*base).bits;
            kernel = (*pipe).kernel;
            state = (*pipe).state;
        }
    }
}

/// Goes on with the circuit that the only value of the running one is for: that of the pipe with this handle. There is
/// no node and no queue, and what is left of both visits are a claim and a rest:
///
/// 1. The worker has nothing but this value: none in the transit, none pending, none in the ingress, no next circuit.
/// 2. It claims the other circuit, IDLE to BUSY. That is the value's admission: whatever comes in from now on is
///    behind it. While the circuit is BUSY it cannot end, nor its pipes.
/// 3. It lets the running circuit rest. If something has come in meanwhile, that one is put back.
///
/// Null: it has to go the usual way, and nothing is changed.
#[inline(never)]
unsafe fn follow(worker: *mut Worker, handle: u64) -> *mut Pipe {
    if !is_handle(handle) {
        return null_mut();
    }
    let pipe = pipe_of(handle);
    // SAFETY: the caller's worker, which runs a circuit; handles were ones once, so their pipes can be looked at, and
    // so can a circuit that has ended, which nobody can claim.
    unsafe {
        if !is_pipe(pipe, handle) {
            return null_mut();
        }
        prefetch(pipe.add(1).cast()); // its state, if inline
        let circuit = (*worker).running();
        let target = (*pipe).circuit.load(Ordering::Relaxed);
        if target == circuit
            || !(*circuit).pending.is_null()
            || (*circuit).ingress.seen() != BUSY
            || !scheduler::may_follow(worker)
            || !(*target).can_be_followed()
            || !(*target).ingress.begin()
        {
            return null_mut();
        }
        touch(target);
        if !is_pipe(pipe, handle) {
            if !(*target).ingress.rest() {
                put_back(target);
            }
            return null_mut();
        }
        (*worker).circuit.store(target, Ordering::Relaxed);
        scheduler::count_visit(worker);
        (*worker).streak += 1;
        if !(*circuit).ingress.rest() {
            put_back(circuit);
        }
        pipe
    }
}

/// Delivers the transit until it is empty (true), or the time slice is over or a receiver comes that this worker
/// cannot call (false, perhaps with the last value delivered). The running circuit may be another one afterwards.
unsafe fn drain<H: Host>(worker: *mut Worker) -> bool {
    // SAFETY: the caller's worker, which runs a circuit; what is in its transit are handles of live pipes, since
    // those are dropped between two values from outside, and objects that the slots own.
    unsafe {
        let context = &raw mut (*worker).context;
        while (*worker).head != (*context).tail {
            let slot = (*worker).head;
            let handle = (*slot).pipe;
            let bits = (*slot).bits;
            let last = slot.add(1) == (*context).tail;
            if !is_handle(handle) {
                if !H::HOSTED {
                    return false;
                }
                if last {
                    (*worker).head = (*worker).base;
                    (*context).tail = (*worker).base;
                } else {
                    (*worker).head = slot.add(1);
                }
                (*worker).start = (*context).tail;
                H::receive(worker, Slot { pipe: handle, bits });
            } else {
                let pipe = pipe_of(handle);
                let kernel = (*pipe).kernel;
                let state = (*pipe).state;
                let delivered = if last {
                    (*worker).head = (*worker).base; // the last slot is in hand: rewind
                    (*worker).start = (*worker).base;
                    deliver_to_one::<H>(worker, (*worker).base, handle, kernel, state, bits)
                } else {
                    (*worker).head = slot.add(1);
                    (*worker).start = (*context).tail;
                    let code = kernel(context, state, bits);
                    Delivered { handle, code }
                };
                if delivered.code != 0 {
                    if delivered.code == MEET {
                        if !H::HOSTED {
                            if last {
                                let base = (*worker).base;
                                if delivered.handle == handle {
                                    (*base).pipe = handle;
                                    (*base).bits = bits;
                                } // else it is there, as the kernel before has emitted it
                                (*context).tail = base.add(1);
                            } else {
                                (*worker).head = slot;
                            }
                            return false;
                        }
                        H::receive_scalar(worker, pipe, bits);
                    } else {
                        let handle = delivered.handle;
                        events::fault((*worker).running(), pipe_of(handle), handle, delivered.code);
                    }
                }
                if (*context).tail != (*worker).start {
                    route(worker, (*worker).running());
                }
            }
            if (*worker).preempt.load(Ordering::Relaxed) && yields::<H>(worker, (*worker).running()) {
                return false;
            }
        }
    }
    true
}

/// Puts the transit aside, so that another circuit can use the buffer. False: no memory, go on.
unsafe fn park_transit(worker: *mut Worker, circuit: *mut Circuit) -> bool {
    // SAFETY: the caller's worker, which runs the circuit.
    unsafe {
        let count = ((*worker).context.tail as usize - (*worker).head as usize) / SLOT;
        if count > 0 {
            let bytes = size_of::<Transit>() + count * SLOT;
            let parked: *mut Transit = libc::malloc(bytes).cast();
            if parked.is_null() {
                return false;
            }
            memory::account_emission(bytes);
            (*parked).count = count;
            (&raw mut (*parked).slots)
                .cast::<Slot>()
                .copy_from_nonoverlapping((*worker).head, count);
            (*circuit).parked = parked;
            let (base, room) = ((*worker).base, (*worker).room());
            (*worker).renew(base, room);
            shrink(worker);
        }
        true
    }
}

/// False: no memory.
unsafe fn resume_transit(worker: *mut Worker, circuit: *mut Circuit) -> bool {
    // SAFETY: the caller's worker, whose transit is empty, and which is responsible for the circuit.
    unsafe {
        let parked = (*circuit).parked;
        let count = (*parked).count;
        if count > (*worker).room() {
            let base = slots_new(2 * count);
            if base.is_null() {
                return false;
            }
            memory::account(signed((2 * count - (*worker).room()) * SLOT));
            libc::free((*worker).base.cast());
            (*worker).renew(base, 2 * count);
        }
        (*circuit).parked = null_mut();
        let base = (*worker).base;
        base.copy_from_nonoverlapping((&raw const (*parked).slots).cast(), count);
        (*worker).head = base;
        (*worker).start = base;
        (*worker).context.tail = base.add(count);
        libc::free(parked.cast());
        true
    }
}

/// Puts a circuit back as it is, or lets it rest if the last value was delivered; false: no memory, go on.
unsafe fn leave(worker: *mut Worker, circuit: *mut Circuit) -> bool {
    // SAFETY: the caller's worker, which runs the circuit.
    unsafe {
        if !park_transit(worker, circuit) {
            return false;
        }
        if !(*circuit).parked.is_null() || !(*circuit).pending.is_null() || !(*circuit).ingress.rest() {
            put_back(circuit);
        }
        true
    }
}

/// Whether workers of this kind can call the receiver of a slot; not of a command.
#[inline(always)]
fn callable<H: Host>(receiver: u64) -> bool {
    is_handle(receiver) || (H::HOSTED && receiver != 0)
}

/// Begins with a value from outside, with the transit empty: it becomes transit, or is delivered to an object.
#[inline(always)]
unsafe fn begin<H: Host>(worker: *mut Worker, circuit: *mut Circuit, handle: u64, bits: u64) {
    // SAFETY: the caller's worker, which runs the circuit; the slot is the caller's.
    unsafe {
        let base = (*worker).base;
        (*worker).head = base;
        (*worker).start = base;
        (*worker).context.tail = base;
        if H::HOSTED {
            (*circuit).timed.store(false, Ordering::Relaxed);
        }
        if !is_handle(handle) {
            H::receive(worker, Slot { pipe: handle, bits });
        } else if is_pipe(pipe_of(handle), handle) {
            (*base).pipe = handle;
            (*base).bits = bits;
            (*worker).context.tail = base.add(1);
        }
    }
}

/// Runs a circuit, and those that its last value leads to, until nothing is left or the time slice is over.
///
/// # Safety
/// `worker` is the calling thread's, which is responsible for the circuit.
pub(crate) unsafe fn visit<H: Host>(worker: *mut Worker, mut circuit: *mut Circuit) {
    // SAFETY: as promised; whoever is responsible owns all of the circuit but its ingress word.
    unsafe {
        if !H::HOSTED && (*circuit).is_hosted() {
            put_back(circuit);
            return;
        }
        (*worker).circuit.store(circuit, Ordering::Relaxed);
        if !(*circuit).parked.is_null() && !resume_transit(worker, circuit) {
            put_back(circuit); // later, when there is memory
            return;
        }
        loop {
            if (*worker).head != (*worker).context.tail {
                let drained = drain::<H>(worker);
                circuit = (*worker).running();
                if !drained {
                    if leave(worker, circuit) {
                        return;
                    }
                    continue;
                }
            }
            if (*worker).preempt.load(Ordering::Relaxed) {
                if yields::<H>(worker, circuit) && leave(worker, circuit) {
                    return;
                }
                continue; // the host may have emitted something
            }
            let mut node: *mut Node = (*circuit).pending;
            if node.is_null() {
                if (*circuit).ingress.seen() == BUSY && (*circuit).ingress.rest() {
                    return;
                }
                node = (*circuit).ingress.take();
                if node.is_null() {
                    continue;
                }
                (*circuit).pending = node;
            }
            let handle = (*node).slot.pipe;
            let bits = (*node).slot.bits;
            if handle != 0 && !callable::<H>(handle) {
                put_back(circuit);
                return;
            }
            (*circuit).pending = (*node).next;
            memory::node_give((*worker).cache, node);
            if handle != 0 {
                begin::<H>(worker, circuit, handle, bits);
                continue;
            }
            match bits & COMMAND_MASK {
                COMMAND_CLOSE => {
                    // From here on the host emits from outside, that is, to nobody.
                    (*worker).circuit.store(null_mut(), Ordering::Relaxed);
                    if circuit_end((*worker).cache, circuit, H::release) {
                        circuit_release(circuit);
                    }
                    return;
                }
                COMMAND_RELEASE => {
                    (*worker).circuit.store(null_mut(), Ordering::Relaxed);
                    circuit_end((*worker).cache, circuit, H::release);
                    circuit_release(circuit);
                    return;
                }
                _ => run_command(bits, H::release),
            }
        }
    }
}

/// What `work` returns for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The worker has ended.
    Ended,
    /// The host shall start one more thread that calls `work`, and then call it again.
    Spare,
}

/// Runs circuits until the worker shall end.
///
/// # Safety
/// `worker` is the calling thread's; a hosted one holds the interpreter.
pub(crate) unsafe fn work<H: Host>(worker: *mut Worker) -> Work {
    // SAFETY: as promised.
    unsafe {
        loop {
            if H::HOSTED && (*worker).team.wants_spare() {
                return Work::Spare;
            }
            let circuit = if is_stopping() {
                null_mut()
            } else {
                scheduler::pick(worker)
            };
            if !circuit.is_null() {
                scheduler::count_visit(worker);
                visit::<H>(worker, circuit);
                (*worker).circuit.store(null_mut(), Ordering::Relaxed);
            } else if !scheduler::park::<H>(worker) {
                return Work::Ended;
            }
        }
    }
}

const _: () = assert!(std::mem::offset_of!(Worker, context) == 0);
