//! Populations in the engine without Python: kernels on native workers.
#![cfg(not(loom))]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use substrates_beta::engine::circuit::{Admitted, Making};
use substrates_beta::engine::events::{Asked, Waited, take_released};
use substrates_beta::engine::kernel::{Context, Kernel};
use substrates_beta::engine::population::{Chosen, Pipes, Population, Values};
use substrates_beta::engine::{Started, facts, start};

const PATIENCE: Duration = Duration::from_secs(30);

/// One test at a time: they look at what the engine holds.
fn engine() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(start(2), Started::Yes);
    one
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Relay {
    count: u64,
    own: u64,
    onward: u64,
}

/// Counts, and passes on, if there is somebody to pass to.
unsafe extern "C" fn relay(context: *mut Context, state: *mut c_void, bits: u64) -> i32 {
    let state: *mut Relay = state.cast();
    // SAFETY: the state is a `Relay`; called with its context.
    unsafe {
        (*state).count += 1;
        if (*state).onward != 0 {
            if (*context).tail == (*context).limit {
                let fault = ((*context).grow)(context);
                if fault != 0 {
                    return fault;
                }
            }
            (*(*context).tail).pipe = (*state).onward;
            (*(*context).tail).bits = bits;
            (*context).tail = (*context).tail.add(1);
        }
    }
    0
}

unsafe extern "C" fn slow(_context: *mut Context, state: *mut c_void, _bits: u64) -> i32 {
    std::thread::sleep(Duration::from_millis(100));
    // SAFETY: the state is a `Relay`.
    unsafe { (*state.cast::<Relay>()).count += 1 };
    0
}

fn made(population: &Population, kernel: Kernel) -> Pipes {
    let making = Making {
        kernel: Some(kernel),
        object: null_mut(),
        name: 0,
        state: &[0; size_of::<Relay>()],
        own: 0,
    };
    Pipes::new(population, &making, &[1]).expect("there is memory")
}

fn of(count: usize) -> Box<Population> {
    Population::new(count, 0).expect("there is memory")
}

fn row(pipes: &Pipes, index: usize) -> *mut Relay {
    // SAFETY: the region is there as long as the pipes are.
    unsafe { (*pipes.region()).row(index).cast() }
}

fn counts(pipes: &Pipes, population: &Population) -> Vec<u64> {
    let rows = 0..population.count();
    // SAFETY: after a wait nobody writes them.
    rows.map(|index| unsafe { (*row(pipes, index)).count }).collect()
}

fn emit(pipes: &Pipes, population: &Population, chosen: Chosen<'_>, values: Values<'_>) -> usize {
    // SAFETY: this thread has no worker; the tests' indices are of members.
    unsafe { pipes.emit(population, null_mut(), chosen, values) }
}

fn wait(population: &Population) {
    let began = Instant::now();
    match population.barrier() {
        Asked::Waits(on_its_way) => {
            while on_its_way.wait(Duration::from_millis(50)) != Waited::Done {
                assert!(began.elapsed() < PATIENCE, "the barrier's turn does not come");
            }
        }
        Asked::Nothing => {}
        Asked::Memory => panic!("out of memory"),
    }
}

fn until(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < PATIENCE, "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn members_stand_where_their_index_says() {
    let _one = engine();
    for count in [0, 1, 4095, 4096, 10_000] {
        let population = of(count);
        let other = of(10);
        let pipes = made(&population, relay);
        let others = made(&other, relay);
        for index in 0..count {
            let handle = pipes.handle(index);
            assert_eq!(pipes.place(handle), Some(index));
            // SAFETY: nobody writes it.
            assert_eq!(unsafe { (*row(&pipes, index)).own }, handle);
        }
        let gone = others.handle(3);
        others.drop_of(&other);
        for handle in [0, 1, u64::MAX, gone] {
            assert_eq!(pipes.place(handle), None);
        }
        pipes.drop_of(&population);
    }
}

#[test]
fn a_value_for_each_and_for_some() {
    let _one = engine();
    let population = of(9000);
    let pipes = made(&population, relay);
    let values: Vec<u64> = (0..9000).collect();
    assert_eq!(
        emit(&pipes, &population, Chosen::All, Values::Each(&values)),
        9000
    );
    assert_eq!(
        emit(&pipes, &population, Chosen::These(&[7, 7, 8999]), Values::One(1)),
        3
    );
    wait(&population);
    let mut expected = vec![1; 9000];
    expected[7] = 3;
    expected[8999] = 2;
    assert_eq!(counts(&pipes, &population), expected);
    pipes.drop_of(&population);
}

#[test]
fn waits_of_many_threads_return_when_their_own_is_done() {
    let _one = engine();
    let population = of(100);
    std::thread::scope(|scope| {
        for seed in 0..4_usize {
            let population = &population;
            scope.spawn(move || {
                let pipes = made(population, relay);
                let mut expected = vec![0; 100];
                for turn in 0..5000_usize {
                    let member = (turn * 31 + seed * 17) % 100;
                    let chosen = [i64::try_from(member).unwrap()];
                    emit(&pipes, population, Chosen::These(&chosen), Values::One(1));
                    expected[member] += 1;
                    wait(population);
                    // SAFETY: nobody else emits to these pipes, and all is done.
                    let count = unsafe { (*row(&pipes, member)).count };
                    assert_eq!(count, expected[member], "turn {turn}");
                }
                assert_eq!(counts(&pipes, population), expected);
                pipes.drop_of(population);
            });
        }
    });
}

#[test]
fn one_waiter_waits_for_all_that_are_busy() {
    let _one = engine();
    let population = of(10);
    let pipes = made(&population, slow);
    emit(&pipes, &population, Chosen::These(&[2, 5, 9]), Values::One(1));
    let Asked::Waits(barrier) = population.barrier() else {
        panic!("three members are busy");
    };
    assert_eq!(barrier.wait(Duration::from_millis(1)), Waited::NotYet);
    drop(barrier); // a waiter that has gone is no matter
    wait(&population);
    assert_eq!(counts(&pipes, &population).iter().sum::<u64>(), 3);
    assert!(matches!(population.barrier(), Asked::Nothing), "it is idle");
    pipes.drop_of(&population);
}

#[test]
fn an_object_is_kept_until_all_is_done() {
    let _one = engine();
    let population = of(10);
    let pipes = made(&population, slow);
    let object = 0x1000 as *mut c_void;
    assert!(!population.keep(object), "nothing is on its way");
    emit(&pipes, &population, Chosen::These(&[2, 5]), Values::One(1));
    assert!(population.keep(object));
    assert!(take_released().is_empty());
    let mut released = Vec::new();
    let began = Instant::now();
    while released.is_empty() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
        released = take_released();
    }
    assert_eq!(counts(&pipes, &population).iter().sum::<u64>(), 2);
    assert_eq!(released.len(), 1);
    assert_eq!(released[0].pipe, object as u64);
    pipes.drop_of(&population);
}

#[test]
fn closed_members_drop() {
    let _one = engine();
    let population = of(5000);
    let pipes = made(&population, relay);
    emit(&pipes, &population, Chosen::All, Values::One(1));
    assert_eq!(population.close(), Admitted::Yes);
    assert_eq!(emit(&pipes, &population, Chosen::All, Values::One(1)), 5000);
    wait(&population);
    assert_eq!(counts(&pipes, &population), vec![1; 5000]);
    // SAFETY: members are referenced.
    assert!((0..5000).all(|index| unsafe { (*population.circuit(index)).has_ended() }));
    pipes.drop_of(&population);
}

#[test]
fn what_was_accepted_is_delivered_after_the_drop_and_memory_is_given_back() {
    let _one = engine();
    let target = of(1);
    let counter = made(&target, relay);
    let held = || {
        let (held, _, _) = facts();
        (held.circuits, held.pipes, held.used_bytes)
    };
    let before = held();
    for cycle in 1..=3 {
        let population = of(20_000);
        let pipes = made(&population, relay);
        for index in 0..20_000 {
            // SAFETY: nothing runs yet.
            unsafe { (*row(&pipes, index)).onward = counter.handle(0) };
        }
        let (circuits, _, bytes) = held();
        assert_eq!(circuits, before.0 + 20_000);
        assert_eq!(bytes, before.2 + 20_000 * (64 + 64 + 24 + 8));
        for _ in 0..5 {
            emit(&pipes, &population, Chosen::All, Values::One(1));
        }
        pipes.drop_of(&population);
        drop(population);
        until(|| held() == before);
        wait(&target);
        assert_eq!(counts(&counter, &target), [cycle * 100_000]);
    }
    counter.drop_of(&target);
}
