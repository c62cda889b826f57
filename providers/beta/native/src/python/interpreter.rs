//! The interpreter as the engine's host: delivering to Python receptors.
//!
//! The interpreter may end a thread in any call into it, at its exit, by unwinding the thread without a panic. So
//! the functions here own nothing that would have to be dropped, and those that may run Python code are declared
//! as unwinding: then the frames have nothing to do, and are passed.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use pyo3::ffi;

use super::pipe::{Kind, PipeObject};
use crate::engine::circuit::{MEET, Pipe};
use crate::engine::kernel::Slot;
use crate::engine::memory::{Cache, NODES_OF_HOST};
use crate::engine::scheduler::this_worker;
use crate::engine::worker::{Host, Worker};

pub(crate) type Object = *mut ffi::PyObject;

const _: i32 = MEET;

unsafe extern "C-unwind" {
    fn PyObject_Vectorcall(callable: Object, arguments: *const Object, count: usize, names: Object)
    -> Object;
    fn PyEval_SaveThread() -> *mut ffi::PyThreadState;
    fn PyEval_RestoreThread(state: *mut ffi::PyThreadState);
}

/// Calls with one argument.
#[inline]
pub(crate) unsafe fn call_one(callable: Object, argument: Object) -> Object {
    // The place in front is the callee's to use.
    let arguments = [null_mut(), argument];
    // SAFETY: the thread holds the interpreter; the arguments live in this frame.
    unsafe {
        PyObject_Vectorcall(
            callable,
            arguments.as_ptr().add(1),
            1 | 1 << (usize::BITS - 1),
            null_mut(),
        )
    }
}

/// Calls without arguments.
pub(crate) unsafe fn call_none(callable: Object) -> Object {
    let arguments: [Object; 1] = [null_mut()];
    // SAFETY: as above.
    unsafe {
        PyObject_Vectorcall(
            callable,
            arguments.as_ptr().add(1),
            1 << (usize::BITS - 1),
            null_mut(),
        )
    }
}

/// Calls with two arguments.
pub(crate) unsafe fn call_two(callable: Object, first: Object, second: Object) -> Object {
    let arguments = [null_mut(), first, second];
    // SAFETY: as above.
    unsafe {
        PyObject_Vectorcall(
            callable,
            arguments.as_ptr().add(1),
            2 | 1 << (usize::BITS - 1),
            null_mut(),
        )
    }
}

/// Gives the interpreter up.
pub(crate) fn detach() -> *mut ffi::PyThreadState {
    // SAFETY: the thread holds the interpreter.
    unsafe { PyEval_SaveThread() }
}

/// Gets the interpreter back.
pub(crate) unsafe fn attach(state: *mut ffi::PyThreadState) {
    // SAFETY: what `detach` returned, once.
    unsafe { PyEval_RestoreThread(state) }
}

/// Python callables that the engine needs, given by `setup`; never released.
pub(crate) struct Callables {
    /// `Faults.report`, of a source and an exception.
    pub(crate) report: AtomicPtr<ffi::PyObject>,
    /// `Lane.admit` of the object lane, of int64 and of float64: convert, or raise what is wrong.
    pub(crate) admit: [AtomicPtr<ffi::PyObject>; 3],
    /// A Python function that does nothing.
    pub(crate) breathe: AtomicPtr<ffi::PyObject>,
    /// `Cortex.check_process`: raises in a forked child.
    pub(crate) check_process: AtomicPtr<ffi::PyObject>,
}

pub(crate) static CALLABLES: Callables = Callables {
    report: AtomicPtr::new(null_mut()),
    admit: [const { AtomicPtr::new(null_mut()) }; 3],
    breathe: AtomicPtr::new(null_mut()),
    check_process: AtomicPtr::new(null_mut()),
};

impl Callables {
    pub(crate) fn set(place: &AtomicPtr<ffi::PyObject>, callable: Object) {
        // SAFETY: the thread holds the interpreter.
        unsafe { ffi::Py_INCREF(callable) };
        place.store(callable, Ordering::Release); // the one before stays: a thread may be calling it
    }
}

/// Whether the interpreter has a lock, so that whoever holds it has the cache.
pub(crate) static LOCKED: AtomicBool = AtomicBool::new(false);

struct HostCache(std::cell::UnsafeCell<Cache>);

// SAFETY: used under the interpreter's lock alone.
unsafe impl Sync for HostCache {}

static CACHE: HostCache = HostCache(std::cell::UnsafeCell::new(Cache::new(NODES_OF_HOST)));

/// The nodes that the calling thread, which holds the interpreter, may use.
#[inline]
pub(crate) fn cache() -> *mut Cache {
    if LOCKED.load(Ordering::Relaxed) {
        CACHE.0.get()
    } else {
        cache_without_lock()
    }
}

#[cold]
fn cache_without_lock() -> *mut Cache {
    let worker = this_worker();
    if worker.is_null() {
        return null_mut();
    }
    // SAFETY: the calling thread's worker.
    unsafe { (*worker).cache() }
}

/// Takes a reference to a pipe that may be about to go; false: it is, or there is none.
pub(crate) unsafe fn take(object: Object) -> bool {
    if object.is_null() {
        return false;
    }
    // SAFETY: its memory is there, since it is looked at in its place (see `engine::object`).
    unsafe {
        #[cfg(Py_GIL_DISABLED)]
        {
            ffi::PyUnstable_TryIncRef(object) != 0
        }
        #[cfg(not(Py_GIL_DISABLED))]
        {
            if ffi::Py_REFCNT(object) == 0 {
                return false;
            }
            ffi::Py_INCREF(object);
            true
        }
    }
}

/// Reports the exception that is set, of the pipe that was receiving.
#[cold]
#[inline(never)]
pub(crate) unsafe fn report(source: Object) {
    // SAFETY: the thread holds the interpreter, and an exception is set.
    unsafe {
        let error = raised();
        if error.is_null() {
            return;
        }
        let result = call_two(CALLABLES.report.load(Ordering::Acquire), source, error);
        if result.is_null() {
            ffi::PyErr_WriteUnraisable(source);
        } else {
            ffi::Py_DECREF(result);
        }
        ffi::Py_DECREF(error);
    }
}

/// Takes the exception that is set.
#[allow(deprecated)] // the one way that 3.11 has
pub(crate) unsafe fn raised() -> Object {
    let (mut kind, mut error, mut traceback) = (null_mut(), null_mut(), null_mut());
    // SAFETY: the thread holds the interpreter; the references are ours.
    unsafe {
        ffi::PyErr_Fetch(&raw mut kind, &raw mut error, &raw mut traceback);
        if kind.is_null() {
            return null_mut();
        }
        ffi::PyErr_NormalizeException(&raw mut kind, &raw mut error, &raw mut traceback);
        if !traceback.is_null() && !error.is_null() {
            ffi::PyException_SetTraceback(error, traceback);
        }
        ffi::Py_XDECREF(kind);
        ffi::Py_XDECREF(traceback);
    }
    error
}

/// See `Host`.
#[derive(Debug)]
pub(crate) struct Interpreter;

impl Host for Interpreter {
    const HOSTED: bool = true;

    #[inline]
    unsafe fn receive(worker: *mut Worker, slot: Slot) {
        let pipe = slot.pipe as *mut PipeObject;
        let value = slot.bits as Object;
        // SAFETY: the slot owns both; the thread holds the interpreter.
        unsafe {
            (*worker).receiver = pipe.cast();
            let receptor = (*pipe).receptor;
            if !receptor.is_null() {
                let result = if value.is_null() {
                    call_none(receptor)
                } else {
                    call_one(receptor, value)
                };
                if result.is_null() {
                    report(pipe.cast());
                } else {
                    ffi::Py_DECREF(result);
                }
            }
            ffi::Py_XDECREF(value);
            (*worker).receiver = null_mut();
            ffi::Py_DECREF(pipe.cast());
        }
    }

    unsafe fn receive_scalar(worker: *mut Worker, pipe: *mut Pipe, bits: u64) {
        // SAFETY: the pipe is alive; the thread holds the interpreter.
        unsafe {
            let object: Object = (*pipe)
                .object
                .look(|it| if take(it.cast()) { it } else { null_mut() })
                .cast();
            if object.is_null() {
                return;
            }
            let value = match (*object.cast::<PipeObject>()).kind {
                Kind::ReceptorFloat64 => ffi::PyFloat_FromDouble(f64::from_bits(bits)),
                _ => ffi::PyLong_FromLongLong(i64::from_ne_bytes(bits.to_ne_bytes())),
            };
            if value.is_null() {
                (*worker).receiver = object.cast();
                report(object);
                (*worker).receiver = null_mut();
                ffi::Py_DECREF(object);
            } else {
                Self::receive(
                    worker,
                    Slot {
                        pipe: object as u64,
                        bits: value as u64,
                    },
                );
            }
        }
    }

    unsafe fn release(slot: Slot) {
        // SAFETY: the slot owns both; the thread holds the interpreter.
        unsafe {
            ffi::Py_XDECREF(slot.bits as Object);
            ffi::Py_DECREF(slot.pipe as Object);
        }
    }

    /// By running a Python function that does nothing, at whose start the interpreter hands its lock over if it was
    /// asked to. Giving the lock up and taking it back would not do: who waits for it asks only after 5 ms in which it
    /// was held without a break, and is hardly ever fast enough to get it otherwise.
    fn breathe() {
        // SAFETY: the thread holds the interpreter.
        unsafe {
            let result = call_none(CALLABLES.breathe.load(Ordering::Acquire));
            if result.is_null() {
                ffi::PyErr_Clear(); // an exception that somebody has sent to this thread
            } else {
                ffi::Py_DECREF(result);
            }
        }
    }

    fn detach() -> *mut c_void {
        detach().cast()
    }

    unsafe fn attach(detached: *mut c_void) {
        // SAFETY: as promised.
        unsafe { PyEval_RestoreThread(detached.cast()) }
    }
}
