//! What Python sees of the engine: the module `substrates_beta._engine`.

/// The native part of `substrates_beta`.
#[pyo3::pymodule(gil_used = false)]
pub(crate) mod _engine {
    use std::collections::HashMap;

    use pyo3::prelude::*;

    use crate::engine::kernel;

    /// Sizes, offsets and constants of the kernel ABI, each under its name in the C header.
    #[pyfunction]
    fn layout() -> HashMap<&'static str, usize> {
        kernel::layout().into_iter().collect()
    }
}
