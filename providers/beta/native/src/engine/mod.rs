//! The engine, without Python.

pub mod kernel;
