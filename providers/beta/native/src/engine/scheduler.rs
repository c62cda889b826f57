//! Which worker runs which circuit, and when workers sleep.
//!
//! Two teams
//! ---------
//! *Native* workers run circuits of kernels. *Hosted* workers are threads of the host's; they run circuits that
//! have a receiver which only the host can call, and hold the interpreter while they do. Where the interpreter
//! has a lock one hosted worker runs at a time: several would only queue for the lock. One more is always
//! parked, the spare, and takes over when the one that runs is stuck in a receiver.
//!
//! Where a ready circuit waits
//! ---------------------------
//! ```text
//! next       of the worker whose visit made it ready: it is hot there, and one token that travels from circuit
//!            to circuit never crosses to another core. The worker takes it; the watcher moves it on if the
//!            worker is stuck.
//! queue      of that worker, when its next slot is taken, or when it is not done itself and others sleep.
//! injection  of the team, when made ready from outside the team, or put back at the end of a time slice.
//! ```
//!
//! A native worker that has nothing but a value for an idle circuit goes on with that circuit past all three, as often
//! in a row as it may take its next slot. (`worker::follow`)
//!
//! When workers sleep: `parking`. A circuit in a next slot needs no pusher's look: its worker is awake and takes it.
//! A worker of a team that has enough running ones parks too; in step 2 it stays awake only if it may run.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence};
use std::time::Duration;

use super::circuit::Circuit;
use super::memory::Cache;
use super::parker::{Parked, Parker};
use super::parking::Parking;
use super::sync::{locked, relax};
use super::worker::{Host, Native, Worker, shrink, work};
use super::{ENGINE, cores, events, is_stopping, trim_if_worth_it};

/// The watcher's period, and the time slice of a circuit that others wait behind.
const TICK: Duration = Duration::from_millis(2);
/// Ticks inside one delivery after which its worker counts as stuck: 8 ms.
const STUCK_TICKS: u32 = 4;
/// Ticks after which a thread that the host has been asked for, and that has not come, is asked for again: 1 s.
const SPAWN_TICKS: u32 = 500;
/// Ticks without any running worker after which the watcher sleeps.
const IDLE_TICKS: u32 = 50;
/// Bounds the native threads that blocking kernels can cause.
const WORKERS: usize = 512;
/// How long a worker that was added waits for work.
const RETIRE: Duration = Duration::from_secs(1);
/// Visits through the next slot, or past it, before the queues get their turn.
const STREAK: u32 = 64;
/// Looks for work before parking: some 15 microseconds, less than a wake-up costs.
const SEARCH_SPINS: u32 = 1500;

// -- queues

/// Ready circuits, first in, first out, under a lock that is held for some instructions.
#[repr(align(64))]
#[derive(Debug)]
pub struct Queue {
    taken: AtomicBool,
    /// Written under the lock.
    size: AtomicU32,
    head: Cell<*mut Circuit>,
    tail: Cell<*mut Circuit>,
}

// SAFETY: the ends are used under the lock alone.
unsafe impl Sync for Queue {}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            size: AtomicU32::new(0),
            head: Cell::new(null_mut()),
            tail: Cell::new(null_mut()),
        }
    }

    fn lock(&self) {
        let mut tries = 0;
        while self.taken.swap(true, Ordering::Acquire) {
            tries += 1;
            if tries % 64 == 0 {
                std::thread::yield_now(); // the holder may have lost its processor
            } else {
                relax();
            }
        }
    }

    fn unlock(&self) {
        self.taken.store(false, Ordering::Release);
    }

    #[inline]
    fn len(&self) -> u32 {
        self.size.load(Ordering::Relaxed)
    }

    /// # Safety
    /// The caller is responsible for the circuit, and is no more afterwards.
    unsafe fn push(&self, circuit: *mut Circuit) {
        self.lock();
        // SAFETY: as promised; what is in the queue is valid.
        unsafe {
            (*circuit).link = null_mut();
            if self.head.get().is_null() {
                self.head.set(circuit);
            } else {
                (*self.tail.get()).link = circuit;
            }
        }
        self.tail.set(circuit);
        self.size.store(self.len() + 1, Ordering::Relaxed);
        self.unlock();
    }

    /// # Safety
    /// The caller is responsible for the circuits, `count` of them, linked from `first` to `last`, and is no more
    /// afterwards.
    unsafe fn push_all(&self, first: *mut Circuit, last: *mut Circuit, count: u32) {
        self.lock();
        // SAFETY: as promised; what is in the queue is valid.
        unsafe {
            (*last).link = null_mut();
            if self.head.get().is_null() {
                self.head.set(first);
            } else {
                (*self.tail.get()).link = first;
            }
        }
        self.tail.set(last);
        self.size.store(self.len() + count, Ordering::Relaxed);
        self.unlock();
    }

    fn pop(&self) -> *mut Circuit {
        if self.len() == 0 {
            return null_mut();
        }
        self.lock();
        let circuit = self.head.get();
        if !circuit.is_null() {
            // SAFETY: what is in the queue is valid.
            self.head.set(unsafe { (*circuit).link });
            self.size.store(self.len() - 1, Ordering::Relaxed);
        }
        self.unlock();
        circuit
    }
}

// -- teams

/// Workers of a kind.
#[derive(Debug)]
pub struct Team {
    hosted: bool,
    /// How many may run at a time.
    limit: AtomicU32,
    /// How many stay when there is no work.
    base: AtomicU32,
    /// How many there are at most.
    most: AtomicU32,
    workers: [AtomicPtr<Worker>; WORKERS],
    /// Slots used in `workers`.
    count: AtomicU32,
    /// How many there are.
    pub(crate) threads: AtomicU32,
    /// In a delivery for long; written by the watcher.
    stuck: AtomicU32,
    /// In a call that they have told will block.
    blocked: AtomicU32,
    /// The host has been asked for one more thread, which has not come yet.
    spawning: AtomicBool,
    /// For how many ticks; counted by the watcher, from 0 when one comes.
    spawn_ticks: AtomicU32,
    /// It has been told that all threads are in receivers that block; the watcher's.
    told: AtomicBool,
    injection: Queue,
    pub(crate) parking: Parking,
    /// Under the mutex of `parking`.
    watcher_asleep: AtomicBool,
}

impl Team {
    pub(crate) const fn new(hosted: bool) -> Self {
        Self {
            hosted,
            limit: AtomicU32::new(0),
            base: AtomicU32::new(0),
            most: AtomicU32::new(WORKERS as u32),
            workers: [const { AtomicPtr::new(null_mut()) }; WORKERS],
            count: AtomicU32::new(0),
            threads: AtomicU32::new(0),
            stuck: AtomicU32::new(0),
            blocked: AtomicU32::new(0),
            spawning: AtomicBool::new(false),
            spawn_ticks: AtomicU32::new(0),
            told: AtomicBool::new(false),
            injection: Queue::new(),
            parking: Parking::new(),
            watcher_asleep: AtomicBool::new(false),
        }
    }

    pub(crate) fn open(&self, limit: u32, base: u32) {
        self.limit.store(limit, Ordering::Relaxed);
        self.base.store(base, Ordering::Relaxed);
    }

    pub(crate) fn bound(&self, most: u32) {
        self.most.store(most, Ordering::Relaxed);
    }

    fn each(&self) -> impl Iterator<Item = *mut Worker> + '_ {
        let count = self.count.load(Ordering::Acquire) as usize;
        self.workers[..count].iter().map(|it| it.load(Ordering::Acquire))
    }

    /// How many may run, those that are known to get nowhere not counted.
    fn allowed(&self) -> u32 {
        let away = self.stuck.load(Ordering::Relaxed) + self.blocked.load(Ordering::Relaxed);
        self.limit.load(Ordering::Relaxed).saturating_add(away)
    }

    fn running(&self) -> u32 {
        let parked = self.parking.parked.load(Ordering::Relaxed);
        self.threads.load(Ordering::Relaxed).saturating_sub(parked)
    }

    /// Whether one more may run.
    fn has_room(&self) -> bool {
        self.running() < self.allowed()
    }

    /// Whether more run than may.
    pub(crate) fn is_over(&self) -> bool {
        self.running() > self.allowed()
    }

    /// Whether nobody is left to take over; tells it once, until another thread comes.
    pub(crate) fn wants_spare(&self) -> bool {
        self.parking.parked.load(Ordering::Relaxed) == 0
            && {
                let threads = self.threads.load(Ordering::Relaxed);
                threads >= self.base.load(Ordering::Relaxed) && threads < self.most.load(Ordering::Relaxed)
            }
            && !is_stopping()
            && !self.spawning.swap(true, Ordering::Relaxed)
    }

    fn anything_waits(&self) -> bool {
        // SAFETY: workers are never freed.
        self.injection.len() > 0 || self.each().any(|it| unsafe { (*it).queue.len() > 0 })
    }

    /// Wakes a worker unless one looks around already.
    pub(crate) fn wake_one(&self) {
        fence(Ordering::SeqCst);
        if self.parking.parked.load(Ordering::Relaxed) > 0
            && self.parking.searching.load(Ordering::Relaxed) == 0
            && self.has_room()
        {
            self.wake_parked();
        }
    }

    fn wake_parked(&self) -> bool {
        self.parking.wake(|| {
            if self.watcher_asleep.swap(false, Ordering::Relaxed) {
                WATCHER.unpark();
            }
        })
    }

    pub(crate) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        while self.wake_parked() {}
    }

    pub(crate) fn preempt_all(&self) {
        for worker in self.each() {
            // SAFETY: workers are never freed.
            unsafe { (*worker).preempt.store(true, Ordering::Relaxed) };
        }
    }

    fn is_idle(&self) -> bool {
        self.parking.parked.load(Ordering::Relaxed) == self.threads.load(Ordering::Relaxed)
    }

    /// Whether none of its circuits is ready or run; under the mutex of `parking`.
    fn is_quiescent(&self) -> bool {
        self.is_idle() && !self.anything_waits()
    }

    /// Visits of circuits since the start.
    pub(crate) fn visits(&self) -> u64 {
        // SAFETY: workers are never freed.
        self.each()
            .map(|it| unsafe { (*it).visits.load(Ordering::Relaxed) })
            .sum()
    }
}

/// Whether nothing runs and nothing is ready; then calls `then`, and nothing begins to run meanwhile.
pub(crate) fn if_quiescent(then: impl FnOnce()) {
    ENGINE.native.parking.look(|_| {
        ENGINE.hosted.parking.look(|_| {
            if ENGINE.native.is_quiescent() && ENGINE.hosted.is_quiescent() {
                then();
            }
        });
    });
}

/// Empties the caches of parked workers.
///
/// # Safety
/// Within `if_quiescent`: who is in a list of parked workers leaves it under a mutex that the caller holds, and
/// uses its cache only after that. Others may be about to end, and empty theirs themselves.
pub(crate) unsafe fn close_parked_caches() {
    for worker in ENGINE.native.each().chain(ENGINE.hosted.each()) {
        // SAFETY: workers are never freed; a parked one does not use its cache.
        unsafe {
            if (*worker).sleeper.listed.load(Ordering::Relaxed) {
                Worker::close_cache(worker);
            }
        }
    }
}

thread_local! {
    static THIS: Cell<*mut Worker> = const { Cell::new(null_mut()) };
}

/// The calling thread's worker, or null.
#[inline]
#[must_use]
pub fn this_worker() -> *mut Worker {
    THIS.with(Cell::get)
}

#[inline]
fn team_of(circuit: *mut Circuit) -> &'static Team {
    // SAFETY: the caller is responsible for the circuit.
    if unsafe { (*circuit).is_hosted() } {
        &ENGINE.hosted
    } else {
        &ENGINE.native
    }
}

/// Makes a circuit ready, which the caller made BUSY. `worker` null: from outside.
///
/// # Safety
/// `worker` is the calling thread's or null; the caller is responsible for the circuit, and no more afterwards.
pub(crate) unsafe fn schedule(worker: *mut Worker, circuit: *mut Circuit) {
    let team = team_of(circuit);
    // SAFETY: as promised.
    unsafe {
        if worker.is_null() || !std::ptr::eq((*worker).team, team) {
            team.injection.push(circuit);
            team.wake_one();
            return;
        }
        let running = (*worker).running();
        let goes_on =
            (*worker).head != (*worker).start || (!running.is_null() && !(*running).pending.is_null());
        if goes_on && team.parking.parked.load(Ordering::Relaxed) > 0 && team.has_room() {
            (*worker).queue.push(circuit);
            team.wake_one();
            return;
        }
        if (*worker).next.load(Ordering::Relaxed).is_null() {
            (*worker).next.store(circuit, Ordering::Release); // nobody but this worker fills the slot
            return;
        }
        let before = (*worker).next.swap(circuit, Ordering::AcqRel);
        if !before.is_null() {
            (*worker).queue.push(before);
            team.wake_one();
        }
    }
}

/// Puts a circuit back that has more to do.
///
/// # Safety
/// The caller is responsible for the circuit, and no more afterwards.
pub(crate) unsafe fn put_back(circuit: *mut Circuit) {
    let team = team_of(circuit);
    // SAFETY: as promised.
    unsafe { team.injection.push(circuit) };
    team.wake_one();
}

/// Circuits that the caller made BUSY, from outside: they become ready by the hundred, under one lock and with one
/// wake. Each is the caller's until then.
#[derive(Debug)]
pub(crate) struct Ready {
    native: Chain,
    hosted: Chain,
}

#[derive(Debug)]
struct Chain {
    team: &'static Team,
    first: *mut Circuit,
    last: *mut Circuit,
    count: u32,
}

/// Enough to make the lock cheap, few enough that workers begin soon.
const READY: u32 = 256;

impl Ready {
    pub(crate) fn new() -> Self {
        let chain = |team| Chain {
            team,
            first: null_mut(),
            last: null_mut(),
            count: 0,
        };
        Self {
            native: chain(&ENGINE.native),
            hosted: chain(&ENGINE.hosted),
        }
    }

    /// # Safety
    /// The caller is responsible for the circuit, and no more afterwards.
    #[inline]
    pub(crate) unsafe fn add(&mut self, circuit: *mut Circuit) {
        // SAFETY: as promised.
        unsafe {
            let chain = if (*circuit).is_hosted() {
                &mut self.hosted
            } else {
                &mut self.native
            };
            if chain.count == 0 {
                chain.first = circuit;
            } else {
                (*chain.last).link = circuit;
            }
            chain.last = circuit;
            chain.count += 1;
            if chain.count == READY {
                chain.flush();
            }
        }
    }

    pub(crate) fn flush(&mut self) {
        self.native.flush();
        self.hosted.flush();
    }
}

impl Chain {
    fn flush(&mut self) {
        if self.count > 0 {
            // SAFETY: the circuits are ours, linked by `add`.
            unsafe { self.team.injection.push_all(self.first, self.last, self.count) };
            self.count = 0;
            self.team.wake_one();
        }
    }
}

/// Lets others take what waits here; returns whether anything waits anywhere in the team.
///
/// # Safety
/// `worker` is the calling thread's.
pub(crate) unsafe fn spread(worker: *mut Worker) -> bool {
    // SAFETY: as promised.
    unsafe {
        let team = (*worker).team;
        let next = take_next(worker);
        if !next.is_null() {
            (*worker).queue.push(next);
        }
        if !team.anything_waits() {
            return false;
        }
        team.wake_one();
        true
    }
}

/// Counts the calling thread's worker, if it has one, as getting nowhere while this lives, and hands its other
/// circuits on.
#[derive(Debug)]
pub struct Blocking(*mut Worker);

/// The calling thread is about to block.
#[must_use]
pub fn about_to_block() -> Blocking {
    let worker = this_worker();
    if !worker.is_null() {
        // SAFETY: the calling thread's.
        unsafe {
            (*worker).blocked.fetch_add(1, Ordering::Relaxed);
            (*worker).team.blocked.fetch_add(1, Ordering::Relaxed);
            spread(worker);
        }
    }
    Blocking(worker)
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the worker of the thread that made this.
            unsafe {
                (*self.0).team.blocked.fetch_sub(1, Ordering::Relaxed);
                (*self.0).blocked.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// Notes that the worker begins with a circuit.
///
/// # Safety
/// `worker` is the calling thread's.
#[inline]
pub(crate) unsafe fn count_visit(worker: *mut Worker) {
    // SAFETY: nobody but this thread writes it.
    unsafe {
        let visits = (*worker).visits.load(Ordering::Relaxed);
        (*worker).visits.store(visits + 1, Ordering::Relaxed);
    }
}

// -- choosing

/// Whether the worker may go on with a circuit past its next slot and the queues.
///
/// # Safety
/// `worker` is the calling thread's.
#[inline]
pub(crate) unsafe fn may_follow(worker: *mut Worker) -> bool {
    // SAFETY: as promised.
    unsafe { (*worker).streak < STREAK && (*worker).next.load(Ordering::Relaxed).is_null() }
}

/// # Safety
/// `worker` is valid.
unsafe fn take_next(worker: *mut Worker) -> *mut Circuit {
    // SAFETY: as promised.
    unsafe {
        if (*worker).next.load(Ordering::Relaxed).is_null() {
            null_mut()
        } else {
            (*worker).next.swap(null_mut(), Ordering::Acquire)
        }
    }
}

unsafe fn steal(thief: *mut Worker) -> *mut Circuit {
    // SAFETY: the caller's worker; workers are never freed.
    unsafe {
        let team = (*thief).team;
        let count = team.count.load(Ordering::Acquire);
        for step in 0..count {
            let index = (*thief).picks.wrapping_add(step) % count;
            let victim = team.workers[index as usize].load(Ordering::Acquire);
            let circuit = (*victim).queue.pop();
            if !circuit.is_null() {
                return circuit;
            }
        }
        null_mut()
    }
}

/// The circuit to run next; null: none.
///
/// # Safety
/// `worker` is the calling thread's.
#[inline]
pub(crate) unsafe fn pick(worker: *mut Worker) -> *mut Circuit {
    // SAFETY: as promised.
    unsafe {
        if (*worker).streak < STREAK && !((*worker).team.hosted && (*worker).team.is_over()) {
            let circuit = take_next(worker);
            if !circuit.is_null() {
                (*worker).streak += 1;
                return circuit;
            }
        }
        pick_elsewhere(worker)
    }
}

#[inline(never)]
unsafe fn pick_elsewhere(worker: *mut Worker) -> *mut Circuit {
    // SAFETY: the caller's worker.
    unsafe {
        let team = (*worker).team;
        (*worker).streak = 0;
        if team.hosted && team.is_over() {
            spread(worker);
            return null_mut();
        }
        // Now and then the injection queue goes first, so that circuits that keep each other ready here do not
        // keep those from outside waiting.
        (*worker).picks = (*worker).picks.wrapping_add(1);
        let outside_first = (*worker).picks % 16 == 0;
        let mut circuit = if outside_first {
            team.injection.pop()
        } else {
            null_mut()
        };
        if circuit.is_null() {
            circuit = (*worker).queue.pop();
        }
        if circuit.is_null() {
            circuit = team.injection.pop();
        }
        if circuit.is_null() {
            circuit = take_next(worker);
        }
        if circuit.is_null() {
            circuit = steal(worker);
        }
        if !circuit.is_null() {
            team.parking.search_end(&raw mut (*worker).sleeper);
            if (*worker).queue.len() > 0 || team.injection.len() > 0 {
                team.wake_one();
            }
        }
        circuit
    }
}

/// Sleeps until there may be work. False: the worker shall end.
///
/// # Safety
/// `worker` is the calling thread's; a hosted one holds the interpreter.
pub(crate) unsafe fn park<H: Host>(worker: *mut Worker) -> bool {
    // SAFETY: as promised.
    unsafe {
        let detached = H::detach();
        let goes_on = park_detached(worker);
        H::attach(detached);
        goes_on
    }
}

unsafe fn park_detached(worker: *mut Worker) -> bool {
    // SAFETY: the caller's worker; workers are never freed.
    unsafe {
        let team = (*worker).team;
        let parking = &team.parking;
        let sleeper = &raw mut (*worker).sleeper;
        let searches = (*sleeper).searches.load(Ordering::Relaxed);
        if !team.is_over() && (searches || parking.searching.load(Ordering::Relaxed) == 0) {
            if !searches {
                parking.search_begin(sleeper);
            }
            for _ in 0..SEARCH_SPINS {
                if team.anything_waits() || is_stopping() {
                    break;
                }
                relax();
            }
            if team.anything_waits() && !is_stopping() {
                return true;
            }
        }
        shrink(worker);
        parking.search_end(sleeper);
        parking.enter(sleeper);
        if is_stopping() || (team.anything_waits() && team.has_room()) {
            if !parking.leave(sleeper) {
                while (*sleeper).parker.park(None) != Parked::Woken {}
            }
            return !is_stopping();
        }
        trim_if_worth_it(null_mut());
        loop {
            let added = team.threads.load(Ordering::Relaxed) > team.base.load(Ordering::Relaxed);
            match (*sleeper).parker.park(if added { Some(RETIRE) } else { None }) {
                Parked::Woken => return !is_stopping(),
                Parked::Interrupted => {}
                Parked::Timeout => {
                    let retires = parking.leave_if(sleeper, |parked| {
                        let threads = team.threads.load(Ordering::Relaxed);
                        let goes =
                            threads > team.base.load(Ordering::Relaxed) && (!team.hosted || parked > 1);
                        if goes {
                            team.threads.store(threads - 1, Ordering::Relaxed);
                        }
                        goes
                    });
                    if retires {
                        (*worker).gone.store(true, Ordering::Relaxed); // so that `exit` does not count it again
                        return false;
                    }
                }
            }
        }
    }
}

// -- threads

/// A worker of `team` for a thread, counted; null: out of memory, or too many.
///
/// # Safety
/// `cache` is null, or may be used whenever the worker runs.
unsafe fn enlist(team: &'static Team, cache: *mut Cache) -> *mut Worker {
    let _life = locked(&ENGINE.life);
    if is_stopping() {
        return null_mut();
    }
    // SAFETY: workers are never freed; one that has left is nobody's.
    unsafe {
        let mut worker = team
            .each()
            .find(|it| LEFT == (**it).stuck_ticks.load(Ordering::Acquire));
        if worker.is_none() {
            let index = team.count.load(Ordering::Relaxed);
            if index as usize == WORKERS {
                return null_mut();
            }
            let made: *mut Worker = std::alloc::alloc(std::alloc::Layout::new::<Worker>()).cast();
            if made.is_null() {
                return null_mut();
            }
            made.write(Worker::new(team));
            (*made).stuck_ticks.store(LEFT, Ordering::Relaxed);
            team.workers[index as usize].store(made, Ordering::Release);
            team.count.store(index + 1, Ordering::Release);
            worker = Some(made);
        }
        let worker = worker.unwrap_or(null_mut());
        if !Worker::open(worker, cache) {
            return null_mut();
        }
        (*worker).preempt.store(false, Ordering::Relaxed);
        (*worker).gone.store(false, Ordering::Relaxed);
        (*worker).stuck_ticks.store(0, Ordering::Relaxed);
        team.parking
            .look(|_| team.threads.fetch_add(1, Ordering::Relaxed));
        worker
    }
}

/// As the ticks of a worker that no thread has.
const LEFT: u32 = u32::MAX;

/// # Safety
/// `worker` is the calling thread's, which leaves it.
unsafe fn leave(worker: *mut Worker) {
    // SAFETY: as promised.
    unsafe {
        let team = (*worker).team;
        team.parking.search_end(&raw mut (*worker).sleeper);
        let next = take_next(worker);
        if !next.is_null() {
            put_back(next);
        }
        let _life = locked(&ENGINE.life);
        Worker::close(worker);
        if !(*worker).gone.swap(true, Ordering::Relaxed) {
            team.parking
                .look(|_| team.threads.fetch_sub(1, Ordering::Relaxed));
        }
        (*worker).stuck_ticks.store(LEFT, Ordering::Release);
    }
}

/// Runs circuits of the host's on the calling thread, until the host is wanted or the worker shall end.
///
/// # Safety
/// The calling thread holds the interpreter; `cache` is null, or may be used by whoever does.
pub unsafe fn work_hosted<H: Host>(cache: *mut Cache) -> super::worker::Work {
    // SAFETY: as promised.
    unsafe {
        let mut worker = this_worker();
        if worker.is_null() {
            worker = enlist(&ENGINE.hosted, cache);
            ENGINE.hosted.spawn_ticks.store(0, Ordering::Relaxed);
            ENGINE.hosted.spawning.store(false, Ordering::Relaxed);
            if worker.is_null() {
                return super::worker::Work::Ended;
            }
            THIS.set(worker);
        }
        let result = work::<H>(worker);
        if result == super::worker::Work::Ended {
            THIS.set(null_mut());
            leave(worker);
        }
        result
    }
}

extern "C-unwind" fn native_main(argument: *mut c_void) -> *mut c_void {
    let worker: *mut Worker = argument.cast();
    THIS.set(worker);
    // SAFETY: the worker was made for this thread.
    unsafe {
        work::<Native>(worker);
        leave(worker);
    }
    null_mut()
}

extern "C-unwind" fn watcher_main(_unused: *mut c_void) -> *mut c_void {
    watch();
    WATCHERS.fetch_sub(1, Ordering::Relaxed);
    null_mut()
}

/// Starts a detached thread; all signals stay with the host's. False: the system gives no more.
///
/// Not by the standard library: a kernel may call the interpreter, which may end the thread by unwinding it.
fn thread_start(main: extern "C-unwind" fn(*mut c_void) -> *mut c_void, argument: *mut c_void) -> bool {
    // SAFETY: plain system calls on what is ours; unwinding out of `main` is what the C library does itself.
    unsafe {
        let main: extern "C" fn(*mut c_void) -> *mut c_void = std::mem::transmute(main);
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let error = libc::pthread_create(&raw mut thread, std::ptr::null(), main, argument);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
        if error == 0 {
            libc::pthread_detach(thread);
        }
        error == 0
    }
}

/// Adds a native worker; false: no memory, or no thread.
pub(crate) fn worker_add() -> bool {
    // SAFETY: a native worker uses its own cache.
    unsafe {
        let worker = enlist(&ENGINE.native, null_mut());
        if worker.is_null() {
            return false;
        }
        let started = thread_start(native_main, worker.cast());
        if !started {
            leave(worker);
        }
        started
    }
}

pub(crate) fn watcher_start() -> bool {
    WATCHERS.fetch_add(1, Ordering::Relaxed);
    let started = thread_start(watcher_main, null_mut());
    if !started {
        WATCHERS.fetch_sub(1, Ordering::Relaxed);
    }
    started
}

// -- the watcher
//
// Every tick it asks each worker that is in the same visit as a tick ago to look up (preempt). A worker that has not
// even looked up since, for STUCK_TICKS ticks, is inside a receiver that blocks or computes for long: what waits in
// its next slot goes to the injection queue, and if circuits wait, another worker runs in its place.

static WATCHER: Parker = Parker::new();
/// Whether the watcher's thread is there.
pub(crate) static WATCHERS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn watcher_wake() {
    WATCHER.unpark();
}

/// Returns whether the worker is stuck.
unsafe fn inspect(worker: *mut Worker) -> bool {
    // SAFETY: workers are never freed.
    unsafe {
        let ticks = (*worker).stuck_ticks.load(Ordering::Acquire);
        if ticks == LEFT {
            return false;
        }
        let visits = (*worker).visits.load(Ordering::Relaxed);
        let same = (*worker).seen_visits.swap(visits, Ordering::Relaxed) == visits;
        if !same || (*worker).running().is_null() || !(*worker).preempt.load(Ordering::Relaxed) {
            if same && !(*worker).running().is_null() {
                (*worker).preempt.store(true, Ordering::Relaxed);
            }
            if ticks != 0 {
                // Not if its thread has left it meanwhile.
                let _ =
                    (*worker)
                        .stuck_ticks
                        .compare_exchange(ticks, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
            return false;
        }
        if ticks < STUCK_TICKS {
            let _ = (*worker).stuck_ticks.compare_exchange(
                ticks,
                ticks + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            return false;
        }
        let next = take_next(worker);
        if !next.is_null() {
            put_back(next);
        }
        (*worker).blocked.load(Ordering::Relaxed) == 0
    }
}

fn tick(team: &'static Team) {
    // SAFETY: workers are never freed.
    let stuck = team.each().filter(|it| unsafe { inspect(*it) }).count();
    let stuck = u32::try_from(stuck).unwrap_or(0);
    team.stuck.store(stuck, Ordering::Relaxed);
    if team.spawning.load(Ordering::Relaxed) {
        let ticks = team.spawn_ticks.fetch_add(1, Ordering::Relaxed);
        if ticks == SPAWN_TICKS {
            team.spawn_ticks.store(0, Ordering::Relaxed);
            events::thread_wanted(); // its own threads may all be in receivers that block
        }
    }
    if !team.anything_waits() {
        return;
    }
    if team.parking.parked.load(Ordering::Relaxed) > 0 {
        team.wake_one();
    } else if !team.hosted {
        let threads = team.threads.load(Ordering::Relaxed);
        if (threads.saturating_sub(stuck) as usize) < cores() {
            worker_add();
        }
    } else {
        let away = stuck + team.blocked.load(Ordering::Relaxed);
        if away >= team.most.load(Ordering::Relaxed) && !team.told.swap(true, Ordering::Relaxed) {
            events::exhausted();
        }
    }
}

fn falls_asleep(team: &Team) -> bool {
    team.parking.look(|_| {
        let idle = team.is_idle();
        team.watcher_asleep.store(idle, Ordering::Relaxed);
        idle
    })
}

fn watch() {
    let mut idle_ticks = 0;
    while !is_stopping() {
        let sleeps = idle_ticks > IDLE_TICKS && falls_asleep(&ENGINE.native) && falls_asleep(&ENGINE.hosted);
        WATCHER.park(if sleeps { None } else { Some(TICK) });
        let idle = ENGINE.native.is_idle() && ENGINE.hosted.is_idle();
        idle_ticks = if idle { idle_ticks + 1 } else { 0 };
        if !idle {
            tick(&ENGINE.native);
            tick(&ENGINE.hosted);
        }
    }
}
