"""The compiler of recipes: one Python function for a whole chain of operators.

What it makes
-------------
The source of a function `attach`. Its parameters are what to call at the end of the chain, and the arguments
of all operators; it makes the state of one attachment and returns a function `receive`, which has the state
in its closure and the operators' lines one below the other. No operator costs a call of its own.

The source depends on the *shape* of the chain alone: which operators, in which form, in which order. So it is
compiled once per shape and kept; attaching is one call. The latest `SHAPES` are kept.

Python nests neither lines nor blocks without limit, so what would come too deep gets a function of its own.

Tracebacks find the source in `linecache`, from where it goes when nothing of the code is left.
"""

from __future__ import annotations

import linecache
import re
import weakref
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeAlias

from substrates.recipe import Stage

from .operators import FIBER, NAMES, OPERATORS, REST, Operator

__all__ = ["SHAPES", "Compiled", "Shape", "compiled", "rendered"]

Shape: TypeAlias = tuple[tuple[str, Any], ...]
"""Per operator: its key in `OPERATORS`, and the shape of its own fiber or ()."""

SHAPES = 512
"""How many shapes are kept; each takes some ten kilobytes."""
DEEPEST = 10
"""How deep lines are nested; Python takes 20 blocks and 100 steps of indentation."""
SHOWN = 8
"""How many operators the name of a source shows."""
INDENT = "    "

_numbers = count(1)


class Compiled(NamedTuple):
    """What was made of a shape."""

    attach: Callable[..., Callable[[Any], None]]
    """Takes what `given` names, then the arguments of all operators that they use, in order."""
    given: tuple[str, ...]
    """``target`` and, if an operator uses them, ``subject`` and ``now``."""
    filename: str
    source: str


@lru_cache(maxsize=SHAPES)
def compiled(shape: Shape) -> Compiled:
    """Return the code for `shape`."""
    source, given = _Writer().written(shape)
    names = [Stage(key.partition(" ")[0], ()).method for key, _ in shape[:SHOWN]]
    more = "..." if len(shape) > SHOWN else ""
    filename = f"<substrates recipe {'.'.join(names) or 'identity'}{more} #{next(_numbers)}>"
    attach = _code(compile(source, filename, "exec", dont_inherit=True), "attach")
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    # The code of `receive`, not of `attach`: pipes that are still there have it.
    weakref.finalize(_code(attach, "receive"), linecache.cache.pop, filename, None).atexit = False
    return Compiled(FunctionType(attach, {"__name__": filename, **NAMES}), given, filename, source)


def rendered(shape: Shape) -> str:
    """Return the source for `shape`; it may hold factories, in whose place it has a comment."""
    return _Writer().written(shape)[0]


def _code(outer: CodeType, name: str) -> CodeType:
    """Return the code of the function `name` that is defined in `outer`."""
    return next(
        constant
        for constant in outer.co_consts
        if isinstance(constant, CodeType) and constant.co_name == name
    )


class _Function:
    """A function in the making: `receive`, or one for what would be too deep in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.rebound: list[str] = []

    def add(self, depth: int, line: str) -> None:
        self.lines.append(INDENT * depth + line)

    def written(self) -> Iterator[str]:
        yield f"{INDENT}def {self.name}(value):"
        if self.rebound:
            yield f"{INDENT * 2}nonlocal {', '.join(self.rebound)}"
        yield from (INDENT * 2 + line for line in self.lines)


class _Writer:
    """Writes the source for one shape."""

    def __init__(self) -> None:
        self._number = 0
        self._parameters: list[str] = []
        self._state: list[str] = []
        self._functions: list[_Function] = []

    def written(self, shape: Shape) -> tuple[str, tuple[str, ...]]:
        """Return the source and the names of what `attach` is given before the operators' arguments."""
        self._function("receive", shape, "target(value)")
        text = "\n".join([*self._state, *(line for made in self._functions for line in made.lines)])
        given = ("target", *(name for name in ("subject", "now") if re.search(rf"\b{name}\b", text)))
        lines = [f"def attach({', '.join([*given, *self._parameters])}):"]
        lines += [INDENT + line for line in self._state]
        for function in self._functions:
            lines += [""] if len(lines) > 1 else []
            lines += function.written()
        lines += ["", f"{INDENT}return receive", ""]
        return "\n".join(lines), given

    def _function(self, name: str, shape: Shape, ending: str) -> None:
        function = _Function(name)
        self._chain(function, 0, shape, ending)
        # What it calls was made meanwhile and stands before it.
        self._functions.append(function)

    def _chain(self, function: _Function, depth: int, shape: Shape, ending: str | None) -> None:
        """Write the operators of `shape` into `function`, and behind them `ending`."""
        for position, (key, fiber) in enumerate(shape):
            operator = OPERATORS[key]
            self._number += 1
            number = self._number
            function.add(depth, f"# {number}: {self._begun(operator, number)}")
            function.rebound += [f"{name}_{number}" for name in operator.rebound]
            inner = False
            for line in operator.code:
                text = line.lstrip()
                at = depth + (len(line) - len(text)) // len(INDENT)
                if text == FIBER:
                    self._own_fiber(function, at, fiber)
                elif text == REST:
                    inner = True
                    self._rest(function, at, shape[position + 1 :], ending)
                else:
                    function.add(at, _numbered(text, number))
            if inner:
                return
        if ending is not None:
            function.add(depth, ending)

    def _begun(self, operator: Operator, number: int) -> str:
        """Write what `attach` does for an operator; return how the operator is called."""
        self._parameters += [f"{name}_{number}" for name in operator.parameters if name]
        self._state += [_numbered(line, number) for line in operator.state]
        name, bracket, parameters = operator.call.partition("(")
        own = lambda match: f"{match[0]}_{number}" if match[0] in operator.parameters else match[0]  # noqa: E731
        return name + bracket + re.sub(r"\w+", own, parameters)

    def _own_fiber(self, function: _Function, depth: int, shape: Shape) -> None:
        if not shape:
            function.add(depth, "pass")
        elif depth < DEEPEST:
            self._chain(function, depth, shape, None)
        else:
            name = f"fiber_{self._number}"
            self._function(name, shape, "return value")
            function.add(depth, f"value = {name}(value)")
            function.add(depth, "if value is None:")
            function.add(depth + 1, "return")

    def _rest(self, function: _Function, depth: int, shape: Shape, ending: str | None) -> None:
        if depth < DEEPEST:
            self._chain(function, depth, shape, ending)
        else:
            name = f"rest_{self._number}"
            self._function(name, shape, ending or "return value")
            function.add(depth, f"{name}(value)")


def _numbered(line: str, number: int) -> str:
    return re.sub(r"\$(\w+)", rf"\1_{number}", line)
