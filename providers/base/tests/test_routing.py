"""Routing behind the public face: counted rebuilds, what ended subscriptions leave, who makes a value."""

from __future__ import annotations

import dis
import gc
import os
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import pytest

import substrates
import substrates_base.lookups
from substrates import ClosedFault, ForkedProcessError, Routing, TemporalError, kernel
from substrates_base import Circuit
from substrates_base.banks import Bank
from substrates_base.conduits import Conduit
from substrates_base.lookups import Memo
from substrates_base.names import Name

BOUND_S = 10.0


@pytest.fixture
def circuit(provider: str) -> Iterator[Circuit]:
    circuit = substrates.cortex(provider).circuit("routing")
    assert isinstance(circuit, Circuit)
    yield circuit
    circuit.close()
    circuit.wait(BOUND_S)


def rebuilds(circuit: Circuit) -> int:
    count = circuit._cortex.facts()["rebuilds"]
    assert isinstance(count, int)
    return count


def receiving(receive: Callable[[Any], object]) -> Callable[[Any, Any], object]:
    return lambda _, registrar: registrar.register(receive)


class Receptor:
    def __call__(self, value: object) -> None: ...


class Held:
    """Keeps a circuit's context busy until it is released."""

    def __init__(self, circuit: Circuit) -> None:
        self._release = threading.Event()
        circuit.pipe(lambda _: self._release.wait(BOUND_S)).emit(0)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self._release.set()


# -- rebuilds


def test_subscribing_rebuilds_no_channel_until_it_emits(circuit: Circuit) -> None:
    conduit = circuit.conduit()
    pipes = [conduit.get(f"channel{number}") for number in range(10_000)]
    log: list[Any] = []
    conduit.subscribe(receiving(log.append))
    for pipe in pipes:
        pipe.emit(0)
    circuit.wait(BOUND_S)
    before = rebuilds(circuit)

    second = conduit.subscribe(receiving(log.append))
    circuit.wait(BOUND_S)
    subscribed = rebuilds(circuit) - before
    for pipe in pipes[:3]:
        pipe.emit(1)
        pipe.emit(2)
    circuit.wait(BOUND_S)
    emitted = rebuilds(circuit) - before
    second.close(wait=True)
    closed = rebuilds(circuit) - before
    pipes[0].emit(3)
    circuit.wait(BOUND_S)

    assert (subscribed, emitted, closed, rebuilds(circuit) - before) == (0, 3, 3, 4)
    assert log == [0] * 10_000 + [1, 1, 2, 2] * 3 + [3]


@pytest.mark.parametrize("left", [0, 1])
def test_many_subscriptions_that_ended_do_not_slow_rebuilds_down(circuit: Circuit, left: int) -> None:
    conduit = circuit.conduit()
    assert isinstance(conduit, Conduit)
    subscriptions = [conduit.subscribe(receiving(lambda _: None)) for _ in range(10_000)]
    circuit.wait(BOUND_S)

    for subscription in subscriptions[left:]:
        subscription.close()
    circuit.wait(BOUND_S)

    assert list(conduit._subscriptions) == subscriptions[:left]
    # A dict keeps the places of what was deleted, and a rebuild walks over them.
    assert sys.getsizeof(conduit._subscriptions) <= sys.getsizeof(dict.fromkeys(range(200)))


def test_channel_without_subscriptions_is_never_rebuilt(circuit: Circuit) -> None:
    before = rebuilds(circuit)

    pipe = circuit.conduit().get("a")
    for value in range(100):
        pipe.emit(value)
    circuit.wait(BOUND_S)

    assert rebuilds(circuit) == before


def test_many_subscriptions_before_an_emission_cost_one_rebuild(circuit: Circuit) -> None:
    conduit = circuit.conduit()
    pipe = conduit.get("a")
    before = rebuilds(circuit)

    for _ in range(50):
        conduit.subscribe(receiving(lambda _: None))
    pipe.emit(0)
    pipe.emit(1)
    circuit.wait(BOUND_S)

    assert rebuilds(circuit) == before + 1


def test_stem_rebuilds_each_level_once(circuit: Circuit) -> None:
    conduit = circuit.conduit(routing=Routing.STEM)
    leaf = conduit.get("a.b.c")
    conduit.subscribe(receiving(lambda _: None))
    before = rebuilds(circuit)

    leaf.emit(0)
    leaf.emit(1)
    circuit.wait(BOUND_S)

    assert rebuilds(circuit) == before + 3


def test_one_receptor_is_called_by_the_channel_itself(circuit: Circuit) -> None:
    conduit = circuit.conduit()
    receptor = Receptor()
    conduit.subscribe(receiving(receptor))
    conduit.get("a").emit(0)
    circuit.wait(BOUND_S)

    channel = conduit._channels[circuit._cortex.names.intern("a")]

    assert channel._deliver is receptor


def test_ancestors_get_channels_only_when_somebody_is_subscribed(circuit: Circuit) -> None:
    conduit = circuit.conduit(routing=Routing.STEM)
    leaf = conduit.get("a.b.c")

    leaf.emit(0)
    circuit.wait(BOUND_S)
    alone = [str(name) for name in conduit._channels]
    conduit.subscribe(receiving(lambda _: None))
    leaf.emit(1)
    circuit.wait(BOUND_S)

    assert alone == ["a.b.c"]
    assert [str(name) for name in conduit._channels] == ["a.b.c", "a.b", "a"]


def test_repr_of_a_channels_pipe_names_channel_circuit_and_provider(circuit: Circuit) -> None:
    pipe = circuit.conduit("filled").get("a.b")

    assert repr(pipe) == f"<Pipe a.b of circuit 'routing' ({circuit._cortex.provider})>"


# -- what is left behind


def test_ended_subscription_is_gone_from_conduit_subscriber_and_emitting_channels(
    circuit: Circuit,
) -> None:
    conduit = circuit.conduit()
    pipe = conduit.get("a")
    receptor = Receptor()
    subscriber = circuit.subscriber("s", receiving(receptor))
    subscription = conduit.subscribe(subscriber)
    pipe.emit(0)
    subscription.close(wait=True)
    pipe.emit(1)
    circuit.wait(BOUND_S)
    gone = weakref.ref(subscription)

    del subscription
    gc.collect()

    assert gone() is None
    assert not conduit._subscriptions
    assert not subscriber._subscriptions
    references = weakref.ref(receptor)
    subscriber.close(wait=True)
    del subscriber, receptor
    gc.collect()
    assert references() is None


def test_churn_beside_idle_channels_does_not_grow_memory(circuit: Circuit) -> None:
    conduit = circuit.conduit()
    subscriber = circuit.subscriber("s", receiving(Receptor()))
    first = conduit.subscribe(subscriber)
    for number in range(100):
        conduit.get(f"channel{number}").emit(0)
    first.close(wait=True)

    def churn(times: int) -> int:
        for turn in range(times):
            conduit.subscribe(subscriber).close()
            if turn % 1_000 == 0:
                circuit.wait(BOUND_S)
        circuit.wait(BOUND_S)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = churn(2_000)
        after = churn(20_000)
    finally:
        tracemalloc.stop()

    assert after - before < 100_000


def test_dropped_conduit_is_collected_with_its_channels_and_subscriptions(circuit: Circuit) -> None:
    gc.collect()  # what other tests have left
    pipes = circuit._cortex.facts()["pipes"]
    conduit = circuit.conduit(routing=Routing.STEM)
    conduit.subscribe(receiving(Receptor()))
    conduit.get("a.b").emit(0)
    circuit.wait(BOUND_S)
    gone = weakref.ref(conduit)

    del conduit
    gc.collect()

    assert gone() is None
    assert circuit._cortex.facts()["pipes"] == pipes


# -- ends that come early


def test_end_heard_before_the_installation_ends_the_subscription_once(circuit: Circuit) -> None:
    conduit = circuit.conduit()
    log: list[Any] = []
    made: list[Any] = []
    closing = circuit.pipe(lambda _: made[0].close())

    with Held(circuit):
        closing.emit(0)
        made.append(conduit.subscribe(receiving(log.append), log.append))
        conduit.get("a").emit(1)
    circuit.wait(BOUND_S)

    assert log == made
    assert not conduit._subscriptions


@pytest.mark.parametrize("what", ["conduit", "subscriber"])
def test_subscription_of_what_ends_before_the_installation_ends_too(circuit: Circuit, what: str) -> None:
    conduit = circuit.conduit()
    log: list[Any] = []
    subscriber = circuit.subscriber("s", receiving(log.append))
    closing = circuit.pipe(lambda _: (conduit if what == "conduit" else subscriber).close())

    with Held(circuit):
        closing.emit(0)
        subscription = conduit.subscribe(subscriber, log.append)
        conduit.get("a").emit(1)
    circuit.wait(BOUND_S)

    assert log == [subscription]
    assert not conduit._subscriptions
    assert not subscriber._subscriptions


def test_conduit_made_while_its_bank_closes_is_closed(
    circuit: Circuit, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = circuit.bank()
    made: list[Conduit] = []

    def making(*arguments: Any) -> Conduit:
        made.append(Conduit(*arguments))
        bank.close(wait=True)
        return made[-1]

    monkeypatch.setattr("substrates_base.banks.Conduit", making)
    with pytest.raises(ClosedFault) as caught:
        bank.get("a")

    assert isinstance(bank, Bank)
    assert caught.value.subject is bank.subject
    with pytest.raises(ClosedFault):
        made[0].subscribe(receiving(lambda _: None))


def test_channel_made_after_the_end_of_a_circuit_with_work_loses_none_of_it(circuit: Circuit) -> None:
    pipe = circuit.pipe(count.bind())
    conduit = circuit.conduit()
    for value in range(1_000):
        pipe.emit(value)

    circuit.close()
    conduit.get("a").emit(1)
    conduit.close(wait=True)
    circuit.wait(BOUND_S)

    assert pipe.state.count == 1_000


class Counted(kernel.State):
    count: kernel.int64


@kernel.receptor(Counted, kernel.int64)
def count(ctx: kernel.Context, state: Counted, value: int) -> None:
    state.count += 1


def test_subscriptions_work_beside_kernels(circuit: Circuit) -> None:
    log: list[Any] = []
    counter = circuit.pipe(count.bind())
    counter.emit(0)
    conduit = circuit.conduit()

    conduit.subscribe(lambda _, registrar: [registrar.register(path) for path in (counter, log.append)])
    for value in range(100):
        conduit.get("a").emit(value)
    circuit.wait(BOUND_S)

    assert log == list(range(100))
    assert counter.state.count == 101


def test_registrar_refuses_another_thread_while_the_callback_runs(circuit: Circuit) -> None:
    refused: list[BaseException] = []

    def call(_: Any, registrar: Any) -> None:
        def register() -> None:
            try:
                registrar.register(refused.append)
            except TemporalError as error:
                refused.append(error)

        thread = threading.Thread(target=register)
        thread.start()
        thread.join(BOUND_S)

    conduit = circuit.conduit()
    conduit.subscribe(call)
    conduit.get("a").emit(1)
    circuit.wait(BOUND_S)

    assert [type(error) for error in refused] == [TemporalError]


# -- who makes a value


@pytest.fixture
def name() -> Name:
    found = substrates.cortex("reference").name("memo.a")
    assert isinstance(found, Name)
    return found


@pytest.fixture
def other() -> Name:
    found = substrates.cortex("reference").name("memo.b")
    assert isinstance(found, Name)
    return found


def test_keyboard_interrupt_is_no_result(name: Name) -> None:
    made: list[str] = []

    def make(name: Name) -> str:
        made.append(str(name))
        if len(made) == 1:
            raise KeyboardInterrupt
        return "value"

    memo = Memo(make)
    with pytest.raises(KeyboardInterrupt):
        memo.get(name)

    assert memo.get(name) == memo.get(name) == "value"
    assert made == ["memo.a"] * 2


def test_one_who_waits_makes_the_value_when_its_maker_is_interrupted(name: Name) -> None:
    entered, release = threading.Event(), threading.Event()
    results: list[Any] = []

    def make(_: Name) -> str:
        if not entered.is_set():
            entered.set()
            release.wait(BOUND_S)
            raise KeyboardInterrupt
        return "value"

    memo = Memo(make)

    def first() -> None:
        with pytest.raises(KeyboardInterrupt):
            memo.get(name)

    maker = threading.Thread(target=first)
    waiter = threading.Thread(target=lambda: results.append(memo.get(name)))
    maker.start()
    assert entered.wait(BOUND_S)
    waiter.start()
    release.set()
    maker.join(BOUND_S)
    waiter.join(BOUND_S)

    assert results == ["value"]


@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="CPython 3.12 does not trace all instructions")
def test_interrupt_wherever_python_looks_for_one_leaves_a_name_that_can_be_made(name: Name) -> None:
    """Raise `KeyboardInterrupt` at the first, second, ... place of a lookup where a signal can do so."""
    at = 0
    interrupted = True
    while interrupted:
        at += 1
        memo = Memo(lambda _: "value")
        interrupted = interrupted_at(at, partial(memo.get, name))
        results: list[Any] = []
        thread = threading.Thread(target=lambda memo=memo, results=results: results.append(memo.get(name)))
        thread.daemon = True
        thread.start()
        thread.join(BOUND_S)
        assert results == ["value"], f"interrupted at place {at}"
        assert memo.get(name) == "value", f"interrupted at place {at}"

    assert at > 10


def interrupted_at(place: int, call: Callable[[], object]) -> bool:
    """Call, and raise `KeyboardInterrupt` at one place; return whether there was one.

    CPython handles signals after a call, at the start of a function and when it jumps backwards.
    """
    raised = False
    seen = 0
    checks: dict[FrameType, bool] = {}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal raised, seen
        if frame.f_code.co_filename != substrates_base.lookups.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            if checks.get(frame, False):
                seen += 1
                if seen == place:
                    raised = True
                    raise KeyboardInterrupt
            instruction = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            checks[frame] = instruction.startswith(("CALL", "RESUME", "JUMP_BACKWARD"))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        assert raised
    finally:
        sys.settrace(before)
    return raised


def test_value_that_needs_itself_is_an_error_that_stays(name: Name, other: Name) -> None:
    memo = Memo(lambda asked: memo.get(other if asked is name else name))

    with pytest.raises(RuntimeError, match="is being made by a function that asks for it") as first:
        memo.get(name)
    with pytest.raises(RuntimeError) as second:
        memo.get(name)

    assert second.value is first.value


def test_two_threads_whose_values_need_each_other_do_not_wait_for_ever(name: Name) -> None:
    both = threading.Barrier(2)
    failures: list[BaseException] = []

    def left(asked: Name) -> Any:
        both.wait(BOUND_S)
        return memos[1].get(asked)

    def right(asked: Name) -> Any:
        both.wait(BOUND_S)
        return memos[0].get(asked)

    memos = (Memo(left), Memo(right))

    def get(memo: Memo) -> None:
        try:
            memo.get(name)
        except RuntimeError as error:
            failures.append(error)

    threads = [threading.Thread(target=get, args=(memo,), daemon=True) for memo in memos]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)

    assert len(failures) == 2
    assert failures[0] is failures[1]


def test_failure_is_raised_again_without_what_is_handled_then(name: Name) -> None:
    memo = Memo(lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError) as first:
        memo.get(name)
    depth = len(first.traceback)

    try:
        raise LookupError
    except LookupError:
        with pytest.raises(ZeroDivisionError) as second:
            memo.get(name)

    assert second.value is first.value
    assert second.value.__context__ is None
    assert len(second.traceback) == depth


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_value_that_a_thread_of_the_parent_was_making_is_refused_in_a_child(name: Name) -> None:
    entered, release = threading.Event(), threading.Event()

    def make(_: Name) -> bool:
        entered.set()
        return release.wait(BOUND_S)

    memo = Memo(make)
    maker = threading.Thread(target=memo.get, args=(name,))
    maker.start()
    assert entered.wait(BOUND_S)

    child = os.fork()
    if child == 0:
        try:
            memo.get(name)
        except ForkedProcessError:
            os._exit(0)
        except BaseException:
            os._exit(2)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    release.set()
    maker.join(BOUND_S)

    assert os.waitstatus_to_exitcode(status) == 0
