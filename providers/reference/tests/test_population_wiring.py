"""Handles of pipes that another cortex made: the kit has one provider at a time."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import ProviderMismatchFault, kernel
from substrates_reference.provider import ReferenceProvider


class Relay(kernel.State):
    onward: kernel.Pipe


@kernel.receptor(Relay, kernel.int64)
def relay(ctx: Any, state: Any, value: Any) -> None:
    ctx.emit(state.onward, value)


def test_handles_of_another_provider_are_refused_and_change_nothing() -> None:
    own, foreign = ReferenceProvider().create(), ReferenceProvider().create()
    with own.circuits(3, "own") as population, foreign.circuits(3, "foreign") as others:
        pipes, theirs = population.pipes(relay.bind()), others.pipes(relay.bind())
        pipes.state["onward"][...] = pipes.handles
        before = pipes.state["onward"].tolist()

        for value in (theirs.handles, theirs.handles[:1], theirs[0]):
            with pytest.raises(ProviderMismatchFault) as refused:
                pipes.state["onward"][...] = value
            assert refused.value.subject is population.subject

        assert pipes.state["onward"].tolist() == before
