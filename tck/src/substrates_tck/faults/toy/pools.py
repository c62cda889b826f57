"""Pools of the toy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import substrates
from substrates import AbsentValueError, Fiber, Flow, Recipe
from substrates.absent import present
from substrates.receptor import checked_function

from .names import Here, Name, Owned, Subject

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["Memo", "Pool", "PoolOfPipes", "looked_up"]


def looked_up(cortex: Cortex, key: Any, receiver: Any) -> Name:
    """Return the name that `get` is asked for."""
    if isinstance(key, (substrates.Subject, substrates.Substrate)) or hasattr(key, "subject"):
        kinds = (substrates.Subject, substrates.Substrate)
        own = cortex.checked(key, kinds, "get", "name", receiver, looks=("subject",))
        subject: Subject = own if isinstance(own, Subject) else own.subject
        return subject.name
    return Name.given(cortex, key, "get", receiver)


class _Entry:
    """What is known of one name."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.making = False
        self.made = False
        self.value: Any = None
        self.failure: BaseException | None = None
        self.traceback: TracebackType | None = None


class Memo:
    """Makes something per name, once; the others that ask meanwhile wait."""

    def __init__(self, make: Callable[[Name], Any]) -> None:
        self.make = make
        self.entries: dict[Name, _Entry] = {}

    def get(self, name: Name) -> Any:
        """Return what was made for a name, or raise what making it raised."""
        entry = self.entry(name)
        with entry.lock:
            if entry.making:
                raise RuntimeError(f"get('{name}'): its value is being made by a function that asks for it")
            if not entry.made:
                self.fill(entry, name)
        if entry.failure is not None:
            raise entry.failure.with_traceback(entry.traceback)
        return entry.value

    def entry(self, name: Name) -> _Entry:
        """Return the entry of a name."""
        return self.entries.setdefault(name, _Entry())

    def fill(self, entry: _Entry, name: Name) -> None:
        """Make what belongs to a name; the entry's lock is held."""
        entry.making = True
        try:
            entry.value = self.made(name)
        except BaseException as error:  # noqa: BLE001 - raised by every get
            entry.failure, entry.traceback = error, error.__traceback__
        finally:
            entry.making = False
            entry.made = True

    def made(self, name: Name) -> Any:
        """Call the function."""
        value = self.make(name)
        if value is None:
            raise AbsentValueError(f"get('{name}'): the function returned None")
        return value


class Pool(Owned, Here, substrates.Pool[Any]):
    """A pool of what a function makes of names."""

    def __init__(self, cortex: Cortex, make: Callable[[Name], Any]) -> None:
        self.cortex = cortex
        self.memo: Memo = cortex.kinds["memo"](make)

    def get(self, name: Any, /) -> Any:
        return self.memo.get(looked_up(self.cortex, name, self.cortex.subject))

    def pool(self, function: Any, /) -> Pool:
        checked_function(function, "pool", "function")
        return self.derived(function)

    def derived(self, function: Callable[[Any], Any]) -> Pool:
        """Return a pool of what a function makes of what this one has."""
        kind: type[Pool] = self.cortex.kinds["pool"]
        return kind(self.cortex, lambda name: function(self.get(name)))


class PoolOfPipes:
    """What conduits and sinks have in common: pipes by name, ahead of which recipes can be put."""

    cortex: Cortex
    subject: Any
    memo: Memo

    def get(self, name: Any, /) -> Any:
        """Return the pipe of a name."""
        return self.memo.get(looked_up(self.cortex, name, self.subject))

    def pool(self, recipe: Any, /) -> Pool:
        """Return a pool of pipes with a recipe ahead, or of what a function makes of pipes."""
        present(recipe, "pool", "recipe")
        if isinstance(recipe, Recipe) or (hasattr(recipe, "stages") and hasattr(recipe, "pipe")):
            own = self.cortex.checked(
                recipe, (Fiber, Flow), "pool", "recipe", self.subject, looks=("stages", "pipe")
            )
            return self.derived(own)
        checked_function(recipe, "pool", "recipe")
        kind: type[Pool] = self.cortex.kinds["pool"]
        return kind(self.cortex, lambda name: recipe(self.get(name)))

    def derived(self, recipe: Recipe[Any, Any]) -> Pool:
        """Return a pool of pipes with a recipe ahead, attached anew for each name."""
        kind: type[Pool] = self.cortex.kinds["pool"]
        return kind(self.cortex, lambda name: recipe.pipe(self.get(name)))
