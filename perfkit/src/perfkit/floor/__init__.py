"""The floors: what the showcase's relay costs in C with no engine around it, measured on all cores at once.

The lean floor is a bare FIFO loop; the checked floor adds the checks that an engine cannot leave out (owner,
closed, capacity). The C sources lie beside this file, each says what it does. They are compiled on demand
with the system's C compiler into a cache of the user's, under a name made of sources, flags and compiler, and
called through ctypes, which lets go of the GIL.

A floor is sampled several times before and after the rounds that it is compared with. A sample runs one
thread per usable core and is the processor time of all threads divided by the deliveries of all, the same
quotient as that of a round; the figure is the median of the samples, as a run's is that of its rounds.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

__all__ = ["KINDS", "Floor", "FloorError", "Library", "compiled", "median_of"]

KINDS: Final = ("lean", "checked")
SAMPLES: Final = 5
"""Of each kind, each time. The first of a kind is taken twice and its first value dropped: it warms up."""
SAMPLE_S: Final = 0.15
"""A sample's length: some ten scheduler ticks, and short enough for Ctrl-C, which waits for its end."""
CIRCUITS: Final = 256
"""In the floor's relay: few enough to stay in the first-level cache, where a burst of the showcase is too."""
FLAGS: Final = ("-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec")
COMPILERS: Final = ("cc", "gcc", "clang")
SOURCES: Final = Path(__file__).parent
ERRORS: Final = {-1: "no memory", -2: "a circuit's count is wrong"}


class FloorError(Exception):
    """The floors cannot be had; the message says why and what to do."""


class Library:
    """The compiled floors.

    Attributes:
        compiler: its command and the first line of its version.
        flags: that it was called with.
    """

    def __init__(self, path: Path, compiler: str) -> None:
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise FloorError(f"the compiled floors do not load: {error}; delete {path.parent}") from error
        self.compiler = compiler
        self.flags = " ".join(FLAGS)
        self._functions: dict[str, Callable[[int, int, int], int]] = {}
        for kind in KINDS:
            function = getattr(library, f"floor_{kind}")
            function.restype = ctypes.c_int64
            function.argtypes = [ctypes.c_int64] * 3
            self._functions[kind] = function

    def run(self, kind: str, burst: int, rounds: int, *, circuits: int = CIRCUITS) -> int:
        """Run one relay in the calling thread and return its processor time in nanoseconds.

        Raises:
            FloorError: a circuit did not count exactly `burst` deliveries per round, or no memory.
        """
        spent = self._functions[kind](circuits, burst, rounds)
        if spent < 0:
            raise FloorError(f"{kind} floor (burst={burst}, rounds={rounds}): {ERRORS.get(spent, spent)}")
        return spent


@dataclass
class Floor:
    """The floors' samples around one run, in nanoseconds of processor time per delivery.

    Attributes:
        library: the compiled floors.
        burst: deliveries to a circuit before it hands off, as in the run.
        cores: threads that run at once.
        before: samples of each kind taken before the rounds.
        after: samples of each kind taken after them.
    """

    library: Library
    burst: int
    cores: int
    before: dict[str, list[float]] = field(default_factory=dict)
    after: dict[str, list[float]] = field(default_factory=dict)

    def sample(self, into: dict[str, list[float]]) -> None:
        """Take the samples of each kind, in turns."""
        rounds = {kind: self._rounds(kind) for kind in KINDS}
        for _ in range(SAMPLES):
            for kind in KINDS:
                into.setdefault(kind, []).append(self._at_once(kind, rounds[kind]))

    def ns(self, kind: str) -> float | None:
        """Return the median of all samples of `kind`, None without any."""
        return median_of(self.before.get(kind, []) + self.after.get(kind, []))

    def drift(self) -> float | None:
        """Return by what share the lean floor rose from before to after; None unless both are known."""
        if not self.before or not self.after:
            return None
        return median(self.after["lean"]) / median(self.before["lean"]) - 1

    def _rounds(self, kind: str) -> int:
        """Return how many rounds make a sample, by a trial that also warms up."""
        rounds = max(1, 1_000_000 // (CIRCUITS * self.burst))
        spent = self.library.run(kind, self.burst, rounds)
        return max(1, round(rounds * SAMPLE_S * 1e9 / max(spent, 1)))

    def _at_once(self, kind: str, rounds: int) -> float:
        spent: list[int] = []
        failures: list[FloorError] = []
        together = threading.Barrier(self.cores)

        def work() -> None:
            together.wait()
            try:
                spent.append(self.library.run(kind, self.burst, rounds))
            except FloorError as error:
                failures.append(error)

        threads = [threading.Thread(target=work, name=f"perfkit.floor.{n}") for n in range(self.cores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return sum(spent) / (self.cores * CIRCUITS * self.burst * rounds)


def median_of(samples: list[float]) -> float | None:
    """Return the median, None without any samples."""
    return median(samples) if samples else None


def compiled() -> Library:
    """Return the floors, compiled unless the cache has them.

    Raises:
        FloorError: no compiler, or it fails.
    """
    command = _compiler()
    version = _output([*command, "--version"]).partition("\n")[0].strip()
    compiler = f"{shlex.join(command)} ({version})"
    names = sorted(path.name for path in SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(repr((command, version, FLAGS)).encode())
    for name in names:
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    folder, temporary = _cache()
    try:
        path = folder / f"floor-{digest.hexdigest()[:20]}.so"
        if not path.exists():
            _compile(command, [name for name in names if name.endswith(".c")], path)
        return Library(path, compiler)
    finally:
        if temporary:
            shutil.rmtree(folder, ignore_errors=True)


def _compiler() -> list[str]:
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise FloorError(f"CC={os.environ['CC']!r}: no such command; unset it or name a C compiler")
        return chosen
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    raise FloorError(f"no C compiler ({', '.join(COMPILERS)}) on PATH; install one, or name it in CC")


def _cache() -> tuple[Path, bool]:
    """Return the folder for compiled floors and whether it is a temporary one."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(root) if root else Path.home() / ".cache") / "substrates-perfkit"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder, False
    except OSError:
        return Path(tempfile.mkdtemp(prefix="substrates-perfkit-")), True


def _compile(command: list[str], names: list[str], path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        objects = []
        for name in names:
            objects.append(str(Path(scratch) / f"{name}.o"))
            _output([*command, *FLAGS, "-c", str(SOURCES / name), "-o", objects[-1]])
        built = Path(scratch) / path.name
        _output([*command, "-shared", *objects, "-o", str(built)])
        built.replace(path)


def _output(command: list[str]) -> str:
    try:
        done: Any = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FloorError(f"{shlex.join(command)}: {error}") from error
    if done.returncode != 0:
        raise FloorError(f"{shlex.join(command)} failed: {done.stderr.strip()[-2000:]}")
    return str(done.stdout)
