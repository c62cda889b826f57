"""Conway's Life on a torus, each cell a circuit: a million of them are born, wired, fed and read as arrays.

    python examples/life.py --provider alpha --size 1000 --steps 100 --compare
    python examples/life.py --provider reference --size 32 --picture life.svg

How it works
------------
A cell knows whether it lives and, by handles, its eight neighbours. It receives two kinds of values:

- ``-g``: a neighbour lives in generation g. It counts; two counters take turns, so that cells which are
  already a generation ahead spoil nothing.
- ``g``: its turn to become generation g. It looks at the count, lives or not, and tells its neighbours
  ``-(g + 1)`` if it lives.

A step is one call, `emit(g, where=...)`, for the cells that live or have been told something, and two waits:
behind the first all turns are taken, and what was told is accepted; behind the second it is counted. Nobody
looks at a clock or holds a lock, and the picture is the same on every provider, whichever cell comes first.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import substrates
from substrates import kernel

BIRTH = 3
"""Neighbours that bring a cell to life; two keep it alive."""


class Cell(kernel.State):
    """One cell."""

    alive: kernel.int64
    even: kernel.int64
    odd: kernel.int64
    north: kernel.Pipe
    north_east: kernel.Pipe
    east: kernel.Pipe
    south_east: kernel.Pipe
    south: kernel.Pipe
    south_west: kernel.Pipe
    west: kernel.Pipe
    north_west: kernel.Pipe


NEIGHBOURS = {
    "north": (-1, 0),
    "north_east": (-1, 1),
    "east": (0, 1),
    "south_east": (1, 1),
    "south": (1, 0),
    "south_west": (1, -1),
    "west": (0, -1),
    "north_west": (-1, -1),
}
"""Per field, how many rows down and columns to the right its neighbour lies."""


@kernel.receptor(Cell, kernel.int64)
def live(ctx: Any, state: Any, value: int) -> None:
    """Count a neighbour, or become the next generation and tell the neighbours."""
    if value < 0:
        if value & 1:
            state.odd += 1
        else:
            state.even += 1
        return
    if value & 1:
        count = state.odd
        state.odd = 0
    else:
        count = state.even
        state.even = 0
    if count == 3 or (count == 2 and state.alive):
        state.alive = 1
        told = -(value + 1)
        ctx.emit(state.north, told)
        ctx.emit(state.north_east, told)
        ctx.emit(state.east, told)
        ctx.emit(state.south_east, told)
        ctx.emit(state.south, told)
        ctx.emit(state.south_west, told)
        ctx.emit(state.west, told)
        ctx.emit(state.north_west, told)
    else:
        state.alive = 0


class Life:
    """A torus of cells.

    Args:
        cortex: of any provider.
        seed: booleans, rows by columns: who lives at the start.
    """

    def __init__(self, cortex: substrates.Cortex, seed: Any) -> None:
        self.shape = seed.shape
        self.cells = cortex.circuits(seed.size, "cell")
        self.pipes = self.cells.pipes(live.bind())
        self.state = self.pipes.state
        handles = self.pipes.handles
        places = np.arange(seed.size).reshape(self.shape)
        for field, (down, right) in NEIGHBOURS.items():
            self.state[field][:] = handles[np.roll(places, (-down, -right), (0, 1)).ravel()]
        self.generation = 0
        self.state["even"][seed.ravel()] = BIRTH
        self._turn(np.flatnonzero(seed))

    def step(self) -> None:
        """Go on to the next generation."""
        self.generation += 1
        told = self.state["odd" if self.generation & 1 else "even"]
        self._turn(np.flatnonzero((told > 0) | (self.state["alive"] > 0)))

    def _turn(self, where: Any) -> None:
        self.pipes.emit(self.generation, where=where)
        self.cells.wait()
        self.cells.wait()

    def picture(self) -> Any:
        """Return who lives, as booleans, rows by columns."""
        return self.state["alive"].reshape(self.shape) > 0

    def close(self) -> None:
        """Close all cells."""
        self.cells.close(wait=True)


def stepped(picture: Any) -> Any:
    """Return the next generation in plain NumPy, to compare with."""
    count = sum(np.roll(picture, shift, (0, 1)).astype(np.int8) for shift in NEIGHBOURS.values())
    return (count == BIRTH) | ((count == BIRTH - 1) & picture)


def random_seed(size: int) -> Any:
    """Return `size` by `size` booleans, a third of them true, the same at every call."""
    return np.random.default_rng(1970).random((size, size)) < 1 / 3


def drawn(picture: Any) -> str:
    """Return a picture as SVG, a square of 4 units per cell that lives."""
    rows, columns = picture.shape
    squares = "".join(f"M{4 * x} {4 * y}h4v4h-4z" for y, x in np.argwhere(picture).tolist())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {4 * columns} {4 * rows}">'
        f'<rect width="100%" height="100%" fill="#fff"/><path d="{squares}" fill="#246"/></svg>\n'
    )


def main(arguments: list[str] | None = None) -> int:
    """Play; the status is 1 if the picture is not NumPy's."""
    parser = argparse.ArgumentParser(description="Conway's Life, each cell a circuit.")
    parser.add_argument("--provider", help="by default the one that substrates.cortex() chooses")
    parser.add_argument("--size", type=int, default=64, help="rows and columns (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=100, help="generations (default: %(default)s)")
    parser.add_argument("--picture", type=Path, help="write the last generation there, as SVG")
    parser.add_argument("--compare", action="store_true", help="play it in plain NumPy too, and compare")
    options = parser.parse_args(arguments)
    if options.size < 1 or options.steps < 0:
        parser.error("--size must be 1 or more and --steps 0 or more")

    seed = random_seed(options.size)
    cortex = substrates.cortex(options.provider)
    start = time.perf_counter()
    life = Life(cortex, seed)
    made = time.perf_counter()
    for _ in range(options.steps):
        life.step()
    done = time.perf_counter()
    picture = life.picture()
    life.close()
    print(
        f"{cortex.provider}: {seed.size:,} cells made, wired and seeded in {made - start:.2f} s;"
        f" {options.steps} generations in {done - made:.2f} s, {_rate(options.steps, done - made)};"
        f" {picture.sum():,} live"
    )
    if options.picture:
        options.picture.write_text(drawn(picture))
    if options.compare:
        start = time.perf_counter()
        expected = seed
        for _ in range(options.steps):
            expected = stepped(expected)
        print(f"NumPy: {_rate(options.steps, time.perf_counter() - start)}")
        if not np.array_equal(picture, expected):
            print("the pictures differ", file=sys.stderr)
            return 1
        print("the same picture")
    return 0


def _rate(steps: int, seconds: float) -> str:
    return f"{steps / seconds:,.1f} a second" if steps else "none"


if __name__ == "__main__":
    sys.exit(main())
