//! How the types of the module are made, and their methods.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;

use super::interpreter::Object;

pub(crate) type One = unsafe extern "C-unwind" fn(Object, Object) -> Object;
pub(crate) type Many = unsafe extern "C-unwind" fn(Object, *const Object, ffi::Py_ssize_t) -> Object;

pub(crate) fn method(
    name: &'static CStr,
    function: One,
    flags: c_int,
    doc: &'static CStr,
) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            // SAFETY: the same but for unwinding, which the interpreter itself does at its exit.
            PyCFunction: unsafe { std::mem::transmute::<One, ffi::PyCFunction>(function) },
        },
        ml_flags: flags,
        ml_doc: doc.as_ptr(),
    }
}

pub(crate) fn function(name: &'static CStr, function: Many, doc: &'static CStr) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            // SAFETY: as above.
            PyCFunctionFast: unsafe { std::mem::transmute::<Many, ffi::PyCFunctionFast>(function) },
        },
        ml_flags: ffi::METH_FASTCALL,
        ml_doc: doc.as_ptr(),
    }
}

pub(crate) const fn end_of_methods() -> ffi::PyMethodDef {
    ffi::PyMethodDef::zeroed()
}

/// Makes a type that Python cannot instantiate; null: an exception is set.
///
/// `flags`: beside those that all have. `slots`: what it does. `place`: where it is found.
///
/// # Safety
/// What the slots refer to is as the interpreter expects it, and lives for ever.
pub(crate) unsafe fn new_type(
    name: &'static CStr,
    doc: &'static CStr,
    size: usize,
    flags: c_ulong,
    slots: &[(c_int, *mut c_void)],
    place: &AtomicPtr<ffi::PyTypeObject>,
) -> Object {
    let doc = (ffi::Py_tp_doc, doc.as_ptr() as *mut c_void);
    let end = (0, null_mut());
    let mut table: Vec<_> = slots
        .iter()
        .copied()
        .chain([doc, end])
        .map(|(slot, pfunc)| ffi::PyType_Slot { slot, pfunc })
        .collect();
    let flags = flags | ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr().cast::<c_char>(),
        basicsize: c_int::try_from(size).unwrap_or(0),
        itemsize: 0,
        flags: flags as c_uint,
        slots: table.as_mut_ptr(),
    };
    // SAFETY: the tables are as the interpreter expects them.
    let made = unsafe { ffi::PyType_FromSpec(&raw mut spec) };
    place.store(made.cast(), Ordering::Relaxed);
    made
}
