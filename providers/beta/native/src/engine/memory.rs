//! Slabs for circuits, pipes and ingress nodes, and the caches of nodes.
//!
//! A slab holds objects of one size and is aligned to its own size, so that an object finds its slab by its
//! address. Memory is type-stable: objects keep their generation and their CLOSED mark while free, and empty
//! slabs stay mapped until [`trim`], which is called only while nothing runs. So a stale handle can always be
//! looked at.

use std::ffi::c_void;
use std::mem::size_of;
use std::ptr::null_mut;

use super::circuit::{Circuit, Pipe};
use super::ingress::Node;
use super::region::Region;
use super::sync::{AtomicU32, Mutex, Ordering, locked};
use super::touched::Touched;
use std::sync::atomic::{AtomicI64, AtomicU64};

/// 4,096 circuits; small beside a population, large beside a system call.
const SLAB_BYTES: usize = 256 * 1024;
/// In front of a slab's objects.
const SLAB_HEAD: usize = 64;
/// Larger kernel states get memory of their own.
const INLINE_STATE: usize = 1024;
/// Pipes come in sizes of this many bytes.
const UNIT: usize = 16;
const CIRCUITS: usize = 0;
/// Smaller than any pipe, so that no pipe is of so many units.
const NODES: usize = 1;
const POOLS: usize = (size_of::<Pipe>() + INLINE_STATE).div_ceil(UNIT) + 1;
/// Empty slabs that are no reason to trim.
const KEPT_EMPTY: u32 = 2;
/// Nodes kept for reuse by each worker; half of them move to the shared cache at a time.
pub(crate) const NODES_OF_WORKER: u32 = 512;
/// Nodes kept for reuse by the threads of an interpreter with a lock: a burst of ten thousand fits.
pub const NODES_OF_HOST: u32 = 16_384;
/// Nodes kept for reuse by all; more goes back to the slabs.
const NODES_SHARED: u32 = 4_096;
/// Nodes taken from the shared cache at a time.
const NODES_BATCH: u32 = NODES_OF_WORKER / 2;

struct Slab {
    next: *mut Slab,
    previous: *mut Slab,
    free: *mut u8,
    used: u32,
    fresh: u32, // from here on objects are handed out in order, each as it was left
    capacity: u32,
    listed: bool,
    touched: Touched,
}

const _: () = assert!(size_of::<Slab>() <= SLAB_HEAD);

#[derive(Clone, Copy)]
struct Pool {
    size: usize,
    room: *mut Slab,
    empty: *mut Slab,
    used: u64,
    slabs: u64,
}

struct Pools([Pool; POOLS]);

// SAFETY: used under the mutex alone.
unsafe impl Send for Pools {}

/// Pool 0 is for circuits, pool 1 for nodes, pool n for pipes of n units. One mutex: creation and dropping, and nodes
/// that come and go by the hundred.
static POOLS_MUTEX: Mutex<Pools> = Mutex::new(Pools(
    [Pool {
        size: 0,
        room: null_mut(),
        empty: null_mut(),
        used: 0,
        slabs: 0,
    }; POOLS],
));
static EMPTY_SLABS: AtomicU32 = AtomicU32::new(0);
static OTHER_BYTES: AtomicI64 = AtomicI64::new(0);
/// Of populations, mapped.
static STATES_BYTES: AtomicI64 = AtomicI64::new(0);
static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);

fn slab_map(size: usize) -> *mut Slab {
    // SAFETY: fresh mappings, of which the ends that are not needed are given back.
    unsafe {
        let memory = libc::mmap(
            null_mut(),
            2 * SLAB_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if memory == libc::MAP_FAILED {
            return null_mut();
        }
        let memory: *mut u8 = memory.cast();
        let before = memory.align_offset(SLAB_BYTES);
        let aligned = memory.add(before);
        if before > 0 {
            libc::munmap(memory.cast(), before);
        }
        let after = SLAB_BYTES - before;
        if after > 0 {
            libc::munmap(aligned.add(SLAB_BYTES).cast(), after);
        }
        let slab: *mut Slab = aligned.cast();
        (*slab).capacity = u32::try_from((SLAB_BYTES - SLAB_HEAD) / size).unwrap_or(0);
        slab
    }
}

/// # Safety
/// Under the mutex; `slab` is valid and in no list.
unsafe fn list_add(list: &mut *mut Slab, slab: *mut Slab) {
    // SAFETY: as promised.
    unsafe {
        (*slab).previous = null_mut();
        (*slab).next = *list;
        if !list.is_null() {
            (**list).previous = slab;
        }
    }
    *list = slab;
}

/// # Safety
/// Under the mutex; `slab` is in this list.
unsafe fn list_remove(list: &mut *mut Slab, slab: *mut Slab) {
    // SAFETY: as promised.
    unsafe {
        if (*slab).previous.is_null() {
            *list = (*slab).next;
        } else {
            (*(*slab).previous).next = (*slab).next;
        }
        if !(*slab).next.is_null() {
            (*(*slab).next).previous = (*slab).previous;
        }
    }
}

/// The link of a free object: a field that nobody looks at in one.
///
/// # Safety
/// `object` is one of the pool's.
unsafe fn link_of(index: usize, object: *mut u8) -> *mut *mut u8 {
    // SAFETY: as promised.
    unsafe {
        match index {
            CIRCUITS => (&raw mut (*object.cast::<Circuit>()).link).cast(),
            NODES => (&raw mut (*object.cast::<Node>()).next).cast(),
            _ => (&raw mut (*object.cast::<Pipe>()).state).cast(),
        }
    }
}

fn allocate(index: usize) -> *mut u8 {
    let mut pools = locked(&POOLS_MUTEX);
    allocate_from(&mut pools.0[index], index)
}

fn size_of_pool(index: usize) -> usize {
    match index {
        CIRCUITS => size_of::<Circuit>(),
        NODES => size_of::<Node>(),
        units => units * UNIT,
    }
}

fn allocate_from(pool: &mut Pool, index: usize) -> *mut u8 {
    // SAFETY: slabs and their free objects are the pool's, under the mutex.
    unsafe {
        let mut slab = pool.room;
        if slab.is_null() {
            slab = pool.empty;
            if slab.is_null() {
                pool.size = size_of_pool(index);
                slab = slab_map(pool.size);
                if slab.is_null() {
                    return null_mut();
                }
                pool.slabs += 1;
            } else {
                list_remove(&mut pool.empty, slab);
                EMPTY_SLABS.fetch_sub(1, Ordering::Relaxed);
            }
            list_add(&mut pool.room, slab);
            (*slab).listed = true;
        }
        let object = if (*slab).free.is_null() {
            let object = slab
                .cast::<u8>()
                .add(SLAB_HEAD + (*slab).fresh as usize * pool.size);
            (*slab).fresh += 1;
            object
        } else {
            let object = (*slab).free;
            (*slab).free = *link_of(index, object);
            object
        };
        (*slab).used += 1;
        pool.used += 1;
        if (*slab).free.is_null() && (*slab).fresh == (*slab).capacity {
            list_remove(&mut pool.room, slab);
            (*slab).listed = false;
        }
        object
    }
}

/// # Safety
/// `object` was allocated from this pool and is used no more.
unsafe fn release(index: usize, object: *mut u8) {
    let mut pools = locked(&POOLS_MUTEX);
    // SAFETY: as promised.
    unsafe { release_to(&mut pools.0[index], index, object) };
}

/// # Safety
/// As `release`.
unsafe fn release_to(pool: &mut Pool, index: usize, object: *mut u8) {
    // SAFETY: the object's slab is under the mutex.
    unsafe {
        let slab = slab_of(object);
        *link_of(index, object) = (*slab).free;
        (*slab).free = object;
        (*slab).used -= 1;
        pool.used -= 1;
        if (*slab).used == 0 {
            if (*slab).listed {
                list_remove(&mut pool.room, slab);
                (*slab).listed = false;
            }
            empty(pool, slab);
        } else if !(*slab).listed {
            list_add(&mut pool.room, slab);
            (*slab).listed = true;
        }
    }
}

/// # Safety
/// Under the mutex; nothing in `slab` is used, and it is in no list.
unsafe fn empty(pool: &mut Pool, slab: *mut Slab) {
    // SAFETY: as promised.
    unsafe {
        (*slab).free = null_mut();
        (*slab).fresh = 0;
        (*slab).used = 0;
        list_add(&mut pool.empty, slab);
    }
    EMPTY_SLABS.fetch_add(1, Ordering::Relaxed);
}

/// Slabs are aligned to their size.
#[inline]
fn slab_of(object: *mut u8) -> *mut Slab {
    object.map_addr(|it| it & !(SLAB_BYTES - 1)).cast()
}

/// The flag of a circuit's slab.
///
/// # Safety
/// The circuit can be looked at.
#[inline]
pub(crate) unsafe fn touched_of<'a>(circuit: *mut Circuit) -> &'a Touched {
    // SAFETY: as promised, so its slab is mapped.
    unsafe { &(*slab_of(circuit.cast())).touched }
}

// -- many at once

/// Circuits in a slab.
pub(crate) const CIRCUITS_OF_SLAB: usize = (SLAB_BYTES - SLAB_HEAD) / size_of::<Circuit>();

/// Slabs for `count` circuits that stand one behind the other, by the address of the first circuit in each; nothing
/// is in them yet. What is left of the last one is for others. None: out of memory.
pub(crate) fn circuits_allocate(count: usize) -> Option<Vec<*mut Circuit>> {
    let slabs = count.div_ceil(CIRCUITS_OF_SLAB);
    let mut taken: Vec<*mut Circuit> = Vec::new();
    taken.try_reserve_exact(slabs).ok()?;
    let mut left = count;
    while left > 0 {
        let used = left.min(CIRCUITS_OF_SLAB);
        let slab = whole_slab(u32::try_from(used).unwrap_or(0));
        if slab.is_null() {
            let mut pools = locked(&POOLS_MUTEX);
            let pool = &mut pools.0[CIRCUITS];
            for circuit in taken {
                let slab = slab_of(circuit.cast());
                // SAFETY: under the mutex; nobody was given a circuit of it, and none is left for others.
                unsafe {
                    pool.used -= u64::from((*slab).used);
                    empty(pool, slab);
                }
            }
            return None;
        }
        taken.push(slab.cast::<u8>().wrapping_add(SLAB_HEAD).cast());
        left -= used;
    }
    Some(taken)
}

/// An empty slab of which the first `used` circuits are taken; null: out of memory.
fn whole_slab(used: u32) -> *mut Slab {
    let mut pools = locked(&POOLS_MUTEX);
    let pool = &mut pools.0[CIRCUITS];
    let mut slab = pool.empty;
    // SAFETY: the pool's slabs are under the mutex.
    unsafe {
        if slab.is_null() {
            pool.size = size_of_pool(CIRCUITS);
            slab = slab_map(pool.size);
            if slab.is_null() {
                return slab;
            }
            pool.slabs += 1;
        } else {
            list_remove(&mut pool.empty, slab);
            EMPTY_SLABS.fetch_sub(1, Ordering::Relaxed);
        }
        (*slab).used = used;
        (*slab).fresh = used;
        pool.used += u64::from(used);
        if used < (*slab).capacity {
            list_add(&mut pool.room, slab);
            (*slab).listed = true;
        }
    }
    slab
}

/// Dead pipes whose states stand in a region, one for each of `pipes`; how many there was memory for.
pub(crate) fn pipes_allocate(pipes: &mut [*mut Pipe]) -> usize {
    let units = units_of(size_of::<*mut Region>());
    let mut pools = locked(&POOLS_MUTEX);
    for (index, place) in pipes.iter_mut().enumerate() {
        let pipe: *mut Pipe = allocate_from(&mut pools.0[units], units).cast();
        if pipe.is_null() {
            return index;
        }
        // SAFETY: the pipe is ours alone.
        unsafe { (*pipe).units = u16::try_from(units).unwrap_or(0) };
        *place = pipe;
    }
    pipes.len()
}

/// Says where the state of a pipe of `pipes_allocate` is; the reference to the region is handed over.
///
/// # Safety
/// The pipe is the caller's alone.
pub(crate) unsafe fn pipe_put_into(pipe: *mut Pipe, region: *mut Region, index: usize) {
    // SAFETY: there is room for the pointer behind the pipe.
    unsafe {
        (*pipe).state = (*region).row(index).cast();
        pipe.add(1).cast::<*mut Region>().write(region);
    }
}

/// What goes back to the slabs, many under one lock.
#[derive(Debug)]
pub(crate) struct Returns {
    objects: [(usize, *mut u8); RETURNS],
    count: usize,
}

const RETURNS: usize = 256;

impl Returns {
    pub(crate) fn new() -> Self {
        Self {
            objects: [(0, null_mut()); RETURNS],
            count: 0,
        }
    }

    #[inline]
    fn add(&mut self, index: usize, object: *mut u8) {
        if self.count == RETURNS {
            self.flush();
        }
        self.objects[self.count] = (index, object);
        self.count += 1;
    }

    /// # Safety
    /// As `circuit_free`.
    #[inline]
    pub(crate) unsafe fn circuit(&mut self, circuit: *mut Circuit) {
        // SAFETY: as promised.
        debug_assert!(unsafe { (*circuit).has_ended() });
        self.add(CIRCUITS, circuit.cast());
    }

    /// As `pipe_free` of a pipe with its state in a region, of which the caller lets go.
    ///
    /// # Safety
    /// As `pipe_free`.
    #[inline]
    pub(crate) unsafe fn pipe(&mut self, pipe: *mut Pipe) {
        // SAFETY: as promised.
        self.add(unsafe { (*pipe).units } as usize, pipe.cast());
    }

    pub(crate) fn flush(&mut self) {
        let mut pools = locked(&POOLS_MUTEX);
        for (index, object) in &self.objects[..self.count] {
            // SAFETY: they were given back.
            unsafe { release_to(&mut pools.0[*index], *index, *object) };
        }
        self.count = 0;
    }
}

// -- one by one

/// Room for a circuit; null: out of memory.
pub(crate) fn circuit_allocate() -> *mut Circuit {
    allocate(CIRCUITS).cast()
}

/// # Safety
/// Nobody uses the circuit any more.
pub(crate) unsafe fn circuit_free(circuit: *mut Circuit) {
    // SAFETY: as promised.
    unsafe {
        debug_assert!((*circuit).has_ended());
        release(CIRCUITS, circuit.cast());
    }
}

/// The pool of pipes with `inside` bytes of state behind them.
fn units_of(inside: usize) -> usize {
    (size_of::<Pipe>() + inside).div_ceil(UNIT)
}

/// A dead pipe with room for `size` bytes of state at `state`, zeroed; null: out of memory.
pub(crate) fn pipe_allocate(size: usize) -> *mut Pipe {
    let inside = if size <= INLINE_STATE { size } else { 0 };
    let units = units_of(inside);
    let pipe: *mut Pipe = allocate(units).cast();
    if pipe.is_null() {
        return pipe;
    }
    // SAFETY: the pipe is ours alone, with `inside` bytes behind it.
    unsafe {
        (*pipe).state = pipe.add(1).cast();
        (*pipe).units = u16::try_from(units).unwrap_or(0);
        if size > INLINE_STATE {
            // Its size stands in front of it, for the account.
            let memory: *mut u64 = libc::calloc(1, size_of::<u64>() + size).cast();
            if memory.is_null() {
                release(units, pipe.cast());
                return null_mut();
            }
            memory.write(size as u64);
            (*pipe).state = memory.add(1).cast();
            (*pipe).units = 0;
            account(i64::try_from(size).unwrap_or(0));
        } else {
            (*pipe).state.cast::<u8>().write_bytes(0, inside);
        }
    }
    pipe
}

/// # Safety
/// The pipe is dead, and nobody is inside its kernel.
pub(crate) unsafe fn pipe_free(pipe: *mut Pipe) {
    // SAFETY: as promised; a state of its own has its size in front.
    unsafe {
        let mut units = (*pipe).units as usize;
        let inside: *mut c_void = pipe.add(1).cast();
        if units == 0 {
            let memory = (*pipe).state.cast::<u64>().sub(1);
            account(-i64::try_from(memory.read()).unwrap_or(0));
            libc::free(memory.cast());
            units = units_of(0);
        } else if (*pipe).state != inside {
            Region::release(inside.cast::<*mut Region>().read(), 1);
        }
        release(units, pipe.cast());
    }
}

/// Counts other memory of the engine's.
pub(crate) fn account(bytes: i64) {
    OTHER_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

/// Counts memory of populations' states.
pub(crate) fn account_states(bytes: i64) {
    STATES_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

/// Counts memory taken for emissions.
pub(crate) fn account_emission(bytes: usize) {
    ALLOCATED_BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
}

// -- nodes

/// Nodes for reuse by one thread, or by whoever holds the interpreter's lock.
#[derive(Debug)]
pub struct Cache {
    nodes: *mut Node,
    count: u32,
    limit: u32,
}

impl Cache {
    /// An empty one that keeps up to `limit`.
    #[must_use]
    pub const fn new(limit: u32) -> Self {
        Self {
            nodes: null_mut(),
            count: 0,
            limit,
        }
    }
}

struct Shared {
    nodes: *mut Node,
    count: u32,
}

// SAFETY: used under the mutex alone.
unsafe impl Send for Shared {}

static SHARED: Mutex<Shared> = Mutex::new(Shared {
    nodes: null_mut(),
    count: 0,
});
static SHARED_COUNT: AtomicU32 = AtomicU32::new(0);

/// A node; null: out of memory. `cache` null: a thread that has none.
///
/// # Safety
/// `cache` is null or the caller's alone.
#[inline]
pub(crate) unsafe fn node_take(cache: *mut Cache) -> *mut Node {
    // SAFETY: as promised; cached nodes are valid.
    unsafe {
        if !cache.is_null() && !(*cache).nodes.is_null() {
            let node = (*cache).nodes;
            (*cache).nodes = (*node).next;
            (*cache).count -= 1;
            return node;
        }
        node_fetch(cache)
    }
}

/// # Safety
/// As `node_take`.
#[cold]
#[inline(never)]
unsafe fn node_fetch(cache: *mut Cache) -> *mut Node {
    // SAFETY: as promised; shared nodes are valid, and theirs is under the mutex.
    unsafe {
        if SHARED_COUNT.load(Ordering::Relaxed) > 0 {
            let mut shared = locked(&SHARED);
            let node = shared.nodes;
            if !node.is_null() {
                let mut taken = 1;
                let mut last = node;
                if !cache.is_null() {
                    while taken < NODES_BATCH && !(*last).next.is_null() {
                        last = (*last).next;
                        taken += 1;
                    }
                }
                shared.nodes = (*last).next;
                shared.count -= taken;
                SHARED_COUNT.store(shared.count, Ordering::Relaxed);
                if !cache.is_null() && node != last {
                    (*last).next = null_mut();
                    (*cache).nodes = (*node).next;
                    (*cache).count = taken - 1;
                }
                return node;
            }
        }
        let mut pools = locked(&POOLS_MUTEX);
        let pool = &mut pools.0[NODES];
        let node: *mut Node = allocate_from(pool, NODES).cast();
        let mut taken = u32::from(!node.is_null());
        if !cache.is_null() && !node.is_null() {
            while taken < NODES_BATCH {
                let more: *mut Node = allocate_from(pool, NODES).cast();
                if more.is_null() {
                    break;
                }
                (*more).next = (*cache).nodes;
                (*cache).nodes = more;
                (*cache).count += 1;
                taken += 1;
            }
        }
        account_emission(taken as usize * size_of::<Node>());
        node
    }
}

/// Gives a node back.
///
/// # Safety
/// `cache` is null or the caller's alone; `node` is the caller's.
#[inline]
pub(crate) unsafe fn node_give(cache: *mut Cache, node: *mut Node) {
    // SAFETY: as promised.
    unsafe {
        if cache.is_null() {
            (*node).next = null_mut();
            share(node, 1);
            return;
        }
        (*node).next = (*cache).nodes;
        (*cache).nodes = node;
        (*cache).count += 1;
        if (*cache).count == (*cache).limit {
            cache_halve(cache);
        }
    }
}

/// # Safety
/// As `node_give`.
#[cold]
#[inline(never)]
unsafe fn cache_halve(cache: *mut Cache) {
    // SAFETY: as promised; cached nodes are valid.
    unsafe {
        let given = (*cache).limit / 2;
        let first = (*cache).nodes;
        let mut last = first;
        for _ in 1..given {
            last = (*last).next;
        }
        (*cache).nodes = (*last).next;
        (*cache).count -= given;
        (*last).next = null_mut();
        share(first, given);
    }
}

/// Gives all of a cache back.
///
/// # Safety
/// `cache` is the caller's alone.
pub(crate) unsafe fn cache_close(cache: *mut Cache) {
    // SAFETY: as promised.
    unsafe {
        let first = (*cache).nodes;
        let count = (*cache).count;
        (*cache).nodes = null_mut();
        (*cache).count = 0;
        if count > 0 {
            share(first, count);
        }
    }
}

/// Moves `count` nodes to the shared cache, or to their slabs when that is full.
///
/// # Safety
/// The nodes are the caller's, linked by `next`.
unsafe fn share(mut first: *mut Node, mut count: u32) {
    // SAFETY: as promised; shared nodes are under the mutex.
    unsafe {
        let mut shared = locked(&SHARED);
        while count > 0 && shared.count < NODES_SHARED {
            let next = (*first).next;
            (*first).next = shared.nodes;
            shared.nodes = first;
            shared.count += 1;
            count -= 1;
            first = next;
        }
        SHARED_COUNT.store(shared.count, Ordering::Relaxed);
        drop(shared);
        if count > 0 {
            let mut pools = locked(&POOLS_MUTEX);
            while count > 0 {
                let next = (*first).next;
                release_to(&mut pools.0[NODES], NODES, first.cast());
                count -= 1;
                first = next;
            }
        }
    }
}

// -- facts

/// What the engine holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Circuits that exist.
    pub circuits: u64,
    /// Pipes with a handle that exist.
    pub pipes: u64,
    /// Mapped for circuits, pipes and their states, and held in transit buffers.
    pub engine_bytes: u64,
    /// Of the circuits, pipes and states that exist.
    pub used_bytes: u64,
    /// Ingress nodes kept for reuse by all.
    pub cached_bytes: u64,
    /// Taken from the C heap and the slabs for emissions since the start.
    pub allocated_bytes: u64,
}

/// What the engine holds now.
#[must_use]
pub fn held() -> Held {
    let pools = locked(&POOLS_MUTEX);
    let mapped: u64 = pools.0.iter().map(|it| it.slabs * SLAB_BYTES as u64).sum();
    let others = u64::try_from(OTHER_BYTES.load(Ordering::Relaxed)).unwrap_or(0);
    let states = u64::try_from(STATES_BYTES.load(Ordering::Relaxed)).unwrap_or(0);
    Held {
        circuits: pools.0[CIRCUITS].used,
        pipes: pools.0[NODES + 1..].iter().map(|it| it.used).sum(),
        engine_bytes: mapped + others + states,
        used_bytes: (0..POOLS)
            .filter(|it| *it != NODES)
            .map(|it| pools.0[it].used * pools.0[it].size as u64)
            .sum::<u64>()
            + states,
        cached_bytes: u64::from(SHARED_COUNT.load(Ordering::Relaxed)) * size_of::<Node>() as u64,
        allocated_bytes: ALLOCATED_BYTES.load(Ordering::Relaxed),
    }
}

/// Whether a trim would give something back that is worth it.
pub(crate) fn has_empty_slabs() -> bool {
    EMPTY_SLABS.load(Ordering::Relaxed) > KEPT_EMPTY
}

/// Gives empty slabs back; only while nothing runs, and no fault waits whose pipe will be looked at.
pub(crate) fn trim() {
    let mut shared = locked(&SHARED);
    let mut node = std::mem::replace(&mut shared.nodes, null_mut());
    shared.count = 0;
    SHARED_COUNT.store(0, Ordering::Relaxed);
    drop(shared);
    let mut pools = locked(&POOLS_MUTEX);
    while !node.is_null() {
        // SAFETY: the shared nodes are ours now.
        unsafe {
            let next = (*node).next;
            release_to(&mut pools.0[NODES], NODES, node.cast());
            node = next;
        }
    }
    for pool in &mut pools.0 {
        while !pool.empty.is_null() {
            let slab = pool.empty;
            // SAFETY: nothing in an empty slab is used, and as nothing runs nobody looks at a stale handle.
            unsafe {
                list_remove(&mut pool.empty, slab);
                libc::munmap(slab.cast(), SLAB_BYTES);
            }
            pool.slabs -= 1;
            EMPTY_SLABS.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
