//! The queue and the park/wake protocol under loom, which tries all orders.
#![cfg(loom)]

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;
use substrates_beta::engine::ingress::{BUSY, CLOSED, Found, IDLE, Ingress, Node};
use substrates_beta::engine::kernel::Slot;
use substrates_beta::engine::parker::{Parked, Parker};
use substrates_beta::engine::parking::{Parking, Sleeper};

fn node(bits: u64) -> *mut Node {
    Box::into_raw(Box::new(Node {
        next: null_mut(),
        slot: Slot { pipe: 1 << 48, bits },
    }))
}

/// Frees a list and returns its values.
fn values(mut list: *mut Node) -> Vec<u64> {
    let mut values = Vec::new();
    while !list.is_null() {
        // SAFETY: made by `node`, and taken by the caller.
        let taken = unsafe { Box::from_raw(list) };
        values.push(taken.slot.bits);
        list = taken.next;
    }
    values
}

/// Runs a circuit as a visit does: takes until it can rest.
fn run(ingress: &Ingress, got: &mut Vec<u64>) {
    loop {
        if ingress.seen() == BUSY && ingress.rest() {
            return;
        }
        got.extend(values(ingress.take()));
    }
}

#[test]
fn every_value_is_taken_once_and_in_the_order_of_its_emitter() {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3); // without a bound: hours
    orders.check(|| {
        let ingress = Arc::new(Ingress::new());
        let runs = Arc::new(AtomicU32::new(0)); // circuits made ready, one at a time
        let emitters: Vec<_> = [10, 20]
            .map(|first| {
                let (ingress, runs) = (Arc::clone(&ingress), Arc::clone(&runs));
                thread::spawn(move || {
                    for value in [first, first + 1] {
                        // SAFETY: the node is ours.
                        if unsafe { ingress.push(node(value)) } == Found::Idle {
                            runs.fetch_add(1, Ordering::Release);
                        }
                    }
                })
            })
            .into_iter()
            .collect();
        let mut got = Vec::new();
        let mut taken = 0;
        while runs.load(Ordering::Acquire) > taken {
            taken += 1;
            run(&ingress, &mut got);
        }
        for emitter in emitters {
            emitter.join().unwrap();
        }
        while runs.load(Ordering::Acquire) > taken {
            taken += 1;
            run(&ingress, &mut got);
        }
        assert_eq!(ingress.seen(), IDLE);
        for first in [10, 20] {
            let mine: Vec<_> = got.iter().copied().filter(|it| it / 10 == first / 10).collect();
            assert_eq!(mine, [first, first + 1]);
        }
    });
}

#[test]
fn one_emitter_alone_becomes_responsible() {
    loom::model(|| {
        let ingress = Arc::new(Ingress::new());
        let emitters = [1, 2].map(|value| {
            let ingress = Arc::clone(&ingress);
            // SAFETY: the node is ours.
            thread::spawn(move || unsafe { ingress.push(node(value)) } == Found::Idle)
        });
        let responsible = emitters
            .map(|it| it.join().unwrap())
            .iter()
            .filter(|it| **it)
            .count();
        assert_eq!(responsible, 1);
        let mut got = Vec::new();
        run(&ingress, &mut got);
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
    });
}

#[test]
fn what_comes_before_the_end_is_taken_and_what_comes_after_is_refused() {
    loom::model(|| {
        let ingress = Arc::new(Ingress::new());
        assert!(ingress.begin());
        let emitter = {
            let ingress = Arc::clone(&ingress);
            thread::spawn(move || {
                let own = node(7);
                // SAFETY: the node is ours, and again if it was refused.
                let refused = unsafe { ingress.push(own) } == Found::Closed;
                if refused {
                    assert_eq!(values(own), [7]);
                }
                refused
            })
        };
        let left = values(ingress.close());
        let refused = emitter.join().unwrap();
        assert_eq!(left.is_empty(), refused);
        assert_eq!(ingress.seen(), CLOSED);
    });
}

#[test]
fn a_permit_is_never_lost() {
    loom::model(|| {
        let parker = Arc::new(Parker::new());
        let said = Arc::new(AtomicBool::new(false));
        let other = {
            let (parker, said) = (Arc::clone(&parker), Arc::clone(&said));
            thread::spawn(move || {
                said.store(true, Ordering::Relaxed);
                parker.unpark();
            })
        };
        assert_eq!(parker.park(None), Parked::Woken);
        assert!(said.load(Ordering::Relaxed)); // what was written before is visible
        other.join().unwrap();
    });
}

/// One worker that parks and one thread that pushes, as in `parking`.
struct Workshop {
    parking: Parking,
    waits: AtomicU32, // the queue's size
    sleeper: std::cell::UnsafeCell<Sleeper>,
}

// SAFETY: the sleeper is used as `Parking` asks.
unsafe impl Sync for Workshop {}
// SAFETY: as above.
unsafe impl Send for Workshop {}

impl Workshop {
    fn new() -> Self {
        Self {
            parking: Parking::new(),
            waits: AtomicU32::new(0),
            sleeper: std::cell::UnsafeCell::new(Sleeper::new()),
        }
    }

    fn push(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        loom::sync::atomic::fence(Ordering::SeqCst);
        if self.parking.parked.load(Ordering::Relaxed) > 0
            && self.parking.searching.load(Ordering::Relaxed) == 0
        {
            self.parking.wake(|| {});
        }
    }

    /// Parks once; returns when there is work.
    fn park(&self) {
        let sleeper = self.sleeper.get();
        // SAFETY: this worker's sleeper, which lives as long as the workshop.
        unsafe {
            self.parking.search_end(sleeper);
            self.parking.enter(sleeper);
            if self.waits.load(Ordering::Relaxed) > 0 && self.parking.leave(sleeper) {
                return;
            }
            assert_eq!((*sleeper).parker.park(None), Parked::Woken);
        }
    }
}

#[test]
fn a_worker_that_parks_sees_what_is_pushed_or_is_woken() {
    loom::model(|| {
        let workshop = Arc::new(Workshop::new());
        let pusher = {
            let workshop = Arc::clone(&workshop);
            thread::spawn(move || workshop.push())
        };
        while workshop.waits.load(Ordering::Relaxed) == 0 {
            workshop.park(); // a wake-up that is lost leaves this here for ever, which loom reports
        }
        pusher.join().unwrap();
    });
}

#[test]
fn a_worker_that_searches_sees_what_is_pushed_meanwhile() {
    loom::model(|| {
        let workshop = Arc::new(Workshop::new());
        // SAFETY: this worker's.
        unsafe { workshop.parking.search_begin(workshop.sleeper.get()) };
        let pusher = {
            let workshop = Arc::clone(&workshop);
            thread::spawn(move || workshop.push())
        };
        if workshop.waits.load(Ordering::Relaxed) == 0 {
            workshop.park();
        }
        assert!(workshop.waits.load(Ordering::Relaxed) > 0);
        pusher.join().unwrap();
    });
}

#[test]
fn a_worker_leaves_or_is_taken_and_never_both() {
    loom::model(|| {
        let workshop = Arc::new(Workshop::new());
        let sleeper = workshop.sleeper.get();
        // SAFETY: this worker's.
        unsafe { workshop.parking.enter(sleeper) };
        let waker = {
            let workshop = Arc::clone(&workshop);
            thread::spawn(move || workshop.parking.wake(|| {}))
        };
        // SAFETY: this worker's.
        let left = unsafe { workshop.parking.leave(sleeper) };
        if !left {
            // SAFETY: this worker's.
            assert_eq!(unsafe { (*sleeper).parker.park(None) }, Parked::Woken);
        }
        assert_ne!(waker.join().unwrap(), left);
        assert_eq!(workshop.parking.parked.load(Ordering::Relaxed), 0);
    });
}
