//! Beta, the Substrates engine in Rust: `engine` knows no Python, `python` binds it and decides nothing.

pub mod engine;
#[cfg(feature = "python")]
mod python;
