"""Errors as Python objects."""

from __future__ import annotations

import copy

import pytest

import substrates
from substrates import AffinityFault, ClosedFault, Fault, ProviderMismatchFault


@pytest.mark.parametrize("kind", [Fault, ProviderMismatchFault, AffinityFault, ClosedFault])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_fault_is_copied_whole(kind: type[Fault], copied: object) -> None:
    assert callable(copied)
    fault = kind(substrates.cortex("reference").subject, "emit", "it says why", ValueError("the cause"))
    fault.add_note("and a note")

    other = copied(fault)

    assert type(other) is kind
    assert (str(other), other.operation) == ("it says why", "emit")
    assert other.subject is fault.subject
    assert repr(other.__cause__) == repr(fault.__cause__)
    assert other.__notes__ == ["and a note"]
