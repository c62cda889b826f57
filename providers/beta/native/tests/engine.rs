//! The engine without Python: kernels on native workers.
#![cfg(not(loom))]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use substrates_beta::engine::circuit::{
    Admitted, Circuit, Making, admit, circuit_close, circuit_drop, circuit_new, is_pipe, pipe_drop, pipe_new,
    pipe_of, pipe_state,
};
use substrates_beta::engine::events::{Asked, Waited, barrier, faults, take_fault};
use substrates_beta::engine::kernel::{Context, Slot};
use substrates_beta::engine::{Started, start};

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
    fn new(kernel: substrates_beta::engine::kernel::Kernel) -> Self {
        engine();
        let circuit = circuit_new(0);
        assert!(!circuit.is_null());
        let making = Making {
            kernel: Some(kernel),
            object: null_mut(),
            name: 0,
            state: &[0; 16],
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

    fn count(&self) -> u64 {
        // SAFETY: after a wait nobody writes it.
        unsafe { (*self.state()).count }
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
    let fault = take_fault().unwrap();
    assert_eq!((fault.pipe, fault.code, fault.count), (made.pipe, 7, 2));
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
