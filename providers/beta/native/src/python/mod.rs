//! What Python sees of the engine: the module `substrates_beta._engine`.

mod circuit;
mod interpreter;
mod pipe;
mod population;
mod types;

/// The native part of `substrates_beta`.
#[pyo3::pymodule(gil_used = false)]
pub(crate) mod _engine {
    use std::collections::HashMap;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use pyo3::exceptions::PyMemoryError;
    use pyo3::ffi;
    use pyo3::prelude::*;

    use super::interpreter::{CALLABLES, Callables, Interpreter, LOCKED, cache, take};
    use super::pipe::{PIPES, PipeObject, discard, fan_out};
    use super::population::MEMBERS;
    use super::types::{end_of_methods, function, method};
    use super::{circuit, interpreter, pipe, population};
    use crate::engine::worker::{Host, Work};
    use crate::engine::{self, Started, events, kernel, scheduler};

    /// Sizes, offsets and constants of the kernel ABI, each under its name in the C header.
    #[pyfunction]
    fn layout() -> HashMap<&'static str, usize> {
        kernel::layout().into_iter().collect()
    }

    /// Give the engine what it calls; before anything else.
    #[pyfunction]
    fn setup(
        report: Py<PyAny>,
        admit: [Py<PyAny>; 3],
        check_process: Py<PyAny>,
        breathe: Py<PyAny>,
        locked: bool,
    ) {
        Callables::set(&CALLABLES.report, report.as_ptr());
        for (place, callable) in CALLABLES.admit.iter().zip(&admit) {
            Callables::set(place, callable.as_ptr());
        }
        Callables::set(&CALLABLES.check_process, check_process.as_ptr());
        Callables::set(&CALLABLES.breathe, breathe.as_ptr());
        LOCKED.store(locked, Ordering::Relaxed);
    }

    /// Start the native workers unless they run; `cores`: how many. False: this process is a forked child.
    #[pyfunction]
    fn start(cores: usize) -> PyResult<bool> {
        match engine::start(cores) {
            Started::Yes => Ok(true),
            Started::Forked => Ok(false),
            Started::Memory => Err(PyMemoryError::new_err(
                "provider 'beta': no thread can be started",
            )),
        }
    }

    /// Say how many threads may run in `work` at a time; one more is to call it. `most`: so many at most.
    #[pyfunction]
    fn start_hosted(limit: usize, most: usize) {
        engine::start_hosted(limit, most);
    }

    /// End the threads, waiting so many milliseconds at most for receptors that run.
    #[pyfunction]
    fn stop(py: Python<'_>, patience_ms: u64) {
        py.detach(|| engine::stop(Duration::from_millis(patience_ms)));
    }

    /// What the engine holds; of circuits, the members of populations.
    #[pyfunction]
    fn facts() -> HashMap<&'static str, u64> {
        let (held, workers, visits) = engine::facts();
        HashMap::from([
            (
                "circuits",
                u64::try_from(MEMBERS.load(Ordering::Relaxed)).unwrap_or(0),
            ),
            ("pipes", u64::try_from(PIPES.load(Ordering::Relaxed)).unwrap_or(0)),
            ("workers", u64::from(workers)),
            ("engine_bytes", held.engine_bytes),
            ("engine_used_bytes", held.used_bytes),
            ("engine_cached_bytes", held.cached_bytes),
            ("allocated_bytes", held.allocated_bytes),
            ("visits", visits),
        ])
    }

    /// Wait until there are events; one thread at a time. False: the engine stops.
    #[pyfunction]
    fn events_wait(py: Python<'_>) -> bool {
        py.detach(events::wait)
    }

    /// Let go of what native workers could not.
    #[pyfunction]
    fn release_events() {
        for slot in events::take_released() {
            // SAFETY: the slots are nobody else's, and the thread holds the interpreter.
            unsafe { Interpreter::release(slot) };
        }
    }

    /// Whether, for the first time, all threads in `work` block and circuits wait.
    #[pyfunction]
    fn take_exhausted() -> bool {
        events::take_exhausted()
    }

    /// Whether a thread that `work` has asked for has not come, so that it is to be tried again.
    #[pyfunction]
    fn take_wanted() -> bool {
        events::take_wanted()
    }

    /// Whether events may wait.
    #[pyfunction]
    fn any_events() -> bool {
        events::any()
    }

    /// The oldest fault: pipe, or None if it is gone; kernel's address; number of the circuit's name and of the
    /// pipe's; code; how many alike. None if there is none.
    #[pyfunction]
    #[allow(clippy::type_complexity)]
    fn take_fault(py: Python<'_>) -> Option<(Option<Py<PyAny>>, u64, u32, u32, i32, u64)> {
        let mut object = std::ptr::null_mut();
        let fault = events::take_fault(|it| {
            // SAFETY: the thread holds the interpreter.
            if unsafe { take(it.cast()) } {
                object = it.cast();
            }
        })?;
        // SAFETY: the reference is ours, if there is one.
        let pipe = unsafe { Bound::from_owned_ptr_or_opt(py, object) }.map(Bound::unbind);
        Some((
            pipe,
            fault.kernel,
            fault.circuit_name,
            fault.pipe_name,
            fault.code,
            fault.count,
        ))
    }

    /// The circuit that the calling thread runs, or None.
    #[pyfunction]
    fn running(py: Python<'_>) -> Option<Py<PyAny>> {
        let worker = scheduler::this_worker();
        if worker.is_null() {
            return None;
        }
        // SAFETY: the calling thread's worker; what receives is alive.
        unsafe {
            let receiver: *mut PipeObject = (*worker).receiver.cast();
            if receiver.is_null() {
                None
            } else {
                Bound::from_borrowed_ptr_or_opt(py, (*receiver).circuit()).map(Bound::unbind)
            }
        }
    }

    /// The addresses of the engine's own kernels: one ignores, one emits to the handles in its state.
    #[pyfunction]
    fn kernels() -> (usize, usize) {
        (discard as *const () as usize, fan_out as *const () as usize)
    }

    unsafe extern "C-unwind" fn work(
        _module: interpreter::Object,
        _unused: interpreter::Object,
    ) -> interpreter::Object {
        // SAFETY: called by the interpreter.
        unsafe {
            let result = scheduler::work_hosted::<Interpreter>(if LOCKED.load(Ordering::Relaxed) {
                cache()
            } else {
                std::ptr::null_mut()
            });
            let result = if result == Work::Spare {
                ffi::Py_True()
            } else {
                ffi::Py_False()
            };
            ffi::Py_INCREF(result);
            result
        }
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        let methods = Box::leak(Box::new([
            function(c"receptor_pipe", pipe::receptor_pipe, c"Make a pipe to a Python callable."),
            function(c"kernel_pipe", pipe::kernel_pipe, c"Make a pipe to a kernel."),
            function(c"member_pipe", pipe::member_pipe, c"Make an object for a member's pipe."),
            function(c"population", population::population, c"Make circuits with a name of this number."),
            method(c"circuit", circuit::circuit, ffi::METH_O, c"Make a circuit with a name of this number."),
            method(
                c"work",
                work,
                ffi::METH_NOARGS,
                c"Run circuits with Python receptors on the calling thread. True: start one more thread that calls this, and call again.",
            ),
            end_of_methods(),
        ]));
        // SAFETY: the tables live for ever; what is returned is ours or an exception is set.
        unsafe {
            for (name, made) in [
                ("Pipe", pipe::make_type()),
                ("Circuit", circuit::make_type()),
                ("Population", population::make_population()),
                ("Pipes", population::make_pipes()),
            ] {
                module.add(name, Bound::from_owned_ptr_or_err(py, made)?)?;
            }
            // Not dropped: it is there for ever, as the others, but nobody needs its name.
            Bound::from_owned_ptr_or_err(py, population::make_region())?.into_ptr();
            if ffi::PyModule_AddFunctions(module.as_ptr(), methods.as_mut_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
        }
        Ok(())
    }
}
