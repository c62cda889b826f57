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


FAILS = (
    HEAD
    + """
import gc, logging
logging.getLogger("substrates").setLevel(logging.CRITICAL)

class Nothing(kernel.State):
    count: kernel.int64

@kernel.receptor(Nothing, kernel.int64)
def fails(ctx, state, value):
    raise ValueError("as told")

entered, go, told = threading.Event(), threading.Event(), []
def hook(*fault):
    entered.set()
    go.wait(20)
    told.append(fault)
cortex.on_fault(hook)
"""
)


def test_faults_are_told_although_their_pipes_and_their_memory_are_gone(provider: str) -> None:
    script = (
        FAILS
        + """
go.set() if sys.argv[1] == "reference" else None  # whose hook would hold up the circuits
circuits = [cortex.circuit() for _ in range(40_000)]
pipes = [each.pipe(fails.bind()) for each in circuits]
before = cortex.facts()["engine_bytes"] if sys.argv[1] != "reference" else 0
for pipe in pipes:
    pipe.emit(1)
assert entered.wait(10)
for each in circuits:
    each.close()
del pipe, pipes, each, circuits
gc.collect()
go.set()
until = time.monotonic() + 20
while cortex.facts()["faults"] < 4000 and time.monotonic() < until:
    time.sleep(0.01)
while sys.argv[1] != "reference" and cortex.facts()["engine_bytes"] > before / 2 and time.monotonic() < until:
    cortex.circuit().close()  # who drops something gives back what is not used any more
print(cortex.facts()["faults"] >= 4000, time.monotonic() < until)
"""
    )

    ended = run(provider, script, timeout=60)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True True\n", "")


def test_wait_is_over_when_the_faults_of_its_work_are_told(provider: str) -> None:
    script = (
        FAILS
        + """
pipe = circuit.pipe(fails.bind())
for turn in range(20):
    entered.clear()
    go.clear()
    pipe.emit(1)
    assert entered.wait(10)
    threading.Timer(0.02, go.set).start()
    circuit.wait()
    assert len(told) == turn + 1, (turn, told)
circuit.close(wait=True)
print("told")
"""
    )

    ended = run(provider, script)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "told\n", "")


def test_engine_that_found_no_memory_for_its_threads_starts_when_there_is_some(provider: str) -> None:
    script = (
        HEAD
        + """
import resource
from pathlib import Path

class Tally(kernel.State):
    count: kernel.int64
@kernel.receptor(Tally, kernel.int64)
def tally(ctx, state, value):
    state.count += 1
bound = tally.bind()
pages = int(Path("/proc/self/statm").read_text().split()[0])
limits = resource.getrlimit(resource.RLIMIT_AS)
least = pages * resource.getpagesize() + 2**21  # no room for a thread's stack
resource.setrlimit(resource.RLIMIT_AS, (least, limits[1]))
try:
    circuit.pipe(bound).emit(1)
    refused = None
except (MemoryError, RuntimeError) as error:
    refused = error
resource.setrlimit(resource.RLIMIT_AS, limits)
assert refused is not None
pipe = circuit.pipe(bound)
pipe.emit(1)
circuit.wait(10)
got = []
with cortex.circuit() as other:
    other.pipe(got.append).emit(1)
    other.wait(10)
print(pipe.state.count, got)
"""
    )

    ended = run(provider, script)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1 [1]\n", "")


def test_more_receptors_that_block_than_threads_are_told_of_once(provider: str) -> None:
    script = (
        HEAD
        + """
import logging
told, messages, go = threading.Event(), [], threading.Event()
class Heard(logging.Handler):
    def emit(self, record):
        messages.append(record.getMessage())
        told.set()
logging.getLogger("substrates").addHandler(Heard())
done = []
def receive(value):
    go.wait(30)
    done.append(value)
circuits = [cortex.circuit() for _ in range(300)]
pipes = [each.pipe(receive) for each in circuits]
for pipe in pipes:
    pipe.emit(1)
print(told.wait(20), len(done))
time.sleep(0.1)
go.set()
for each in circuits:
    each.wait(20)
    each.close()
print(len(done), messages)
"""
    )

    ended = run(provider, script, timeout=60)

    warning = "256 receptors block at once: further circuits wait for one of them"
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"True 0\n300 {[warning]}\n", "")
