//! The engine, without Python: its structures and how its parts work together.
//!
//! A value's way
//! -------------
//! 1. `admit` (from outside), or `route` (from a kernel of another circuit), puts a node into the circuit's
//!    ingress. If the circuit was idle it becomes ready. (`circuit`, `ingress`)
//! 2. A ready circuit waits in a worker's next slot, in a worker's queue, or in its team's injection queue for
//!    those made ready from outside. A worker takes it and visits it. (`scheduler`, `parking`)
//! 3. The visit takes one ingress value at a time into the worker's transit buffer and drains the transit: calls
//!    the kernel, which emits into the buffer's end, or has the host call the receiver, which emits by `push`;
//!    what goes to other circuits is routed at once, what stays is transit and comes before the next ingress
//!    value. (`worker`)
//! 4. With nothing left the circuit goes idle: an idle circuit is its 64 bytes and nothing else.
//! 5. Many circuits of one kind are made, fed and waited for together: they stand in slabs of their own, and a flag
//!    for each slab tells where a wait has to look. (`population`, `region`, `touched`)
//!
//! A value that a kernel emits as the only one, and with which nothing is left, skips 1 and 2 if the circuit that it
//! is for is idle: the worker follows it there. (`worker::follow`)
//!
//! One engine a process. The program that it runs in is its *host*: it makes circuits and pipes, admits values,
//! and lends threads for receivers that are no kernels (`worker::Host`).

pub mod ingress;
pub mod kernel;
pub mod object;
pub mod parker;
pub mod parking;
pub mod sync;
pub mod touched;

#[cfg(not(loom))]
pub mod circuit;
#[cfg(not(loom))]
pub mod events;
#[cfg(not(loom))]
pub mod memory;
#[cfg(not(loom))]
pub mod population;
#[cfg(not(loom))]
pub mod region;
#[cfg(not(loom))]
pub mod scheduler;
#[cfg(not(loom))]
pub mod worker;

#[cfg(not(loom))]
pub(crate) use life::ENGINE;
#[cfg(not(loom))]
pub use life::{Started, cores, facts, is_forked, is_stopping, start, start_hosted, stop, trim_if_worth_it};

#[cfg(not(loom))]
mod life {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::memory::{Cache, Held};
    use super::scheduler::{self, Team, WATCHERS};
    use super::sync::{Mutex, locked};
    use super::{events, memory};

    #[derive(Debug)]
    pub(crate) struct Engine {
        cores: AtomicUsize,
        forked: AtomicBool,
        stopping: AtomicBool,
        started: AtomicBool,
        /// Starting, stopping, adding workers.
        pub(crate) life: Mutex<()>,
        pub(crate) native: Team,
        pub(crate) hosted: Team,
    }

    pub(crate) static ENGINE: Engine = Engine {
        cores: AtomicUsize::new(1),
        forked: AtomicBool::new(false),
        stopping: AtomicBool::new(false),
        started: AtomicBool::new(false),
        life: Mutex::new(()),
        native: Team::new(false),
        hosted: Team::new(true),
    };

    /// Whether this process is a forked child, in which nothing runs.
    #[inline]
    #[must_use]
    pub fn is_forked() -> bool {
        ENGINE.forked.load(Ordering::Relaxed)
    }

    /// Whether the threads end.
    #[inline]
    #[must_use]
    pub fn is_stopping() -> bool {
        ENGINE.stopping.load(Ordering::Relaxed)
    }

    /// How many processors it uses.
    #[must_use]
    pub fn cores() -> usize {
        ENGINE.cores.load(Ordering::Relaxed)
    }

    extern "C" fn forked_child() {
        ENGINE.forked.store(true, Ordering::Relaxed);
    }

    /// What became of a start.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Started {
        /// It runs.
        Yes,
        /// This process is a forked child.
        Forked,
        /// No memory, or no thread.
        Memory,
    }

    /// Starts what of the engine does not run; by one thread at a time. `workers`: how many processors to use.
    pub fn start(workers: usize) -> Started {
        if is_forked() {
            return Started::Forked;
        }
        {
            let _life = locked(&ENGINE.life);
            if !ENGINE.started.load(Ordering::Relaxed) {
                ENGINE.cores.store(workers, Ordering::Relaxed);
                let count = u32::try_from(workers).unwrap_or(1);
                ENGINE.native.open(u32::MAX, count);
                // SAFETY: the handler sets a flag.
                if unsafe { libc::pthread_atfork(None, None, Some(forked_child)) } != 0 {
                    return Started::Memory;
                }
                ENGINE.started.store(true, Ordering::Relaxed);
            }
        }
        let threads = || ENGINE.native.threads.load(Ordering::Relaxed) as usize;
        while threads() < workers && scheduler::worker_add() {}
        let watched = WATCHERS.load(Ordering::Relaxed) > 0 || scheduler::watcher_start();
        // Fewer workers than wished for are enough.
        if watched && threads() > 0 {
            Started::Yes
        } else {
            Started::Memory
        }
    }

    /// Says how many threads of the host's may run at a time; it lends one more than that, and `most` at most
    /// when receivers block.
    pub fn start_hosted(limit: usize, most: usize) {
        let limit = u32::try_from(limit).unwrap_or(1);
        ENGINE.hosted.open(limit, limit + 1);
        ENGINE.hosted.bound(u32::try_from(most).unwrap_or(u32::MAX));
    }

    /// Ends the threads, waiting `patience` at most for receivers that run. What is queued is not delivered.
    pub fn stop(patience: Duration) {
        if is_forked() || !ENGINE.started.load(Ordering::Relaxed) {
            return;
        }
        {
            let _life = locked(&ENGINE.life);
            ENGINE.stopping.store(true, Ordering::SeqCst);
            ENGINE.native.preempt_all();
            ENGINE.hosted.preempt_all();
        }
        scheduler::watcher_wake();
        events::stop();
        let nap = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        while waited <= patience {
            ENGINE.native.wake_all();
            ENGINE.hosted.wake_all();
            let threads = &ENGINE.native.threads;
            let hosted = &ENGINE.hosted.threads;
            let left = threads.load(Ordering::Relaxed)
                + hosted.load(Ordering::Relaxed)
                + WATCHERS.load(Ordering::Relaxed);
            if left == 0 {
                break;
            }
            std::thread::sleep(nap);
            waited += nap;
        }
    }

    /// What the engine holds and how many workers and visits there are.
    #[must_use]
    pub fn facts() -> (Held, u32, u64) {
        if is_forked() {
            return (Held::default(), 0, 0);
        }
        let threads =
            ENGINE.native.threads.load(Ordering::Relaxed) + ENGINE.hosted.threads.load(Ordering::Relaxed);
        (
            memory::held(),
            threads,
            ENGINE.native.visits() + ENGINE.hosted.visits(),
        )
    }

    /// Gives unused memory back to the system if nothing runs and it is worth it. Cached nodes first: those that
    /// are left of a million lie apart, one keeps its whole slab.
    ///
    /// # Safety
    /// `cache` is null or the caller's alone.
    pub unsafe fn trim_if_worth_it(cache: *mut Cache) {
        if memory::has_empty_slabs() && !is_forked() {
            scheduler::if_quiescent(|| {
                // SAFETY: as promised, and nobody runs.
                events::unless_faults_wait(|| unsafe {
                    if !cache.is_null() {
                        memory::cache_close(cache);
                    }
                    scheduler::close_parked_caches();
                    memory::trim();
                });
            });
        }
    }
}
