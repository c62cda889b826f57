"""Faults of recipes: of attachments, and of the state machines of operators."""

from __future__ import annotations

from typing import Any, Final

from substrates import Recipe

from ...model import Chain, Place
from ...model import comparisons as c
from ...model import fibers as f
from ...model import flows as w
from ...model.machines import NOTHING, UNSET
from ..toy.pipes import Pipe
from ..toy.recipes import Attachment
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()

# -- attachments


@faults.kind(
    "attachment",
    fault="shares the states of operators between attachments",
    file="test_recipe_isolation.py",
    test="test_two_attachments_do_not_touch_each_other",
    says=r"second attachment",
    also={"test_conduits.py::test_a_recipe_is_attached_once_for_each_name_and_shares_no_state": r"\[1, 2\]"},
)
class _SharesStates(Attachment):
    chains: Final[dict[Recipe[Any, Any], Chain]] = {}

    def materialized(self, recipe: Recipe[Any, Any], place: Place) -> Chain:
        if recipe not in self.chains:
            self.chains[recipe] = super().materialized(recipe, place)
        return self.chains[recipe]


@faults.kind(
    "pipe",
    fault="runs operators on the thread that emits",
    file="test_recipes.py",
    test="test_a_recipe_runs_on_the_circuit_of_each_target",
    says=r"Current object at .* is ",
)
class _RunsOnTheCaller(Pipe):
    def emit(self, value: Any, /) -> None:
        if self.attachment is None or value is None:
            super().emit(value)
        else:
            self.circuit.isolate(self.subject, lambda: self.receiver(value))


@faults.kind(
    "attachment",
    fault="queues what an operator passes, so that windows have expired when they arrive",
    file="test_windows.py",
    test="test_a_window_can_be_used_in_its_callback_and_not_afterwards",
    says=r"\[\] == \[1\]",
)
class _QueuesTheTarget(Attachment):
    def deliver(self, result: Any) -> None:
        self.target.emit(result)


# -- comparisons


@faults.operator(
    "high",
    fault="takes an equal value for a record",
    file="test_fiber_comparisons.py",
    test="test_high_and_low_pass_records",
    says=r"received \[3, 3, 4, 4\]",
)
class _PassesTies(c.High):
    def beats(self, measure: Any) -> bool:
        return self.at_least(measure, self.record)


@faults.operator(
    "above",
    fault="takes the bound for above it",
    file="test_fiber_comparisons.py",
    test="test_one_bound_filters",
    says=r"received \[0, 1, 5\]",
)
class _LetsTheBoundThrough(c.Above):
    def greater(self, measure: Any, bound: Any) -> bool:
        return self.at_least(measure, bound)


@faults.operator(
    "clamp",
    fault="drops what it should clamp",
    file="test_fiber_comparisons.py",
    test="test_two_bounds_filter_or_clamp",
    says=r"received \[5\]",
)
class _DropsOutside(c.Clamp):
    def take(self, value: Any) -> list[Any]:
        return [result for result in super().take(value) if result is value]


# -- filters and sampling


@faults.operator(
    "guard_from",
    fault="lets a guard refer to what it dropped",
    file="test_fiber_gates.py",
    test="test_guard_compares_with_what_passed_and_edge_with_what_came",
    says=r"received \[5, 4, 6\]",
)
class _FollowsDrops(f.GuardFrom):
    def take(self, value: Any) -> list[Any]:
        try:
            return super().take(value)
        finally:
            self.reference = value


@faults.operator(
    "peek",
    fault="passes a value on which a stage failed",
    file="test_fiber_filters.py",
    test="test_peek_drops_what_its_receptor_fails_on",
    says=r"received \[1, 2, 3\]",
)
class _PassesFailures(f.Peek):
    def take(self, value: Any) -> list[Any]:
        try:
            return super().take(value)
        except Exception:  # noqa: BLE001 - the fault
            return [value]


@faults.operator(
    "route",
    fault="passes what it has sent aside",
    file="test_fiber_filters.py",
    test="test_route_sends_matches_aside_and_passes_the_others",
    says=r"\[1, -2, 3, -4\] != \[-2, -4\]",
)
class _RoutesAndPasses(f.Route):
    def take(self, value: Any) -> list[Any]:
        super().take(value)
        return [value]


@faults.operator(
    "when",
    fault="begins the fiber of a condition anew",
    file="test_fiber_filters.py",
    test="test_when_sends_matches_through_its_fiber_first",
    says=r"received \[20, 5, 20, 30\]",
)
class _BeginsWhenAnew(f.When):
    def __init__(self, place: Place, predicate: Any, fiber: Any) -> None:
        super().__init__(place, predicate, fiber)
        self.stages = fiber.stages

    def step(self, value: Any, now: int) -> list[Any]:
        if not self.predicate(value):
            self.chain = Chain(self.stages, self.place)
            return [value]
        return self.chain.step(value, now)


@faults.operator(
    "limit",
    fault="passes one value more than the limit",
    file="test_fiber_counting.py",
    test="test_limit_and_skip_count_the_first_values",
    says=r"received \[1, 2, 3, 4\]",
)
class _OneTooMany(f.Limit):
    def __init__(self, place: Place, count: int) -> None:
        super().__init__(place, count + 1)


@faults.operator(
    "every",
    fault="passes the first of each step, not the last",
    file="test_fiber_counting.py",
    test="test_every_and_inhibit_sample_by_count",
    says=r"received \[1, 4, 7\]",
)
class _FirstOfEvery(f.Every):
    def take(self, value: Any) -> list[Any]:
        self.count += 1
        first = self.count == 1
        if self.count == self.every:
            self.count = 0
        return [value] if first else NOTHING


@faults.operator(
    "every_interval",
    fault="begins an interval with the value that came late",
    file="test_fiber_counting.py",
    test="test_every_samples_by_processing_time",
    says=r"received \[2\]",
)
class _LosesPhase(f.EveryInterval):
    def step(self, value: Any, now: int) -> list[Any]:
        passed = super().step(value, now)
        if passed:
            self.anchor = now
        return passed


# -- suppression


@faults.operator(
    "diff",
    fault="compares with what came last, not with what passed",
    file="test_fiber_counting.py",
    test="test_diff_compares_with_what_was_passed_last",
    says=r"\[0\] == \[0, 2\]",
)
class _HoldsWhatCame(f.Diff):
    def take(self, value: Any) -> list[Any]:
        passed = super().take(value)
        self.held = value
        return passed


@faults.operator(
    "diff",
    fault="compares objects instead of values",
    file="test_recipe_execution.py",
    test="test_equal_values_are_equal_by_value",
    says=r"received \[\(1, 2\), \(1, 2\), \(1, 2\)\]",
)
class _DiffByIdentity(f.Diff):
    def take(self, value: Any) -> list[Any]:
        if self.held is value:
            return NOTHING
        self.held = value
        return [value]


@faults.operator(
    "distinct_within",
    fault="remembers what was dropped as if it had passed",
    file="test_fiber_counting.py",
    test="test_distinct_passes_what_it_does_not_remember",
    says=r"received \[1, 2, 3, 4\]",
)
class _LeastRecentlyUsed(f.DistinctWithin):
    def take(self, value: Any) -> list[Any]:
        passed = super().take(value)
        if not passed:
            self.order.remove(value)
            self.order.append(value)
        return passed


@faults.operator(
    "heartbeat",
    fault="repeats the duplicate, not what it holds",
    file="test_fiber_counting.py",
    test="test_a_heartbeat_is_the_first_of_the_equal_objects",
    says=r"Alike object at .* is ",
)
class _BeatsTheDuplicate(f.Heartbeat):
    def step(self, value: Any, now: int) -> list[Any]:
        return [value for _ in super().step(value, now)]


@faults.operator(
    "heartbeat",
    fault="measures a silence from the value, not from its first duplicate",
    file="test_fiber_counting.py",
    test="test_heartbeat_repeats_what_it_holds_after_a_silence",
    says=r"received \[7, 7, 7\]",
)
class _MeasuresFromTheBeat(f.Heartbeat):
    def step(self, value: Any, now: int) -> list[Any]:
        passed = super().step(value, now)
        if passed:
            self.anchor = now
        return passed


# -- folds


@faults.operator(
    "reduce",
    fault="keeps its state when a fold returns None",
    file="test_fiber_folds.py",
    test="test_reduce_passes_its_state",
    says=r"received \[1, 3\]",
)
class _KeepsStateOverNone(f.Reduce):
    def take(self, value: Any) -> list[Any]:
        before = self.state
        passed = super().take(value)
        if not passed:
            self.state = before
        return passed


@faults.operator(
    "relate",
    fault="keeps the previous value when relating failed",
    file="test_fiber_folds.py",
    test="test_relate_gets_each_value_with_the_one_before",
    says=r"received \[5, -1\]",
)
class _StaysOnFailure(f.Relate):
    def take(self, value: Any) -> list[Any]:
        before = self.previous
        try:
            return super().take(value)
        except BaseException:
            self.previous = before
            raise


@faults.operator(
    "relate",
    fault="takes its result for the previous value",
    file="test_fiber_folds.py",
    test="test_relate_gets_each_value_with_the_one_before",
    says=r"received \[10, 5, 8\]",
)
class _RelatesToResults(f.Relate):
    def take(self, value: Any) -> list[Any]:
        passed = super().take(value)
        if passed:
            self.previous = passed[0]
        return passed


@faults.operator(
    "integrate",
    fault="does not begin anew when it has fired",
    file="test_fiber_folds.py",
    test="test_integrate_passes_its_state_when_it_fires",
    says=r"received \[12, 18, 25\]",
)
class _DoesNotReset(f.Integrate):
    def take(self, value: Any) -> list[Any]:
        passed = super().take(value)
        if passed:
            self.state = passed[0]
        return passed


@faults.operator(
    "rolling",
    fault="folds fewer values than it was told to",
    file="test_fiber_folds.py",
    test="test_rolling_passes_the_fold_of_the_last_values",
    says=r"received \[1, 3, 6, 9, 12\]",
)
class _RollsFromTheFirst(f.Rolling):
    def take(self, value: Any) -> list[Any]:
        size, self.size = self.size, min(self.size, len(self.values) + 1)
        try:
            return super().take(value)
        finally:
            self.size = size


@faults.operator(
    "tumble",
    fault="begins a batch with the fold of the last one",
    file="test_fiber_folds.py",
    test="test_tumble_passes_the_fold_of_each_batch",
    says=r"received \[6, 21, 45\]",
)
class _TumblesOn(f.Tumble):
    def take(self, value: Any) -> list[Any]:
        passed = super().take(value)
        if passed:
            self.state = passed[0]
        return passed


@faults.operator(
    "tumble",
    fault="counts a value on which the fold failed",
    file="test_fiber_folds.py",
    test="test_tumble_passes_the_fold_of_each_batch",
    says=r"received \[3\]",
)
class _CountsFailures(f.Tumble):
    def take(self, value: Any) -> list[Any]:
        try:
            return super().take(value)
        except BaseException:
            self.count += 1
            raise


# -- gates


@faults.operator(
    "edge",
    fault="compares with what passed, not with what came",
    file="test_fiber_gates.py",
    test="test_guard_compares_with_what_passed_and_edge_with_what_came",
    says=r"received \[5, 6\]",
)
class _EdgeFrozenByDrops(f.Edge):
    def take(self, value: Any) -> list[Any]:
        before = self.previous
        passed = super().take(value)
        if not passed:
            self.previous = before
        return passed


@faults.operator(
    "pulse",
    fault="passes each value of a row, not the first",
    file="test_fiber_gates.py",
    test="test_pulse_passes_the_first_of_a_row",
    says=r"received \[7, 8, 9\]",
)
class _PulsesOn(f.PulseOf):
    def take(self, value: Any) -> list[Any]:
        self.active = False
        return super().take(value)


@faults.operator(
    "steady",
    fault="confirms one row more than once",
    file="test_fiber_gates.py",
    test="test_steady_passes_what_is_confirmed",
    says=r"received \[5, 5\]",
)
class _SteadyAgain(f.Steady):
    def take(self, value: Any) -> list[Any]:
        passed = super().take(value)
        return [value] if self.row > self.count else passed


@faults.operator(
    "steady_same",
    fault="compares with the last value of a row, not the first",
    file="test_fiber_gates.py",
    test="test_steady_passes_what_is_confirmed",
    says=r"received \[12\]",
)
class _SteadyDrifts(f.Steady):
    def take(self, value: Any) -> list[Any]:
        passed = super().take(value)
        self.candidate = value
        return passed


@faults.operator(
    "streak",
    fault="counts a row on over a miss",
    file="test_fiber_gates.py",
    test="test_streak_passes_what_completes_a_row",
    says=r"received \[-3\]",
)
class _StreakGoesOn(f.Streak):
    def take(self, value: Any) -> list[Any]:
        before = self.row
        passed = super().take(value)
        if not passed and self.row == 0:
            self.row = before
        return passed


@faults.operator(
    "hysteresis",
    fault="asks the value that opens a gate whether to close it",
    file="test_fiber_gates.py",
    test="test_hysteresis_opens_and_closes_by_different_predicates",
    says=r"received \[6, 6, 6\]",
)
class _LeavesAsItEnters(f.Hysteresis):
    def take(self, value: Any) -> list[Any]:
        passed = super().take(value)
        if passed and self.leave(value):
            self.on = False
        return passed


@faults.operator(
    "take_while",
    fault="takes again after it had stopped",
    file="test_fiber_gates.py",
    test="test_take_while_and_drop_while_latch",
    says=r"received \[1, 3, 2\]",
)
class _TakesAgain(f.TakeWhile):
    def take(self, value: Any) -> list[Any]:
        self.over = False
        return super().take(value)


# -- flows


@faults.operator(
    "map",
    fault="passes an absent result",
    file="test_recipe_execution.py",
    test="test_what_is_absent_is_not_passed",
    says=r"received .*None",
)
class _PassesNone(f.Replace):
    def take(self, value: Any) -> list[Any]:
        return [self.function(value)]


@faults.operator(
    "scan",
    "scan_emit",
    fault="emits the state before it has advanced",
    file="test_flow_scan.py",
    test="test_a_vector_comes_out_as_it_must",
    says=r"FLOW-SCAN-02",
)
class _ScansBefore(w.Scan):
    def take(self, value: Any) -> list[Any]:
        result = self.result(value)
        self.state = self.advance(self.state, value)
        return NOTHING if result is None else [result]


@faults.operator(
    "scan",
    "scan_emit",
    fault="asks for the first state when the first value comes",
    file="test_flow_scan.py",
    test="test_the_supplier_is_called_once_per_attachment_in_pipe",
    says=r"\[0, 0, 0, 0\] == \[0, 1, 2, 3\]",
)
class _SuppliesAtTheFirstValue(w.Scan):
    def __init__(self, place: Place, supplier: Any, advance: Any, *emit: Any) -> None:
        super().__init__(place, lambda: UNSET, advance, *emit)
        self.supplier = supplier

    def take(self, value: Any) -> list[Any]:
        if self.state is UNSET:
            self.state = self.supplier()
        return super().take(value)


@faults.operator(
    "run",
    fault="counts a row from zero",
    file="test_flows.py",
    test="test_a_vector_comes_out_as_it_must",
    says=r"received \[Run\(emission=7, length=0\)",
)
class _RunsFromZero(w.RunOfEqual):
    def take(self, value: Any) -> list[Any]:
        return [run._replace(length=run.length - 1) for run in super().take(value)]


@faults.operator(
    "transition",
    fault="tells the length of the row that begins, not of the one that ended",
    file="test_flows.py",
    test="test_a_vector_comes_out_as_it_must",
    says=r"received \[Change\(from_=1, to=2, length=1\)",
)
class _TellsOfTheNewRow(w.Transition):
    def take(self, value: Any) -> list[Any]:
        return [change._replace(length=1) for change in super().take(value)]


@faults.operator(
    "fiber_factory",
    "flow_factory",
    fault="calls a factory for each value, not for the attachment",
    file="test_flow_factories.py",
    test="test_a_factory_is_called_once_per_attachment_in_pipe",
    says=r"\[0, 0, 0, 0\] == \[0, 1, 2, 3\]",
)
class _CallsForEachValue(w.FromFactory):
    def __init__(self, place: Place, factory: Any) -> None:
        self.place = place
        self.factory = factory
        self.chain = Chain((), place)

    def step(self, value: Any, now: int) -> list[Any]:
        self.chain = Chain(self.factory(self.place.subject).stages, self.place)
        return super().step(value, now)


MUTANTS: Final = tuple(faults.mutants)
