"""Living in a Python process: dropped objects, the interpreter's exit, forks and signals."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable

import pytest

from substrates import Cortex, spi
from substrates_tck.fixtures import Until
from substrates_tck.marks import derived, rule

Script = Callable[..., str]
LIMIT_S = 30.0
"""How long an interpreter of its own may take in all, its start included."""


@pytest.fixture
def script(tck_provider: str, bound_s: float) -> Script:
    """Return a function that runs a script in a new interpreter and returns what it printed.

    The script finds the cortex as ``cortex``; a time-out, a signal or any message on standard error fails.
    """
    found = {listing.name: listing for listing in spi.installed()}
    if found[tck_provider].distribution == "n/a":
        pytest.skip(f"provider {tck_provider!r} exists in this process alone")

    def run(text: str, *, status: int = 0, quiet: bool = True) -> str:
        program = (
            # A shell's background job inherits that Ctrl-C is ignored.
            "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
            f"import substrates\ncortex = substrates.cortex({tck_provider!r})\n{textwrap.dedent(text)}"
        )
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-c", program],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=max(LIMIT_S, bound_s),
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            pytest.fail(f"the interpreter did not end within {LIMIT_S:g} s; it said {late.stdout!r}")
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout}{done.stderr}"
        if quiet:
            assert done.stderr == ""
        return done.stdout

    return run


def _drop(cortex: Cortex, received: list[int]) -> None:
    circuit = cortex.circuit("process.dropped")
    pipe = circuit.pipe(received.append)
    for number in range(1000):
        pipe.emit(number)


@rule("PYTHON-DROP-01")
def test_a_circuit_that_is_dropped_unclosed_warns_and_still_does_what_it_accepted(
    cortex: Cortex, eventually: Until
) -> None:
    received: list[int] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _drop(cortex, received)
        eventually(lambda: len(received) == 1000, "what a dropped circuit had accepted was received")
        eventually(
            lambda: gc.collect() is not None and any(it.category is ResourceWarning for it in caught),
            "a dropped circuit warned",
        )

    assert received == list(range(1000))
    messages = [str(it.message) for it in caught if it.category is ResourceWarning]
    assert any("process.dropped" in message for message in messages)


@rule("PYTHON-DROP-02")
def test_closed_and_dropped_circuits_and_pipes_are_given_back(cortex: Cortex, eventually: Until) -> None:
    gc.collect()
    before = {kind: int(cortex.facts()[kind]) for kind in ("circuits", "pipes")}

    for _ in range(200):
        _close(cortex)

    def given_back() -> bool:
        gc.collect()
        return all(int(cortex.facts()[kind]) <= count for kind, count in before.items())

    eventually(given_back, f"no more circuits and pipes were alive than before: {before}")


def _close(cortex: Cortex) -> None:
    circuit = cortex.circuit()
    circuit.pipe(print, lane=object).subject.path()
    circuit.pipe().emit(1)
    circuit.close(wait=True)


@rule("PYTHON-EXIT-01")
@pytest.mark.parametrize(
    "work",
    [
        "pass",
        "circuit.close()",
        "circuit.wait()",
        "for number in range(100_000): circuit.pipe(print_nothing).emit(number)",
        "feeding.emit(0)",
        "circuit.pipe(lambda value: time.sleep(0.5)).emit(0)",
        "threading.Thread(target=flood, daemon=True).start(); time.sleep(0.05)",
        "circuit.pipe(fail).emit(1)",
    ],
    ids=["nothing", "closed", "waited", "queued", "feeds itself", "sleeps", "flooded", "failed"],
)
def test_the_interpreter_ends_whatever_is_running(work: str, script: Script) -> None:
    printed = script(
        f"""
        import logging, threading, time

        logging.disable(logging.CRITICAL)
        def print_nothing(value): pass
        def fail(value): raise SystemExit(9)
        circuit = cortex.circuit()
        feeding = circuit.pipe(lambda value: feeding.emit(value + 1))
        sink = circuit.pipe()
        def flood():
            while True:
                sink.emit(0)
        {work}
        print("the end of the program")
        """,
        quiet=False,
    )

    assert printed == "the end of the program\n"


@rule("PYTHON-EXIT-01", "PYTHON-SIGNAL-02")
def test_emitting_and_closing_while_the_interpreter_ends_is_safe(script: Script) -> None:
    printed = script(
        """
        import atexit

        circuit = cortex.circuit()
        pipe = circuit.pipe()

        class Emits:
            def __del__(self):
                pipe.emit(1)

        @atexit.register
        def last():
            pipe.emit(1)
            circuit.close()
            pipe.emit(2)
            print("at exit")

        kept = Emits()
        pipe.emit(0)
        """
    )

    assert printed == "at exit\n"


@rule("PYTHON-SIGNAL-02")
def test_emitting_from_a_finalizer_is_safe(script: Script) -> None:
    printed = script(
        """
        import gc

        received = []
        with cortex.circuit() as circuit:
            pipe = circuit.pipe(received.append)

            class Emits:
                def __init__(self, number):
                    self.cycle, self.number = self, number
                def __del__(self):
                    pipe.emit(self.number)

            gc.set_threshold(5)
            for number in range(2000):
                Emits(number)
                pipe.emit(-1)
            gc.collect()
        print(sorted(number for number in received if number >= 0) == list(range(2000)), received.count(-1))
        """
    )

    assert printed == "True 2000\n"


@rule("PYTHON-SIGNAL-01")
@pytest.mark.skipif(not hasattr(os, "kill") or os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize(
    "call",
    [
        *("circuit.wait()", "circuit.wait(timeout=60)", "circuit.close(wait=True)"),
        *("population.wait()", "population.wait(timeout=60)", "population.close(wait=True)"),
    ],
)
def test_ctrl_c_interrupts_a_wait_at_once(call: str, script: Script) -> None:
    printed = script(
        f"""
        import os, signal, threading, time

        population = cortex.circuits(3)
        circuit = {"population[2]" if "population" in call else "cortex.circuit()"}
        gate = threading.Event()
        circuit.pipe(lambda value: gate.wait(20)).emit(0)

        def interrupt():
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        start = time.perf_counter()
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted", time.perf_counter() - start < 5)
        gate.set()
        circuit.wait()
        circuit.close(wait=True)
        population.close(wait=True)
        """
    )

    assert printed == "interrupted True\n"


@rule("PYTHON-SIGNAL-02")
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_emitting_from_a_signal_handler_is_safe(script: Script) -> None:
    printed = script(
        """
        import signal, time

        received, sent = [], 0
        circuit = cortex.circuit()
        pipe = circuit.pipe(received.append)

        def handle(number, frame):
            global sent
            sent += 1
            pipe.emit(-1)

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        end, emitted = time.perf_counter() + 0.5, 0
        while time.perf_counter() < end:
            pipe.emit(emitted)
            emitted += 1
            if emitted % 1000 == 0:
                circuit.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
        circuit.close(wait=True)
        numbers = [number for number in received if number >= 0]
        print(numbers == list(range(emitted)), received.count(-1) == sent, sent > 10)
        """
    )

    assert printed == "True True True\n"


@rule("PYTHON-SIGNAL-02")
@pytest.mark.skipif(sys.implementation.name != "cpython", reason="collects as CPython does")
@pytest.mark.parametrize(
    "asked",
    [
        "circuit.subject",
        "circuit.current",
        "pipe.subject",
        "cell.subject",
        "cell.pipe()",
        "conduit.get('first')",
        "bank.get('first')",
        "cortex.name(f'finalizer.n{trial}')",
    ],
)
def test_a_finalizer_gets_what_the_call_that_it_interrupts_is_making(asked: str, script: Script) -> None:
    """A finalizer runs wherever memory is asked for, so also where something is made on first use."""
    printed = script(
        f"""
        import gc

        class Finalized:
            def __init__(self, call):
                self.call, self.own = call, self

            def __del__(self):
                self.call()

        circuits, got, alike = [], [], 0
        for trial in range(200):
            gc.disable()
            gc.collect()
            circuit = cortex.circuit("finalizer")
            circuits.append(circuit)
            pipe, cell = circuit.pipe(print), circuit.cell(0)
            conduit, bank = circuit.conduit("finalizer"), circuit.bank()
            del got[:]
            Finalized(lambda: got.append({asked}))
            gc.set_threshold(trial + 1)
            gc.enable()
            own = {asked}
            gc.disable()
            gc.collect()
            alike += got[0] is own and own is {asked}
        for circuit in circuits:
            circuit.close()
        print(alike)
        """
    )

    assert printed == "200\n"


@rule("PYTHON-SIGNAL-02")
@pytest.mark.skipif(sys.implementation.name != "cpython", reason="collects as CPython does")
def test_what_a_finalizer_emits_while_the_first_pipe_is_made_is_received(script: Script) -> None:
    printed = script(
        """
        import gc

        class Finalized:
            def __init__(self, circuit):
                self.circuit, self.own = circuit, self

            def __del__(self):
                self.circuit.pipe(received.append).emit("early")

        counts = []
        for trial in range(200):
            gc.disable()
            gc.collect()
            received = []
            circuit = cortex.circuit()
            Finalized(circuit)
            gc.set_threshold(trial + 1)
            gc.enable()
            pipe = circuit.pipe(received.append)
            gc.disable()
            gc.collect()
            pipe.emit("late")
            circuit.close(wait=True)
            counts.append(received)
        print(counts.count(["early", "late"]))
        """
    )

    assert printed == "200\n"


@rule("PYTHON-FORK-01")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    "use",
    [
        *("inherited_pipe.emit(1)", "inherited.wait(timeout=20)", "cortex.circuit().pipe(print).emit(1)"),
        *("inherited_pipes.emit([1, 2])", "population.wait(timeout=20)", "cortex.circuits(2)"),
    ],
    ids=["emit", "wait", "new circuit", "emit to a population", "wait for a population", "new population"],
)
def test_a_forked_child_that_uses_what_the_parent_started_gets_an_error(use: str, script: Script) -> None:
    printed = script(
        f"""
        import os, threading, time, warnings

        warnings.simplefilter("ignore")
        inherited = cortex.circuit()
        inherited_pipe = inherited.pipe(lambda value: None)
        inherited_pipe.emit(0)
        inherited.wait()
        population = cortex.circuits(2)
        inherited_pipes = population.pipes(lambda index, value: None)
        inherited_pipes.emit([0, 0])
        population.wait()

        child = os.fork()
        if child == 0:
            try:
                {use}
            except substrates.ForkedProcessError:
                os._exit(7)
            except BaseException as error:
                print(repr(error), flush=True)
                os._exit(8)
            os._exit(9)
        end = time.monotonic() + 10
        done, status = 0, 0
        while not done and time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
        if not done:
            os.kill(child, 9)
            os.waitpid(child, 0)
        print({{7: "error", 8: "another error", 9: "no error"}}.get(os.waitstatus_to_exitcode(status)))
        inherited_pipe.emit(1)
        inherited.close(wait=True)
        population.close(wait=True)
        """,
        quiet=False,
    )

    assert printed == "error\n"


@rule("PYTHON-FORK-01", "RES-02")
@derived
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_closing_in_a_forked_child_what_the_parent_made_raises_nothing(script: Script) -> None:
    """What a child inherits is closed there by `with` and by finalizers, which expect no error."""
    printed = script(
        """
        import os, warnings

        warnings.simplefilter("ignore")
        circuit = cortex.circuit()
        pipe = circuit.pipe(lambda value: None)
        conduit, bank = circuit.conduit(), circuit.bank()
        subscriber = circuit.subscriber("parent", lambda subject, registrar: None)
        subscription, ticker = conduit.subscribe(subscriber), circuit.ticker(3600, pipe)
        bank.get("parent")
        pipe.emit(0)
        circuit.wait()
        population = cortex.circuits(2)
        population.pipes(lambda index, value: None).emit([0, 0])
        population.wait()

        child = os.fork()
        if child == 0:
            for inherited in (subscription, subscriber, conduit, bank, ticker, circuit, population):
                for _ in range(2):
                    try:
                        inherited.close()
                    except BaseException as error:
                        print(repr(inherited), repr(error), flush=True)
            print("closed", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        circuit.close(wait=True)
        population.close(wait=True)
        """
    )

    assert printed == "closed\n"


@rule("PYTHON-FORK-01")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("which", ["running", "waiting"])
def test_a_forked_child_that_emits_to_a_circuit_which_had_work_gets_an_error(
    which: str, script: Script
) -> None:
    printed = script(
        f"""
        import os, threading, warnings

        warnings.simplefilter("ignore")
        gate, begun = threading.Event(), threading.Event()
        running = cortex.circuit()
        hold = running.pipe(lambda value: (begun.set(), gate.wait(20)))
        waiting = cortex.circuit()
        others = [waiting.pipe(lambda value: None)]
        hold.emit(0)
        begun.wait(20)
        others[0].emit(0)
        pipe, circuit = (hold, running) if {which!r} == "running" else (others[0], waiting)
        conduit, port = circuit.conduit(), circuit.port(0)
        channel = conduit.get("a")
        subscriber = circuit.subscriber("s", lambda subject, registrar: None)

        child = os.fork()
        if child == 0:
            for use in (
                lambda: pipe.emit(1),
                lambda: channel.emit(1),
                lambda: conduit.subscribe(subscriber),
                lambda: port.replace(1),
                lambda: pipe.emit(1),
            ):
                try:
                    use()
                    print("no error", flush=True)
                except substrates.ForkedProcessError:
                    print("error", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        gate.set()
        running.close(wait=True)
        waiting.close(wait=True)
        """
    )

    assert printed == "error\n" * 5


@rule("PYTHON-SIGNAL-02")
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_signal_handler_that_raises_leaves_no_circuit_stuck(script: Script) -> None:
    printed = script(
        """
        import signal

        class Alarm(Exception):
            pass

        def handle(number, frame):
            raise Alarm

        signal.signal(signal.SIGALRM, handle)
        stuck = 0
        for trial in range(1500):
            received = []
            circuit = cortex.circuit()
            pipe = circuit.pipe(received.append)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002)
                while True:
                    pipe.emit(1)
                    circuit.wait()
            except Alarm:
                pass
            pipe.emit(2)
            try:
                circuit.wait(timeout=5)
            except TimeoutError:
                stuck += 1
            stuck += received[-1] != 2
            circuit.close()
        print("stuck", stuck)
        """
    )

    assert printed == "stuck 0\n"


@rule("PYTHON-FORK-01")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_forked_while_threads_are_inside_the_runtime_does_not_hang(script: Script) -> None:
    printed = script(
        """
        import os, signal, threading, time, warnings

        warnings.simplefilter("ignore")
        stop = threading.Event()

        def work(number):
            while not stop.is_set():
                number += 2
                circuit = cortex.circuit(f"busy.n{number}")
                circuit.pipe(print).subject.path()
                circuit.close()

        threads = [threading.Thread(target=work, args=(start,)) for start in range(2)]
        for thread in threads:
            thread.start()
        own = cortex.circuit("own")
        hung = 0
        for _ in range(15):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # ends a child that hangs
                own.subject.path()
                own.current
                own.close()
                try:
                    cortex.circuit("new")
                except substrates.ForkedProcessError:
                    os._exit(7)
                os._exit(1)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            hung += status != 7
            time.sleep(0.01)
        stop.set()
        for thread in threads:
            thread.join()
        print("hung", hung)
        """
    )

    assert printed == "hung 0\n"
