"""The native module, built from `native/` by maturin."""

from collections.abc import Callable, Sequence
from typing import Any, final

class Pipe:
    """What all pipes of beta are made of."""

    _circuit: Any
    _name: Any
    _subject: Any
    _targets: Any
    @property
    def _receive(self) -> Any:
        """What receives; of a kernel's pipe the kernel."""
    def emit(self, value: Any, /) -> None:
        """See `substrates.Pipe.emit`."""
    def _submit(self) -> None:
        """Have the receptor called without a value, in its turn."""
    def _handle(self) -> int:
        """Return the handle by which kernels emit to this pipe."""
    def _memory(self) -> memoryview:
        """Return the memory of the kernel's state, writable."""

@final
class Circuit:
    """A circuit's part in the engine."""

    def close(self) -> None:
        """Queue the end behind all accepted work."""
    def inside(self) -> bool:
        """Tell whether the calling thread runs this circuit."""
    def timed(self) -> bool:
        """Tell whether the time was noted for the value from outside that is being delivered."""
    def note_time(self) -> None:
        """Note that the time was taken."""
    def is_closing(self) -> bool:
        """Tell whether it takes nothing more."""
    def has_ended(self) -> bool:
        """Tell whether its end has come."""
    def wait(self, timeout_ns: int, /) -> bool:
        """Wait until all work accepted before is done; -1: without limit. False: it is late."""
    def probe(self) -> tuple[int, int] | None:
        """Return when a probe had its place and when its turn came; None once the circuit has ended."""

@final
class Population:
    """A population's circuits in the engine."""

    def circuit(self, index: int, /) -> Circuit:
        """Return a member's part in the engine."""
    def close(self) -> None:
        """Queue each member's end behind all that it has accepted."""
    def wait(self, timeout_ns: int, /) -> bool:
        """Wait until all work that members accepted before is done; as `Circuit.wait`."""
    def keep(self, kept: object, /) -> bool:
        """Keep an object until all that members accepted before is done. False: all is, it is not kept."""
    def pipes(self, address: int, number: int, state: bytes, own: bytes, /) -> Pipes:
        """Make a pipe to a kernel for each member.

        Args:
            address: of the kernel's function.
            number: of the pipes' name.
            state: the initial state.
            own: the cells, 4 bytes each, that get the pipe's own handle.
        """

@final
class Pipes:
    """Pipes of a population in the engine, one for each member."""

    def emit(self, values: Any, where: Any, /) -> int:
        """Admit values and return how many were: all, unless memory runs out.

        Args:
            values: an array of 8 bytes an element; one: for all.
            where: an array of indices of members, int64; None: all members.
        """
    def memory(self) -> memoryview:
        """Return the memory of the states, a row for each member, and behind them their handles."""
    def place(self, handle: int, /) -> int | None:
        """Return the index of the pipe with a handle; None: it is none of these."""
    def keep(self, kept: object, /) -> bool:
        """See `Population.keep`."""

def layout() -> dict[str, int]:
    """Return sizes, offsets and constants of the kernel ABI, each under its name in the C header."""

def setup(
    report: Callable[[Any, BaseException], object],
    admit: Sequence[Callable[[Any], Any]],
    check_process: Callable[[], object],
    breathe: Callable[[], object],
    locked: bool,
) -> None:
    """Give the engine what it calls; before anything else."""

def start(cores: int) -> bool:
    """Start the native workers unless they run. False: this process is a forked child."""

def start_hosted(limit: int, most: int) -> None:
    """Say how many threads may run in `work` at a time; one more is to call it. `most`: so many at most."""

def stop(patience_ms: int) -> None:
    """End the threads, waiting so many milliseconds at most for receptors that run."""

def facts() -> dict[str, int]:
    """Return what the engine holds; of circuits, the members of populations."""

def work() -> bool:
    """Run circuits with Python receptors; True: start one more thread that calls this, and call again."""

def circuit(number: int, /) -> Circuit:
    """Make a circuit with a name of this number."""

def receptor_pipe(
    kind: type[Pipe],
    circuit: Any,
    native: Circuit,
    name: Any,
    number: int,
    receive: Callable[..., object],
    code: int,
    /,
) -> Any:
    """Make a pipe to a Python callable."""

def kernel_pipe(
    kind: type[Pipe],
    circuit: Any,
    native: Circuit,
    name: Any,
    number: int,
    kernel: Any,
    address: int,
    state: bytes,
    own: int,
    targets: Any,
    cell: int,
    target: int,
    code: int,
    /,
) -> Any:
    """Make a pipe to a kernel."""

def member_pipe(
    kind: type[Pipe],
    circuit: Any,
    native: Circuit,
    name: Any,
    number: int,
    kernel: Any,
    handle: int,
    size: int,
    code: int,
    /,
) -> Any:
    """Make an object for a member's pipe, which ends with the population's pipes."""

def population(count: int, number: int, /) -> Population:
    """Make circuits with a name of this number."""

def kernels() -> tuple[int, int]:
    """Return the addresses of the engine's own kernels: to ignore; to emit to the handles in the state."""

def running() -> Any:
    """Return the circuit that the calling thread runs, or None."""

def events_wait() -> bool:
    """Wait until there are events; one thread at a time. False: the engine stops."""

def take_exhausted() -> bool:
    """Tell whether, for the first time, all threads in `work` block and circuits wait."""

def take_wanted() -> bool:
    """Tell whether a thread that `work` has asked for has not come, so that it is to be tried again."""

def any_events() -> bool:
    """Tell whether events may wait."""

def release_events() -> None:
    """Let go of what native workers could not."""

def take_fault() -> tuple[Any, int, int, int, int, int] | None:
    """Take the oldest fault of a kernel; None if there is none.

    Returns:
        The pipe, or None if it is gone; the kernel's address; the numbers of the circuit's name and of the
        pipe's; the code; how many alike came one after the other.
    """
