//! The engine without Python: kernels on native workers.
#![cfg(not(loom))]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use substrates_beta::engine::circuit::{
    Admitted, Circuit, Making, admit, circuit_close, circuit_drop, circuit_new, is_pipe, pipe_drop, pipe_new,
    pipe_of, pipe_state,
};
use substrates_beta::engine::events::{Asked, Waited, barrier, faults, take_fault};
use substrates_beta::engine::kernel::{Context, Kernel, Slot};
use substrates_beta::engine::{Started, facts, start};

const PATIENCE: Duration = Duration::from_secs(20);

fn engine() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| assert_eq!(start(2), Started::Yes));
}

#[repr(C)]
struct Relay {
    count: u64,
    onward: u64,
}

unsafe fn emit(context: *mut Context, pipe: u64, bits: u64) -> i32 {
    // SAFETY: called in a kernel with its context.
    unsafe {
        if (*context).tail == (*context).limit {
            let fault = ((*context).grow)(context);
            if fault != 0 {
                return fault;
            }
        }
        (*(*context).tail).pipe = pipe;
        (*(*context).tail).bits = bits;
        (*context).tail = (*context).tail.add(1);
    }
    0
}

/// Counts, and passes on a number that is not 0 less one.
unsafe extern "C" fn relay(context: *mut Context, state: *mut c_void, bits: u64) -> i32 {
    let state: *mut Relay = state.cast();
    // SAFETY: the state is a `Relay`.
    unsafe {
        (*state).count += 1;
        if bits > 0 {
            emit(context, (*state).onward, bits - 1)
        } else {
            0
        }
    }
}

/// Emits `bits` zeros.
unsafe extern "C" fn fill(context: *mut Context, state: *mut c_void, bits: u64) -> i32 {
    let state: *mut Relay = state.cast();
    for _ in 0..bits {
        // SAFETY: the state is a `Relay`.
        let fault = unsafe { emit(context, (*state).onward, 0) };
        assert_eq!(fault, 0);
    }
    0
}

unsafe extern "C" fn fails(_context: *mut Context, _state: *mut c_void, bits: u64) -> i32 {
    i32::try_from(bits).unwrap_or(i32::MAX)
}

unsafe extern "C" fn blocks(_context: *mut Context, _state: *mut c_void, _bits: u64) -> i32 {
    std::thread::sleep(Duration::from_millis(300));
    0
}

struct Made {
    circuit: *mut Circuit,
    pipe: u64,
}

impl Made {
    fn new(kernel: Kernel) -> Self {
        Self::with_cells(kernel, 2)
    }

    /// A pipe with `cells` of state, the second of which is the pipe's own handle.
    fn with_cells(kernel: Kernel, cells: usize) -> Self {
        engine();
        let circuit = circuit_new(0);
        assert!(!circuit.is_null());
        let making = Making {
            kernel: Some(kernel),
            object: null_mut(),
            name: 0,
            state: &vec![0; cells * 8],
            own: 0b10,
        };
        // SAFETY: the circuit is referenced.
        let pipe = unsafe { pipe_new(circuit, &making) };
        assert_ne!(pipe, 0);
        Self { circuit, pipe }
    }

    fn emit(&self, bits: u64) -> Admitted {
        // SAFETY: the circuit is referenced; this thread has no worker and no cache.
        unsafe {
            admit(
                null_mut(),
                null_mut(),
                self.circuit,
                Slot {
                    pipe: self.pipe,
                    bits,
                },
            )
        }
    }

    fn wait(&self) {
        let began = Instant::now();
        // SAFETY: the circuit is referenced.
        match unsafe { barrier(null_mut(), self.circuit, false) } {
            Asked::Waits(on_its_way) => {
                while on_its_way.wait(Duration::from_millis(50)) != Waited::Done {
                    assert!(began.elapsed() < PATIENCE, "the barrier's turn does not come");
                }
            }
            Asked::Nothing => {}
            Asked::Memory => panic!("out of memory"),
        }
    }

    fn state(&self) -> *mut Relay {
        // SAFETY: the pipe is alive.
        unsafe { pipe_state(self.pipe).cast() }
    }

    /// What it has counted: all, after a wait, and else so far.
    fn count(&self) -> u64 {
        // SAFETY: the state is alive, and one aligned word.
        unsafe { (&raw const (*self.state()).count).read_volatile() }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: nobody else drops them.
        unsafe {
            pipe_drop(null_mut(), self.pipe);
            circuit_drop(null_mut(), self.circuit);
        }
    }
}

#[test]
fn a_kernel_feeds_itself() {
    let made = Made::new(relay);
    assert_eq!(made.emit(1_000_000), Admitted::Yes);
    made.wait();
    assert_eq!(made.count(), 1_000_001);
}

#[test]
fn a_token_travels_around_a_ring() {
    let ring: Vec<_> = (0..50).map(|_| Made::new(relay)).collect();
    for (at, made) in ring.iter().enumerate() {
        // SAFETY: nothing runs yet.
        unsafe { (*made.state()).onward = ring[(at + 1) % ring.len()].pipe };
    }
    ring[0].emit(100_000);
    let began = Instant::now();
    while ring.iter().map(Made::count).sum::<u64>() < 100_001 {
        assert!(began.elapsed() < PATIENCE, "the token is lost");
        ring.iter().for_each(Made::wait);
    }
    for (at, made) in ring.iter().enumerate() {
        assert_eq!(made.count(), if at == 0 { 2001 } else { 2000 }, "circuit {at}");
    }
}

#[repr(C)]
struct Post {
    count: u64,
    onward: u64,
    sent: u64,
    wrong: u64,
    last: [u64; 4],
}

const TOKEN: u64 = 3;
const POST: usize = size_of::<Post>() / 8;

fn letter(producer: u64, sequence: u64) -> u64 {
    producer << 32 | sequence
}

/// A letter is `producer << 32 | sequence`; each producer's must come in order. Those of producer 3 are a token that
/// counts down: for it this emits onward one letter of producer 0 before it, or none, and the token.
unsafe extern "C" fn post(context: *mut Context, state: *mut c_void, bits: u64) -> i32 {
    let state: *mut Post = state.cast();
    let (producer, sequence) = ((bits >> 32) as usize, bits & 0xffff_ffff);
    // SAFETY: the state is a `Post`.
    unsafe {
        (*state).count += 1;
        if producer as u64 != TOKEN {
            (*state).wrong += u64::from(sequence != (*state).last[producer] + 1);
            (*state).last[producer] = sequence;
            return 0;
        }
        (*state).last[producer] = sequence;
        if sequence == 0 {
            return 0;
        }
        if sequence % 3 == 0 {
            (*state).sent += 1;
            emit(context, (*state).onward, letter(0, (*state).sent));
        }
        emit(context, (*state).onward, letter(TOKEN, sequence - 1))
    }
}

#[test]
fn a_token_travels_while_others_emit_to_its_circuits() {
    const HOPS: u64 = 300_000;
    const LETTERS: u64 = 50_000;
    let ring: Vec<_> = (0..3).map(|_| Made::with_cells(post, POST)).collect();
    let post_of = |at: usize| ring[at % 3].state().cast::<Post>();
    for at in 0..3 {
        // SAFETY: nothing runs yet.
        unsafe { (*post_of(at)).onward = ring[(at + 1) % 3].pipe };
    }
    ring[0].emit(letter(TOKEN, HOPS));
    std::thread::scope(|scope| {
        for producer in 1..TOKEN {
            let pipes: Vec<_> = ring.iter().map(|it| (it.circuit as usize, it.pipe)).collect();
            scope.spawn(move || {
                for sequence in 1..=LETTERS {
                    for (circuit, pipe) in &pipes {
                        let slot = Slot {
                            pipe: *pipe,
                            bits: letter(producer, sequence),
                        };
                        // SAFETY: the circuit is referenced by `ring`.
                        let admitted =
                            unsafe { admit(null_mut(), null_mut(), *circuit as *mut Circuit, slot) };
                        assert_eq!(admitted, Admitted::Yes);
                    }
                }
            });
        }
    });
    let began = Instant::now();
    let expected = HOPS + 1 + HOPS / 3 + 3 * (TOKEN - 1) * LETTERS;
    while ring.iter().map(Made::count).sum::<u64>() < expected {
        assert!(began.elapsed() < PATIENCE, "something is lost");
        ring.iter().for_each(Made::wait);
    }
    for at in 0..3 {
        // SAFETY: all is done.
        let (to, from) = unsafe { (&*post_of(at), &*post_of(at + 2)) };
        assert_eq!(to.wrong, 0);
        assert_eq!(to.last[..3], [from.sent, LETTERS, LETTERS]);
    }
}

#[test]
fn a_token_ends_at_a_circuit_that_is_closed() {
    for round in 0..200 {
        let (from, to) = (Made::new(relay), Made::new(relay));
        // SAFETY: nothing runs yet.
        unsafe {
            (*from.state()).onward = to.pipe;
            (*to.state()).onward = from.pipe;
        }
        from.emit(u64::MAX);
        if round % 2 == 0 {
            while to.count() == 0 {
                std::hint::spin_loop();
            }
        }
        // SAFETY: the circuit is referenced.
        unsafe { circuit_close(null_mut(), to.circuit) };
        to.wait();
        from.wait();
        let counts = (from.count(), to.count());
        assert_eq!(counts.0, counts.1 + 1, "round {round}");
        from.wait();
        assert_eq!((from.count(), to.count()), counts, "round {round}");
    }
}

static HOPS: AtomicU64 = AtomicU64::new(0);

/// As `relay`, and counts what all of its kind have received.
unsafe extern "C" fn hops(context: *mut Context, state: *mut c_void, bits: u64) -> i32 {
    HOPS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: as promised.
    unsafe { relay(context, state, bits) }
}

static LOOKED: AtomicU64 = AtomicU64::new(0);

/// Notes how many hops there have been.
unsafe extern "C" fn looks(_context: *mut Context, _state: *mut c_void, _bits: u64) -> i32 {
    LOOKED.store(HOPS.load(Ordering::Relaxed), Ordering::Relaxed);
    0
}

#[test]
fn a_circuit_gets_its_turn_while_tokens_travel_for_ever() {
    // More than there are workers, those included that blocking kernels of other tests cause.
    let rings: Vec<Vec<_>> = (0..48)
        .map(|_| (0..2).map(|_| Made::new(hops)).collect())
        .collect();
    for ring in &rings {
        // SAFETY: nothing runs yet.
        unsafe {
            (*ring[0].state()).onward = ring[1].pipe;
            (*ring[1].state()).onward = ring[0].pipe;
        }
        ring[0].emit(u64::MAX);
    }
    let made = Made::new(looks);
    let turn = || {
        let before = HOPS.load(Ordering::Relaxed);
        made.emit(0);
        made.wait();
        LOOKED.load(Ordering::Relaxed) - before
    };
    let turns: Vec<_> = (0..20).map(|_| turn()).collect();
    for ring in &rings {
        // SAFETY: the circuit is referenced.
        unsafe { circuit_close(null_mut(), ring[0].circuit) };
        ring.iter().for_each(Made::wait);
    }
    // By time slices alone it would be ten million.
    assert!(
        turns.iter().sum::<u64>() < 1_000_000,
        "hops until its turn: {turns:?}"
    );
}

static FEEDING: AtomicBool = AtomicBool::new(true);

/// Feeds itself until it is told to stop.
unsafe extern "C" fn feeds(context: *mut Context, state: *mut c_void, bits: u64) -> i32 {
    let state: *mut Relay = state.cast();
    if FEEDING.load(Ordering::Relaxed) {
        // SAFETY: the state is a `Relay`.
        unsafe { emit(context, (*state).onward, bits) }
    } else {
        0
    }
}

#[test]
fn a_circuit_gets_its_turn_while_those_that_a_token_has_led_to_feed_themselves() {
    let pairs: Vec<_> = (0..24).map(|_| (Made::new(relay), Made::new(feeds))).collect();
    for (from, to) in &pairs {
        // SAFETY: nothing runs yet.
        unsafe { (*from.state()).onward = to.pipe };
        from.emit(1);
    }
    let made = Made::new(relay);
    for turn in 1..=5 {
        made.emit(0);
        made.wait();
        assert_eq!(made.count(), turn);
    }
    FEEDING.store(false, Ordering::Relaxed);
    pairs.iter().for_each(|(_, to)| to.wait());
}

#[test]
fn a_hand_over_is_a_visit() {
    let (before, made) = (facts().2, [Made::new(relay), Made::new(relay)]);
    // SAFETY: nothing runs yet.
    unsafe {
        (*made[0].state()).onward = made[1].pipe;
        (*made[1].state()).onward = made[0].pipe;
    }
    made[0].emit(9_999);
    let began = Instant::now(); // without a wait, which would have its part in a visit
    while made.iter().map(Made::count).sum::<u64>() < 10_000 {
        assert!(began.elapsed() < PATIENCE, "the token is lost");
    }
    assert!(facts().2 - before >= 10_000);
}

#[test]
fn a_kernel_emits_more_than_the_window_has_room_for() {
    let (from, to) = (Made::new(fill), Made::new(relay));
    // SAFETY: nothing runs yet.
    unsafe { (*from.state()).onward = to.pipe };
    from.emit(100_000);
    from.wait();
    to.wait();
    assert_eq!(to.count(), 100_000);
}

#[test]
fn many_threads_emit_to_one_circuit() {
    let made = Made::new(relay);
    let shared = (made.circuit as usize, made.pipe);
    let total = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let (circuit, pipe) = (shared.0 as *mut Circuit, shared.1);
                    // SAFETY: the circuit is referenced by `made`.
                    let admitted = unsafe { admit(null_mut(), null_mut(), circuit, Slot { pipe, bits: 0 }) };
                    assert_eq!(admitted, Admitted::Yes);
                    total.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    made.wait();
    assert_eq!(made.count(), total.load(Ordering::Relaxed));
}

#[test]
fn what_comes_after_the_close_is_dropped() {
    let made = Made::new(relay);
    made.emit(1000);
    // SAFETY: the circuit is referenced.
    unsafe { circuit_close(null_mut(), made.circuit) };
    assert_eq!(made.emit(0), Admitted::Dropped);
    made.wait();
    assert_eq!(made.count(), 1001);
}

#[test]
fn a_pipe_that_is_dropped_gets_what_was_accepted_before() {
    let (from, to) = (Made::new(fill), Made::new(relay));
    // SAFETY: nothing runs yet.
    unsafe { (*from.state()).onward = to.pipe };
    from.emit(1000);
    // SAFETY: dropped once: `from` is forgotten.
    unsafe { pipe_drop(null_mut(), from.pipe) };
    from.wait();
    to.wait();
    assert_eq!(to.count(), 1000);
    // SAFETY: the handle was one once.
    assert!(!unsafe { is_pipe(pipe_of(from.pipe), from.pipe) });
    // SAFETY: nobody else drops it.
    unsafe { circuit_drop(null_mut(), from.circuit) };
    std::mem::forget(from);
}

#[test]
fn a_fault_code_is_reported_and_the_circuit_goes_on() {
    let before = faults();
    let made = Made::new(fails);
    made.emit(7);
    made.emit(0);
    made.emit(7);
    made.wait();
    assert_eq!(faults() - before, 2);
    let fault = take_fault(|_| ()).unwrap();
    assert_eq!((fault.pipe, fault.code, fault.count), (made.pipe, 7, 2));
    // As one of the pipe that a token has led to, and not of the one that it comes from.
    let from = Made::new(relay);
    // SAFETY: nothing runs yet.
    unsafe { (*from.state()).onward = made.pipe };
    from.emit(6);
    let began = Instant::now(); // without a wait, for which `from` would have to go on
    let fault = loop {
        if let Some(fault) = take_fault(|_| ()) {
            break fault;
        }
        assert!(began.elapsed() < PATIENCE, "there is no fault");
    };
    assert_eq!((fault.pipe, fault.code, fault.count), (made.pipe, 5, 1));
    assert_eq!(faults() - before, 3);
}

#[test]
fn circuits_go_on_while_others_block() {
    let blocked: Vec<_> = (0..8).map(|_| Made::new(blocks)).collect();
    for made in &blocked {
        made.emit(0);
    }
    let made = Made::new(relay);
    let began = Instant::now();
    made.emit(10);
    made.wait();
    assert!(
        began.elapsed() < Duration::from_millis(280),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(made.count(), 11);
    blocked.iter().for_each(Made::wait);
}
