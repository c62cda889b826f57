//! Populations: many circuits, and one pipe for each, made, fed, waited for and dropped together.
//!
//! The members are ordinary circuits in slabs of the population, filled in order: a member is found by its index. The
//! population has a reference to each until it is dropped. Their pipes are ordinary pipes whose states stand in one
//! region, with all handles behind them. Nothing here calls the host.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::circuit::{
    Admitted, COMMAND_CLOSE, COMMAND_DROP, COMMAND_RELEASE, Circuit, Making, Pipe, circuit_init,
    circuit_let_go, command, pipe_init, touch,
};
use super::events::{Asked, Barriers};
use super::ingress::{CLOSED, Found, IDLE};
use super::kernel::Slot;
use super::memory::{self, CIRCUITS_OF_SLAB, Cache, NODES_OF_WORKER, Returns};
use super::region::Region;
use super::scheduler::{Ready, schedule};
use super::sync::{Mutex, locked};
use super::worker::{Host, Native, Worker, push};
use super::{is_forked, trim_if_worth_it};

/// How many members ahead memory is asked for.
const AHEAD: usize = 12;
/// Pipes allocated under one lock.
const PIPES_BATCH: usize = 1024;

#[inline(always)]
fn prefetch_to_write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Nodes for a call that makes many, of any thread.
struct OwnCache(Cache);

impl OwnCache {
    fn new() -> Self {
        Self(Cache::new(NODES_OF_WORKER))
    }

    fn get(&mut self) -> *mut Cache {
        &raw mut self.0
    }
}

impl Drop for OwnCache {
    fn drop(&mut self) {
        // SAFETY: ours alone.
        unsafe { memory::cache_close(&raw mut self.0) };
    }
}

/// See the module.
#[derive(Debug)]
pub struct Population {
    /// The first circuit of each slab.
    slabs: Vec<*mut Circuit>,
    count: usize,
    /// Held by who looks for busy members; see `touched`.
    looking: Mutex<()>,
}

// SAFETY: what it points to is shared between threads by the engine's rules.
unsafe impl Send for Population {}
// SAFETY: as above.
unsafe impl Sync for Population {}

impl Population {
    /// Makes `count` circuits with a name of this number; None: out of memory.
    #[must_use]
    pub fn new(count: usize, name: u32) -> Option<Box<Self>> {
        let slabs = memory::circuits_allocate(count)?;
        let population = Box::new(Self {
            slabs,
            count,
            looking: Mutex::new(()),
        });
        for index in 0..count {
            // SAFETY: taken above.
            unsafe { circuit_init(population.circuit(index), name) };
        }
        Some(population)
    }

    /// How many members there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// A member; referenced as long as the population is there.
    #[inline]
    #[must_use]
    pub fn circuit(&self, index: usize) -> *mut Circuit {
        debug_assert!(index < self.count);
        self.slabs[index / CIRCUITS_OF_SLAB].wrapping_add(index % CIRCUITS_OF_SLAB)
    }

    /// The end of each member, behind all that it has accepted. `Memory`: some are still open.
    pub fn close(&self) -> Admitted {
        let mut cache = OwnCache::new();
        let mut result = Admitted::Yes;
        for index in 0..self.count {
            let circuit = self.circuit(index);
            // SAFETY: members are referenced.
            unsafe {
                if (*circuit).is_closing() {
                    continue;
                }
                (*circuit).begin_closing();
                if !is_forked()
                    && (*circuit).ingress.close_idle().is_err()
                    && command(cache.get(), circuit, 0, COMMAND_CLOSE) == Admitted::Memory
                {
                    result = Admitted::Memory;
                }
            }
        }
        result
    }

    /// Sends a barrier behind all that members have accepted, with one waiter for those that are busy.
    #[must_use]
    pub fn barrier(&self) -> Asked {
        self.barrier_that_keeps(null_mut())
    }

    /// Keeps an object of the host's until all is done that members have accepted; false: nothing was, it was not
    /// taken.
    #[must_use]
    pub fn keep(&self, object: *mut c_void) -> bool {
        matches!(self.barrier_that_keeps(object), Asked::Waits(_))
    }

    fn barrier_that_keeps(&self, object: *mut c_void) -> Asked {
        if is_forked() {
            return Asked::Nothing;
        }
        let mut cache = OwnCache::new();
        let mut barriers = Barriers::new(object);
        let looking = locked(&self.looking);
        for (slab, first) in self.slabs.iter().enumerate() {
            let members = (self.count - slab * CIRCUITS_OF_SLAB).min(CIRCUITS_OF_SLAB);
            // SAFETY: members are referenced.
            unsafe {
                memory::touched_of(*first).look(|| {
                    let mut any = false;
                    for index in 0..members {
                        let circuit = first.wrapping_add(index);
                        let seen = (*circuit).ingress.seen_in_order();
                        if seen != IDLE && seen != CLOSED {
                            any = true;
                            barriers.send(cache.get(), circuit);
                        }
                    }
                    any
                });
            }
        }
        drop(looking);
        barriers.sent(Native::release)
    }
}

/// The host refers to the members no more. What they have accepted is still delivered.
impl Drop for Population {
    fn drop(&mut self) {
        if is_forked() {
            return;
        }
        let mut cache = OwnCache::new();
        let mut returns = Returns::new();
        for index in 0..self.count {
            let circuit = self.circuit(index);
            // SAFETY: the reference is ours.
            unsafe {
                let gone = match (*circuit).ingress.close_idle() {
                    Ok(()) | Err(CLOSED) => true,
                    Err(_) => command(cache.get(), circuit, 0, COMMAND_RELEASE) == Admitted::Dropped,
                };
                if gone && circuit_let_go(circuit) {
                    returns.circuit(circuit);
                }
            }
        }
        returns.flush();
        drop(cache);
        // SAFETY: no cache.
        unsafe { trim_if_worth_it(null_mut()) };
    }
}

/// Which members get a value.
#[derive(Clone, Copy, Debug)]
pub enum Chosen<'a> {
    /// All, in order.
    All,
    /// Those of these indices.
    These(&'a [i64]),
}

/// What they get.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// The same.
    One(u64),
    /// One each.
    Each(&'a [u64]),
}

/// A pipe for each member of a population, which lives as long as they do.
#[derive(Debug)]
pub struct Pipes {
    region: *mut Region,
    count: usize,
    /// Made when the index of a handle is first asked for.
    runs: OnceLock<Vec<Run>>,
}

/// Pipes that stand one behind the other, as their indices do.
#[derive(Debug)]
struct Run {
    address: usize,
    index: usize,
}

/// Bytes from one pipe of a run to the next.
const PIPE: usize = size_of::<Pipe>() + 16;

fn address_of(handle: u64) -> usize {
    super::circuit::pipe_of(handle) as usize
}

// SAFETY: as `Population`.
unsafe impl Send for Pipes {}
// SAFETY: as `Population`.
unsafe impl Sync for Pipes {}

impl Pipes {
    /// Makes them, each as `making` says but with `own` cells, told by their numbers; None: out of memory.
    #[must_use]
    pub fn new(population: &Population, making: &Making<'_>, own: &[u32]) -> Option<Self> {
        let region = Region::new(population.count, making.state.len());
        if region.is_null() {
            return None;
        }
        let mut made = Self {
            region,
            count: 0,
            runs: OnceLock::new(),
        };
        let mut batch = [null_mut(); PIPES_BATCH];
        while made.count < population.count {
            let wanted = (population.count - made.count).min(PIPES_BATCH);
            let taken = memory::pipes_allocate(&mut batch[..wanted]);
            // SAFETY: the region is ours.
            unsafe { (*region).keep(taken) };
            for pipe in &batch[..taken] {
                // SAFETY: the pipe is ours alone until it has its handle; members are referenced.
                unsafe { made.add(*pipe, population.circuit(made.count), making, own) };
            }
            if taken < wanted {
                made.end(population);
                return None;
            }
        }
        Some(made)
    }

    /// # Safety
    /// The pipe is the caller's alone, and has a reference to the region; the circuit is referenced.
    #[inline]
    unsafe fn add(&mut self, pipe: *mut Pipe, circuit: *mut Circuit, making: &Making<'_>, own: &[u32]) {
        let index = self.count;
        // SAFETY: as promised; `own` are cells of the state.
        unsafe {
            memory::pipe_put_into(pipe, self.region, index);
            let handle = pipe_init(pipe, circuit, making);
            for cell in own {
                (*pipe)
                    .state
                    .cast::<u64>()
                    .add(*cell as usize)
                    .write_unaligned(handle);
            }
            (*self.region).handles().add(index).write(handle);
            (*pipe).handle.store(handle, Ordering::Release);
        }
        self.count += 1;
    }

    /// Where states and handles are.
    #[must_use]
    pub fn region(&self) -> *mut Region {
        self.region
    }

    /// The handle of a member's pipe.
    #[inline]
    #[must_use]
    pub fn handle(&self, index: usize) -> u64 {
        debug_assert!(index < self.count);
        // SAFETY: the region is there as long as we are.
        unsafe { (*self.region).handles().add(index).read() }
    }

    /// The index of a handle, if it is one of these. Looks at no pipe, since the handle may be one of long ago.
    #[must_use]
    pub fn place(&self, handle: u64) -> Option<usize> {
        let runs = self.runs.get_or_init(|| self.find_runs());
        let address = address_of(handle);
        let after = runs.partition_point(|run| run.address <= address);
        let run = runs.get(after.checked_sub(1)?)?;
        let index = run.index + (address - run.address) / PIPE;
        (index < self.count && self.handle(index) == handle).then_some(index)
    }

    fn find_runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut next = 0;
        for index in 0..self.count {
            let address = address_of(self.handle(index));
            if index == 0 || address != next {
                runs.push(Run { address, index });
            }
            next = address + PIPE;
        }
        runs.sort_unstable_by_key(|run| run.address);
        runs
    }

    /// Gives each value its place, in order, as a loop would; closed members drop. Returns how many were done: all,
    /// unless memory runs out.
    ///
    /// # Safety
    /// `worker` is the calling thread's or null; the indices are of members, and as many as values.
    pub unsafe fn emit(
        &self,
        population: &Population,
        worker: *mut Worker,
        chosen: Chosen<'_>,
        values: Values<'_>,
    ) -> usize {
        let count = match (chosen, values) {
            (Chosen::These(indices), _) => indices.len(),
            (Chosen::All, _) => self.count,
        };
        let at = |step: usize| match chosen {
            Chosen::All => step,
            Chosen::These(indices) => usize::try_from(indices[step]).unwrap_or(0),
        };
        let running = if worker.is_null() {
            null_mut()
        } else {
            // SAFETY: as promised.
            unsafe { (*worker).running() }
        };
        let mut cache = OwnCache::new();
        let mut ready = Ready::new();
        let mut done = 0;
        while done < count {
            if done + AHEAD < count {
                prefetch_to_write(population.circuit(at(done + AHEAD)));
            }
            let index = at(done);
            let circuit = population.circuit(index);
            let bits = match values {
                Values::One(bits) => bits,
                Values::Each(each) => each[done],
            };
            let slot = Slot {
                pipe: self.handle(index),
                bits,
            };
            // SAFETY: members are referenced; the node is ours until it is pushed.
            unsafe {
                if circuit == running {
                    if !push(worker, slot) {
                        break;
                    }
                } else if !(*circuit).is_closing() {
                    let node = memory::node_take(cache.get());
                    if node.is_null() {
                        break;
                    }
                    (*node).slot = slot;
                    match (*circuit).ingress.push(node) {
                        Found::Idle => {
                            touch(circuit);
                            ready.add(circuit);
                        }
                        Found::Busy => touch(circuit),
                        Found::Closed => memory::node_give(cache.get(), node),
                    }
                }
            }
            done += 1;
        }
        ready.flush();
        done
    }

    /// Ends them, each behind what was accepted for it.
    fn end(&mut self, population: &Population) {
        if is_forked() {
            return;
        }
        let mut cache = OwnCache::new();
        let mut returns = Returns::new();
        let mut ended = 0;
        for index in 0..self.count {
            if index + AHEAD < self.count {
                prefetch_to_write(super::circuit::pipe_of(self.handle(index + AHEAD)));
            }
            let pipe = super::circuit::pipe_of(self.handle(index));
            let circuit = population.circuit(index);
            // SAFETY: the pipe is alive, and its own reference to its circuit is not the last one.
            unsafe {
                (*pipe).object.set(null_mut());
                let began = (*circuit).ingress.begin();
                if !began
                    && !(*circuit).has_ended()
                    && command(cache.get(), circuit, pipe as u64, COMMAND_DROP) != Admitted::Dropped
                {
                    continue; // then, or out of memory: never
                }
                (*pipe).handle.store(0, Ordering::Relaxed);
                circuit_let_go(circuit);
                if began && !(*circuit).ingress.rest() {
                    schedule(null_mut(), circuit); // what came in meanwhile is for a pipe that is gone
                }
                returns.pipe(pipe);
                ended += 1;
            }
        }
        returns.flush();
        // SAFETY: those of the pipes that ended, and ours; the other pipes have one each.
        unsafe { Region::release(self.region, ended + 1) };
        self.region = null_mut();
        self.count = 0;
        drop(cache);
        // SAFETY: no cache.
        unsafe { trim_if_worth_it(null_mut()) };
    }

    /// The host refers to them no more. What was accepted for them is still delivered.
    pub fn drop_of(mut self, population: &Population) {
        self.end(population);
    }
}
