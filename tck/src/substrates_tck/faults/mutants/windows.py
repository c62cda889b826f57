"""Faults of windows and of their lives."""

from __future__ import annotations

from typing import Any, Final

from ...model import Chain, Lease, Place, View
from ...model import flows as w
from ..toy.recipes import Attachment
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()


@faults.operator(
    "window",
    fault="lets a window be used for ever",
    file="test_windows.py",
    test="test_every_operation_works_in_the_callback_and_is_refused_afterwards",
    says=r"DID NOT RAISE",
)
class _WindowForever(w.WindowOf):
    def passed(self) -> None:
        """Let it live on."""


@faults.operator(
    "window",
    fault="lets a window be used until the next one",
    file="test_windows.py",
    test="test_a_window_can_be_used_in_its_callback_and_not_afterwards",
    says=r"DID NOT RAISE",
)
class _WindowUntilTheNext(w.WindowOf):
    def step(self, value: Any, now: int) -> list[Any]:
        super().passed()
        return super().step(value, now)

    def passed(self) -> None:
        """Let it live on until the next value."""


@faults.kind(
    "attachment",
    fault="lets a window be used when its callback failed",
    file="test_windows.py",
    test="test_a_window_goes_stale_when_what_got_it_raises",
    says=r"\[<class 'int'>\] == ",
)
class _LivesOnAfterAFailure(Attachment):
    failed = False

    def deliver(self, result: Any) -> None:
        self.failed = True
        super().deliver(result)
        self.failed = False

    def passed(self, chain: Chain) -> None:
        if not self.failed:
            super().passed(chain)


@faults.view(
    fault="lets a view be used longer than its window",
    file="test_windows.py",
    test="test_a_view_goes_stale_with_its_window",
    says=r"== \[\{'first': <c.*Error'>",
)
class _ViewWithItsOwnLease(View):
    def _view(self, values: tuple[Any, ...]) -> View:
        return type(self)(values, Lease())


@faults.view(
    fault="does not tell which pipe an expired window came from",
    file="test_windows.py",
    test="test_the_error_carries_the_subject_of_the_pipe_that_the_window_came_from",
    says=r"None is Subject",
)
class _ViewWithoutSubject(View):
    def __init__(self, values: tuple[Any, ...], lease: Lease) -> None:
        lease.subject = None
        super().__init__(values, lease)


@faults.view(
    fault="drops the first values instead of the last",
    file="test_windows.py",
    test="test_vector",
    says=r"At index 2 diff",
)
class _TrimsTheFront(View):
    def trim(self, count: int, /) -> View:
        return self.skip(count)


@faults.view(
    fault="makes another view of all values",
    file="test_windows.py",
    test="test_vector",
    says=r"\(False, True, False, True\) != ",
)
class _CopiesWholeViews(View):
    def prefix(self, count: int, /) -> View:
        view = super().prefix(count)
        return self._view(self._values) if view is self else view


@faults.view(
    fault="asks on when the answer is known",
    file="test_windows.py",
    test="test_all_any_and_none_ask_no_more_than_they_need",
    says=r"\[1, 2, 3, 4\] == \[1, 2\]",
)
class _AsksThemAll(View):
    def all(self, predicate: Any, /) -> bool:
        return self.count(predicate) == self.size()


@faults.operator(
    "window",
    fault="keeps the oldest values in a window",
    file="test_flow_windows.py",
    test="test_a_vector_comes_out_as_it_must",
    says=r"received \[\[1\], \[1, 2\], \[1, 2, 3\], \[1, 2, 3\], \[1, 2, 3\]\]",
)
class _WindowOfTheOldest(w.WindowOf):
    def keep(self, value: Any, now: int) -> None:
        if len(self.entries) < self.capacity:
            super().keep(value, now)


@faults.operator(
    "window_within",
    fault="forgets a value that is just as old as allowed",
    file="test_flow_windows.py",
    test="test_a_vector_comes_out_as_it_must",
    says=r"received \[\[1\], \[2\], \[2, 3\]\]",
)
class _ForgetsAtTheEdge(w.WindowWithin):
    def __init__(self, place: Place, within_ns: int, capacity: int) -> None:
        super().__init__(place, within_ns - 1, capacity)


MUTANTS: Final = tuple(faults.mutants)
