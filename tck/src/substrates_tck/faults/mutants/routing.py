"""Faults of channels: who receives, in which order, and where; of pools and banks."""

from __future__ import annotations

import time
from typing import Any, Final

from substrates import Routing

from ..toy.names import Name
from ..toy.pipes import Pipe
from ..toy.pools import Memo
from ..toy.routing import Bank, Channel, Conduit, Path, Registrar, Subscription
from .base import Faults

__all__ = ["MUTANTS"]

faults = Faults()

# -- the lazy rebuild


@faults.kind(
    "channel",
    fault="never makes out anew who receives",
    file="test_subscribers.py",
    test="test_a_channel_that_emitted_before_is_discovered_later_and_replays_nothing",
    says=r"\[\] == \['a'\]",
)
class _NeverRebuilds(Channel):
    def stale(self) -> bool:
        return self.version == -1


@faults.kind(
    "channel",
    fault="asks all subscribers anew when one comes or goes",
    file="test_subscribers.py",
    test="test_another_subscription_coming_and_going_does_not_call_the_callback_again",
    says=r"\['a', 'a', .* == \['a'\]",
)
class _AsksAnew(Channel):
    def rebuild(self) -> None:
        self.known = {}
        super().rebuild()


@faults.kind(
    "channel",
    fault="makes out anew who receives for each emission",
    file="test_conduits.py",
    test="test_a_change_of_subscriptions_makes_a_channel_rebuild_once_when_it_emits",
    says=r"== 10",
)
class _RebuildsAlways(Channel):
    def stale(self) -> bool:
        return True


@faults.kind(
    "conduit",
    fault="asks a subscriber before the channel emits",
    file="test_subscribers.py",
    test="test_only_a_channels_first_emission_calls_the_callback",
    says=r"\[2, 2, 2, 2\] == \[0, 1, 1, 1\]",
)
class _AsksAtOnce(Conduit):
    def add(self, subscription: Subscription) -> None:
        super().add(subscription)
        for entry in list(self.memo.entries.values()):
            entry.value.rebuild()


@faults.kind(
    "channel",
    fault="keeps the emission that calls a subscriber from what it registers",
    file="test_subscribers.py",
    test="test_the_emission_that_calls_the_callback_is_received_by_what_it_registers",
    says=r"\[\] == \[\('a', 'only'\)\]",
)
class _LosesTheFirst(Channel):
    def hand(self, value: Any) -> None:
        if self.stale():
            before = list(self.paths)
            self.rebuild()
            after, self.paths = self.paths, before
            super().hand(value)
            self.paths = after
        else:
            super().hand(value)


@faults.kind(
    "channel",
    fault="calls a subscriber that failed again",
    file="test_subscribers.py",
    test="test_a_callback_that_raises_is_called_once_for_each_channel_and_hurts_nobody_else",
    says=r"\['a', 'a', 'a', 'b', 'b'\] == \['a', 'b'\]",
)
class _TriesAgain(Channel):
    def rebuild(self) -> None:
        super().rebuild()
        if any(not paths for paths in self.known.values()):
            self.known = {each: paths for each, paths in self.known.items() if paths}
            self.version = -1


@faults.kind(
    "channel",
    fault="discards what a subscriber registered before it failed",
    file="test_subscribers.py",
    test="test_what_a_callback_registered_before_it_raised_stays",
    says=r"\[\] == \[1, 2\]",
)
class _DiscardsOnFailure(Channel):
    def discover(self, subscription: Subscription) -> list[Path]:
        before = self.cortex.counts["faults"]
        paths = super().discover(subscription)
        return [] if self.cortex.counts["faults"] > before else paths


@faults.kind(
    "channel",
    fault="asks and serves the latest subscription first",
    file="test_sources.py",
    test="test_callbacks_run_in_the_order_of_subscription",
    says=r"\[4, 3, 2, 1, 0\] ==",
)
class _LatestFirst(Channel):
    def rebuild(self) -> None:
        self.conduit.subscriptions.reverse()
        super().rebuild()
        self.conduit.subscriptions.reverse()


@faults.kind(
    "conduit",
    fault="forgets what others registered when one goes",
    file="test_subscriptions.py",
    test="test_closing_one_subscription_leaves_the_other_subscribers",
    says=r"\(50, 50\) != \(50, 100\)",
)
class _ForgetsThePathsOfOthers(Conduit):
    def remove(self, subscription: Subscription) -> None:
        super().remove(subscription)
        for entry in list(self.memo.entries.values()):
            entry.value.known = {each: [] for each in self.subscriptions}


# -- registrars


@faults.kind(
    "registrar",
    fault="lets a registrar be used after its callback",
    file="test_registrars.py",
    test="test_a_registrar_cannot_be_used_after_its_callback",
    says=r"NoneType'> != .*TemporalError",
)
class _StaysOpen(Registrar):
    def end(self) -> None:
        """Stay open."""


@faults.kind(
    "registrar",
    fault="serves a pipe that was registered twice but once",
    file="test_registrars.py",
    test="test_pipes_are_emitted_to_in_the_order_and_as_often_as_they_were_registered",
    says=r"\['P1', 'P3'\] ==",
)
class _OncePerPath(Registrar):
    def add(self, path: Path) -> None:
        if path not in self.paths:
            super().add(path)


@faults.kind(
    "registrar",
    fault="serves what was registered last first",
    file="test_registrars.py",
    test="test_pipes_are_emitted_to_in_the_order_and_as_often_as_they_were_registered",
    says=r"\['P3', 'P1', 'P1'\] ==",
)
class _LastFirst(Registrar):
    def add(self, path: Path) -> None:
        self.paths.insert(0, path)


# -- routing


@faults.kind(
    "channel",
    fault="routes from the root to the leaf",
    file="test_routing.py",
    test="test_an_emission_reaches_the_leaf_and_then_its_root",
    says=r"\('app', 1\) != \('app.leaf', 1\)",
)
class _RootFirst(Channel):
    def levels(self) -> list[Channel]:
        return super().levels()[::-1]


@faults.kind(
    "channel",
    fault="routes to the leaf and the root alone",
    file="test_routing.py",
    test="test_every_level_gets_the_value_once",
    says=r"\('app', 'hello'\) != \('app.service', 'hello'\)",
)
class _SkipsLevels(Channel):
    def levels(self) -> list[Channel]:
        levels = super().levels()
        return levels if len(levels) < 3 else [levels[0], levels[-1]]


@faults.kind(
    "channel",
    fault="routes to ancestors though it was not asked to",
    file="test_routing.py",
    test="test_without_stem_an_emission_reaches_its_own_channel_alone",
    says=r"Left contains .* more items",
)
class _AlwaysToTheRoot(Channel):
    def levels(self) -> list[Channel]:
        return [self, *(self.conduit.get(name) for name in list(self.subject.name)[1:])]


@faults.kind(
    "channel",
    fault="routes to those ancestors alone that somebody looked up",
    file="test_routing.py",
    test="test_an_ancestors_callback_runs_once_with_its_subject_though_nobody_looked_it_up",
    says=r"0 == 1",
)
class _AncestorsOnDemand(Channel):
    def levels(self) -> list[Channel]:
        known = self.conduit.memo.entries
        return [self.conduit.get(name) for name in self.subject.name if name in known]


@faults.kind(
    "channel",
    fault="routes to descendants too",
    file="test_routing.py",
    test="test_an_emission_never_goes_down",
    says=r"Left contains 3 more items",
)
class _AlsoDown(Channel):
    def levels(self) -> list[Channel]:
        below = [name for name in self.conduit.memo.entries if name.within(self.subject.name)]
        return [*super().levels(), *(self.conduit.get(name) for name in below)]


# -- pools and banks


@faults.kind(
    "memo",
    fault="makes two things of one name under a race",
    file="test_pools.py",
    test="test_racing_lookups_make_one_thing",
    says=r"== 1",
)
class _Races(Memo):
    def get(self, name: Name) -> Any:
        if name not in self.entries:
            time.sleep(0.001)
            made = self.made(name)
            self.entry(name).value = made
            self.entry(name).made = True
            return made
        return super().get(name)


@faults.kind(
    "memo",
    fault="calls a pool's function again after it failed",
    file="test_pools.py",
    test="test_what_the_function_raised_is_raised_again_without_calling_it",
    says=r"\['bad', 'bad', 'bad', 'good'\] == \['bad', 'good'\]",
)
class _TriesFailuresAgain(Memo):
    def get(self, name: Name) -> Any:
        entry = self.entry(name)
        if entry.failure is not None:
            entry.made, entry.failure = False, None
        return super().get(name)


@faults.kind(
    "memo",
    fault="gives None when a pool's function returns it",
    file="test_pools.py",
    test="test_a_function_that_returns_nothing_is_an_absent_value_once_and_for_all",
    says=r"AbsentValueError was to be raised",
)
class _TakesNothing(Memo):
    def made(self, name: Name) -> Any:
        return self.make(name)


@faults.kind(
    "memo",
    fault="makes values that are false anew",
    file="test_pools.py",
    test="test_a_value_that_is_false_is_a_value",
    says=r"2 == 1",
)
class _ForgetsWhatIsFalse(Memo):
    def get(self, name: Name) -> Any:
        value = super().get(name)
        if not isinstance(value, Pipe) and not value:
            del self.entries[name]
        return value


@faults.kind(
    "bank",
    fault="leaves the conduits of a closed bank open",
    file="test_banks.py",
    test="test_closing_a_bank_closes_its_conduits_and_no_others",
    says=r"ClosedFault was to be raised",
)
class _LeavesConduitsOpen(Bank):
    def closing(self) -> None:
        """Leave them open."""

    def finish(self) -> None:
        """Leave them open."""


@faults.kind(
    "bank",
    fault="gives conduits of a closed bank",
    file="test_banks.py",
    test="test_a_closed_bank_refuses_known_and_unknown_names",
    says=r"ClosedFault was to be raised",
)
class _GivesAfterClose(Bank):
    def require_open(self, operation: str) -> None:
        """Give, closed or not."""


@faults.kind(
    "bank",
    fault="makes a bank's conduits without its routing",
    file="test_routing.py",
    test="test_a_bank_may_give_conduits_that_route_to_ancestors",
    says=r"'app.leaf'",
)
class _ForgetsTheRouting(Bank):
    def made(self, name: Name) -> Any:
        self.routing = Routing.PIPE
        return super().made(name)


MUTANTS: Final = tuple(faults.mutants)
