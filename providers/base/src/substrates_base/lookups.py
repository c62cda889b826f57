"""Lookups and pools: what is made once per name, whoever asks at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import substrates
from substrates import AbsentValueError, ForkedProcessError, ProviderMismatchFault, Recipe
from substrates import Subject as AnySubject
from substrates.absent import present
from substrates.receptor import checked_function

from .names import Name
from .origin import mismatch

if TYPE_CHECKING:
    from .cortex import Cortex

__all__ = ["DerivedPool", "Memo", "Pool", "looked_up", "recipe_pool"]


def looked_up(cortex: Cortex, key: Any, receiver: AnySubject[Any]) -> Name:
    """Return the name that `get` of `receiver` is asked for: by a name, a subject or a component.

    Raises:
        AbsentValueError: None.
        ProviderMismatchFault: of another provider, or a look-alike.
        ConfigurationError: a malformed name.
        TypeError: nothing that has a name.
    """
    if isinstance(key, Name) and key._names is cortex.names:
        return key
    if isinstance(key, str):
        return cortex.names.intern(key)
    present(key, "get", "name")
    if isinstance(key, (substrates.Subject, substrates.Substrate)):
        if not cortex.owns(key):
            raise ProviderMismatchFault(
                receiver,
                "get",
                f"get({key!r}): of another provider given to {cortex.provider!r}; use one of the same cortex",
            )
        subject: Any = key if isinstance(key, substrates.Subject) else key.subject
        name: Name = subject.name
        return name
    if hasattr(key, "subject") or (hasattr(key, "enclosure") and hasattr(key, "name")):
        raise ProviderMismatchFault(
            receiver, "get", f"get({key!r}): not made by {cortex.provider!r}; use one of the same cortex"
        )
    return cortex.names.given(key, "get", receiver)


class _Failure:
    """What a function raised for a name, and how it was then, to be raised again like that."""

    __slots__ = ("_context", "_error", "_traceback")

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._context = error.__context__
        self._traceback = error.__traceback__

    def again(self) -> NoReturn:
        """Raise it with its first traceback, and without what is being handled now (POOL-FAIL-04)."""
        try:
            raise self._error.with_traceback(self._traceback)
        finally:
            self._error.__context__ = self._context


class _Making:
    """Stands in a memo's table until the value of a name is made, or has failed.

    Who holds `lock` makes it; the others wait for the lock, and then find it made. An interrupt gives the
    lock back with nothing made: the next in turn makes it. `owner` is written by who holds the lock: the
    thread that is making, None while nobody is. `process` tells the process that it was made in.
    """

    __slots__ = ("lock", "owner", "process")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner: int | None = None
        self.process = _waits.process


class _Waits:
    """Which thread is about to wait for what, to find out those who would wait for each other for ever.

    A thread owns what it is making before it notes here what it waits for; so the last one of a circle to
    note it sees the whole circle. It is struck off before it owns what it waited for.
    """

    def __init__(self) -> None:
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        """Start anew: in a forked child the other threads do not exist."""
        self._lock = threading.RLock()  # re-entrant, for a signal handler that looks something up
        self._waiting: dict[int, _Making] = {}
        self.process = object()

    def begin(self, entry: _Making, name: Name) -> None:
        """Note that the calling thread waits for `entry`.

        Raises:
            RuntimeError: the entry's maker waits, perhaps through others, for the calling thread.
            ForkedProcessError: the entry's maker is a thread of the parent process.
        """
        me = threading.get_ident()
        with self._lock:
            at: _Making | None = entry
            while at is not None and at.owner is not None:
                if at.owner == me:
                    raise RuntimeError(
                        f"get('{name}'): its value is being made by a function that asks for it, or for one"
                        " that waits for it; let the function use another name or pool"
                    )
                at = self._waiting.get(at.owner)
            if entry.process is not self.process and entry.lock.locked():
                raise ForkedProcessError(
                    f"get('{name}'): a thread of the parent process was making its value at the fork;"
                    " look it up before forking, or only in the child"
                )
            self._waiting[me] = entry

    def end(self) -> None:
        """Note that the calling thread does not wait."""
        self._waiting.pop(threading.get_ident(), None)


_waits = _Waits()


class Memo:
    """Makes one value per name, exactly once: also under contention, also if making it fails.

    `dict.setdefault` decides which entry stands for a name (one atomic step on every build of CPython), and
    the entry's lock who makes the value; so makers may look up other names. A `KeyboardInterrupt` is no
    failure of the function: it is raised to whom it came, and the name stays to be made.
    """

    __slots__ = ("_make", "_table")

    def __init__(self, make: Callable[[Name], Any]) -> None:
        self._make = make
        self._table: dict[Name, Any] = {}

    def get(self, name: Name) -> Any:
        """Return the value of `name`.

        Raises:
            AbsentValueError: the function returned None for it.
            RuntimeError: the value needs itself.
            ForkedProcessError: a thread of the parent process was making it.
            BaseException: what making it raised, the first time.
        """
        found = self._table.get(name)
        if type(found) in _UNSETTLED:
            found = self._settled(name)
        return found

    def _settled(self, name: Name) -> Any:
        found = self._table.setdefault(name, _Making())
        if type(found) is _Making:
            found = self._once(found, name)
        if type(found) is _Failure:
            found.again()
        return found

    def _once(self, entry: _Making, name: Name) -> Any:
        """Return what is in the table when `entry` is no longer, made by this thread unless it was."""
        _waits.begin(entry, name)
        try:
            with entry.lock:
                _waits.end()
                try:
                    entry.owner = threading.get_ident()
                    if self._table[name] is entry:
                        self._table[name] = self._outcome(name)
                finally:
                    entry.owner = None
        finally:
            _waits.end()
        return self._table[name]

    def _outcome(self, name: Name) -> Any:
        try:
            value = self._make(name)
            if value is None:
                raise AbsentValueError(f"get('{name}'): the pool's function returned None for it")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - kept, and raised to all who ask for this name
            return _Failure(error)
        return value


_UNSETTLED = frozenset((type(None), _Making, _Failure))


class Pool(substrates.Pool[Any]):
    """See `substrates.Pool`; here of a function of names."""

    __slots__ = ("__weakref__", "_cortex", "_memo")

    def __init__(self, cortex: Cortex, make: Callable[[Name], Any]) -> None:
        self._cortex = cortex
        self._memo = Memo(make)

    def get(self, name: Any, /) -> Any:
        return self._memo.get(looked_up(self._cortex, name, self._cortex.subject))

    def pool(self, function: Callable[[Any], Any], /) -> Pool:
        return DerivedPool(self._cortex, self, checked_function(function, "pool", "function"))

    def __repr__(self) -> str:
        return f"<Pool ({self._cortex.provider})>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: what it holds belongs to this process")


class DerivedPool(Pool):
    """A pool of a function of what another lookup gives."""

    __slots__ = ()

    def __init__(self, cortex: Cortex, base: substrates.Lookup[Any], function: Callable[[Any], Any]) -> None:
        super().__init__(cortex, lambda name: function(base.get(name)))


def recipe_pool(
    cortex: Cortex, base: substrates.Lookup[Any], recipe: Any, receiver: AnySubject[Any]
) -> DerivedPool:
    """Return the pool of what a recipe, or a function, makes of the pipes of `base`.

    Raises:
        AbsentValueError: None.
        ProviderMismatchFault: a recipe of another provider, or a look-alike.
        TypeError: neither recipe nor callable.
        ConfigurationError: a coroutine function.
    """
    present(recipe, "pool", "recipe")
    if isinstance(recipe, Recipe) and cortex.owns(recipe):
        return DerivedPool(cortex, base, recipe.pipe)
    if isinstance(recipe, Recipe) or (
        hasattr(recipe, "pipe") and not callable(recipe) and not cortex.owns(recipe)
    ):
        raise mismatch(receiver, "pool", f"recipe={recipe!r}", "a recipe", cortex.provider)
    return DerivedPool(cortex, base, checked_function(recipe, "pool", "recipe"))
