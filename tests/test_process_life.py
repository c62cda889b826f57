"""How a process with running kernels lives and ends: exit, Ctrl-C, fork, dropped circuits.

The kit judges the same of Python receptors.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

HEAD = """
import os, signal, sys, threading, time, warnings
import substrates
from substrates import kernel
cortex = substrates.cortex(sys.argv[1])
circuit = cortex.circuit("life")
"""
EVER = (
    HEAD
    + """
def ever(value):
    pipe.emit(value + 1)
pipe = circuit.pipe(ever)
pipe.emit(1)

class Loop(kernel.State):
    here: kernel.Pipe = kernel.SELF

@kernel.receptor(Loop, kernel.int64)
def loop(ctx, state, value):
    ctx.emit(state.here, value + 1)

other = cortex.circuit("kernels")
looping = other.pipe(loop.bind())
looping.emit(1)
"""
)


def run(provider: str, script: str, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, provider]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout)


def test_exit_with_circuits_that_never_end_is_prompt_and_silent(provider: str) -> None:
    begun = time.monotonic()

    ended = run(provider, EVER + "print('bye')")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "bye\n", "")
    assert time.monotonic() - begun < 20


def test_interrupt_ends_a_wait_at_once(provider: str) -> None:
    script = (
        EVER
        + """
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
begun = time.monotonic()
try:
    other.wait()
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begun < 5)
"""
    )

    ended = run(provider, script)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted True\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_forked_child_gets_an_error_and_the_parent_goes_on(provider: str) -> None:
    script = (
        HEAD
        + """
warnings.simplefilter("ignore")  # CPython 3.12 warns of fork with threads, which is what this is about
seen = []
pipe = circuit.pipe(seen.append)
class Tally(kernel.State):
    count: kernel.int64
@kernel.receptor(Tally, kernel.int64)
def tally(ctx, state, value):
    state.count += 1
counted = cortex.circuit("kernels").pipe(tally.bind())
counted.emit(1)
pipe.emit(1)
circuit.wait()
child = os.fork()
if child == 0:
    errors = 0
    for attempt in (lambda: pipe.emit(2), lambda: counted.emit(2), circuit.wait, cortex.circuit):
        try:
            attempt()
        except substrates.ForkedProcessError:
            errors += 1
    circuit.close()
    os._exit(errors)
_, status = os.waitpid(child, 0)
pipe.emit(3)
circuit.wait()
print(os.waitstatus_to_exitcode(status), seen)
"""
    )

    ended = run(provider, script)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "4 [1, 3]\n", "")


def test_dropped_with_a_value_on_its_way_it_is_still_delivered(provider: str) -> None:
    script = (
        HEAD
        + """
import gc
warnings.simplefilter("ignore", ResourceWarning)

class Step(kernel.State):
    onward: kernel.Pipe

@kernel.receptor(Step, kernel.int64)
def step(ctx, state, value):
    ctx.emit(state.onward, value + 1)

arrived = threading.Semaphore(0)
seen = []
def last(value):
    seen.append(value)
    arrived.release()

end = circuit.pipe(last, lane=kernel.int64)
for value in range(0, 1000, 10):
    onward = end
    for _ in range(4):
        onward = cortex.circuit().pipe(step.bind(onward=onward))
    onward.emit(value)
    del onward
for _ in range(100):
    assert arrived.acquire(timeout=10)
print(sorted(seen) == [value + 4 for value in range(0, 1000, 10)])
"""
    )

    ended = run(provider, script)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_interrupt_in_a_busy_script_exits_with_the_usual_status(provider: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", EVER + "print('ready', flush=True)\ncircuit.wait()", provider],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"

    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)

    assert process.returncode == -signal.SIGINT
    assert errors.strip().endswith("KeyboardInterrupt")
