"""What is taken for a receptor, and what is refused."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from substrates import ConfigurationError
from substrates.receptor import receive_of


async def coroutine(value: int) -> None: ...


async def generator(value: int) -> Any:
    yield value


def plain(value: int) -> None: ...


@functools.wraps(coroutine)
def wrapper(value: int) -> None: ...


class Receiver:
    def receive(self, value: int) -> None: ...


class CoroutineReceiver:
    async def receive(self, value: int) -> None: ...


class CoroutineCall:
    async def __call__(self, value: int) -> None: ...

    async def method(self, value: int) -> None: ...


def with_coroutine(value: int) -> None: ...


with_coroutine.receive = coroutine  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "receptor",
    [
        pytest.param(coroutine, id="coroutine function"),
        pytest.param(generator, id="asynchronous generator function"),
        pytest.param(wrapper, id="wrapper"),
        pytest.param(functools.partial(coroutine), id="partial"),
        pytest.param(CoroutineReceiver(), id="receive"),
        pytest.param(CoroutineCall(), id="call"),
        pytest.param(CoroutineCall().method, id="method"),
        pytest.param(with_coroutine, id="function with receive"),
    ],
)
def test_what_makes_coroutines_is_refused(receptor: Any) -> None:
    with pytest.raises(ConfigurationError, match="its coroutines would never run"):
        receive_of(receptor, "pipe")


def test_callable_behind_a_receptor() -> None:
    receiver, values = Receiver(), [1]

    assert receive_of(plain, "pipe") is plain
    assert receive_of(values.append, "pipe") == values.append
    assert receive_of(receiver, "pipe") == receiver.receive
    assert receive_of(1, "pipe") is None
