"""The native module, built from `native/` by maturin."""

def layout() -> dict[str, int]:
    """Return sizes, offsets and constants of the kernel ABI, each under its name in the C header."""
