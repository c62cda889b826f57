"""Names: interned hierarchical labels, with the contract's vectors."""

from __future__ import annotations

import copy
import enum
import itertools
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from substrates import AbsentValueError, ConfigurationError, Cortex, Name
from substrates_tck.marks import derived, rule
from substrates_tck.waits import Together

VALID: dict[str, tuple[str, ...]] = {
    "x": ("x",),
    "root": ("root",),
    "root.child.grandchild": ("root", "child", "grandchild"),
    "test-name_123": ("test-name_123",),
    "child@#$": ("child@#$",),
    "java.lang.String[]": ("java", "lang", "String[]"),
    "int[][]": ("int[][]",),
    "a" * 1000: ("a" * 1000,),
    "überraschung.日本": ("überraschung", "日本"),
    "a b": ("a b",),
    " ": (" ",),
    "\t": ("\t",),
    "e\u0301": ("e\u0301",),
    "\u00e9": ("\u00e9",),
    "a/b": ("a/b",),
    "A": ("A",),
    "a": ("a",),
}
MALFORMED = ["", ".", ".a", "a.", "..a", "a..", "a..b", "a...b", "a..b..c"]
Route = Callable[[Cortex, Any], Name]
ROUTES: dict[str, Route] = {
    "cortex.name(str)": lambda cortex, path: cortex.name(path),
    "name.name(str)": lambda cortex, path: cortex.name("base").name(path),
    "name / str": lambda cortex, path: cortex.name("base") / path,
    "cortex.name(list)": lambda cortex, path: cortex.name([path]),
    "cortex.name(iterator)": lambda cortex, path: cortex.name(iter(["base", path])),
    "name.name(list)": lambda cortex, path: cortex.name("base").name(["sub", path]),
    "name.name(iterator)": lambda cortex, path: cortex.name("base").name(iter([path])),
    "cortex.name(list, mapper)": lambda cortex, path: cortex.name([0], lambda number: path),
    "name.name(list, mapper)": lambda cortex, path: cortex.name("base").name([0], lambda number: path),
    "cortex.circuit(str)": lambda cortex, path: _closed(cortex.circuit(path)).subject.name,
    "cortex.scope(str)": lambda cortex, path: cortex.scope(path).subject.name,
}
EVERY_ROUTE = pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)


def _closed(circuit: Any) -> Any:
    circuit.close()
    return circuit


def _id(text: str) -> str:
    return ascii(text if len(text) < 30 else f"{text[:3]} x {len(text)}")


class Colour(enum.Enum):
    """An enumeration."""

    RED = 1
    GREEN = 2


class Outer:
    """A class with one inside."""

    class Inner:
        """The one inside."""

        def method(self) -> None: ...


@rule("NAME-PARSE-01", "NAME-PARSE-02", "NAME-EXTENT-10")
@pytest.mark.parametrize(("path", "segments"), VALID.items(), ids=map(_id, VALID))
def test_a_path_is_split_at_dots_and_kept_verbatim(
    path: str, segments: tuple[str, ...], cortex: Cortex
) -> None:
    name = cortex.name(path)

    assert name.depth == len(segments)
    assert name.part == segments[-1]
    assert name.extremity.part == segments[0]
    assert [each.part for each in name] == list(reversed(segments))
    assert name.path() == path
    assert str(name) == path
    assert (name.enclosure is None) == (len(segments) == 1)


@rule("NAME-PARSE-01", "NAME-FACTORY-17", "NAME-EXT-11", "ERR-ARG-01")
@pytest.mark.parametrize("path", MALFORMED, ids=_id)
@EVERY_ROUTE
def test_a_malformed_path_is_refused_on_every_route(path: str, route: Route, cortex: Cortex) -> None:
    with pytest.raises(ConfigurationError):
        route(cortex, path)


@rule("NAME-FACTORY-17", "NAME-FACTORY-18", "NAME-EXT-15", "ERR-ABSENT-01")
@EVERY_ROUTE
def test_an_absent_path_is_refused_on_every_route(route: Route, cortex: Cortex) -> None:
    with pytest.raises(AbsentValueError):
        route(cortex, None)


@rule("NAME-PARSE-02")
def test_names_are_compared_exactly(cortex: Cortex) -> None:
    names = [cortex.name(path) for path in VALID]

    assert len({id(name) for name in names}) == len(VALID)
    assert cortex.name("A") is not cortex.name("a")
    assert cortex.name("e\u0301") is not cortex.name("\u00e9")


@rule("NAME-PARSE-03")
def test_a_very_deep_name_is_made_or_refused_but_never_a_crash(cortex: Cortex) -> None:
    path = ".".join(["deep"] * 5000)
    try:
        name = cortex.name(path)
    except ConfigurationError:
        return
    assert name.depth == 5000
    assert name.path() == path
    assert cortex.name(path) is name


@rule("NAME-INTERN-04", "NAME-EQ-08")
def test_equal_paths_are_one_object(cortex: Cortex) -> None:
    first, second = cortex.name("test.name"), cortex.name("test.name")

    assert first is second
    assert first == second
    assert hash(first) == hash(second)
    assert first is not cortex.name("test.other")
    assert first != cortex.name("test.other")
    assert {first: 1}[second] == 1
    text: object = "test.name"
    assert first != text


@rule("NAME-INTERN-05")
def test_all_routes_lead_to_one_object(cortex: Cortex) -> None:
    expected = cortex.name("root.a.b")
    root = cortex.name("root")

    routes = [
        root.name("a").name("b"),
        root.name("a.b"),
        root / "a" / "b",
        root / "a.b",
        root.name(cortex.name("a.b")),
        root / cortex.name("a.b"),
        root.name(["a", "b"]),
        root.name(iter(["a", "b"])),
        root.name(["a", cortex.name("b")]),
        cortex.name(["root", "a.b"]),
        cortex.name(iter(["root.a", "b"])),
        cortex.name(("root", "a", "b")),
        cortex.name(["ROOT", "A", "B"], str.lower),
        cortex.name(iter("rab"), {"r": "root", "a": "a", "b": "b"}.__getitem__),
        cortex.name(cortex.name("root.a.b")),
        cortex.name([cortex.name("root.a"), "b"]),
    ]
    assert all(name is expected for name in routes)


@rule("NAME-INTERN-06")
def test_enclosures_are_interned_too(cortex: Cortex) -> None:
    assert cortex.name("a.b").enclosure is cortex.name("a")
    expected = [cortex.name(path) for path in ("a.b.c.d", "a.b.c", "a.b", "a")]
    assert all(one is other for one, other in zip(cortex.name("a.b.c.d"), expected, strict=True))


@rule("NAME-INTERN-07", "CIRCUIT-FACT-17")
def test_interning_is_free_of_races(cortex: Cortex, together: Together, interleaved: None) -> None:
    threads, count = 20, 100
    for round_ in range(10):
        seen: list[list[Name]] = []

        def make(number: int, round_: int = round_, seen: list[list[Name]] = seen) -> None:
            names = [cortex.name(f"race{round_}.b{each}.c") for each in range(count)]
            base = cortex.name(f"base{round_}")
            names += [base.name(f"child{each}").name("grandchild") for each in range(count)]
            seen.append(names)

        together(threads, make)
        assert len(seen) == threads
        racing = [{id(name) for name in same} for same in zip(*seen, strict=True)]
        assert [len(each) for each in racing] == [1] * (2 * count)
        assert all(cortex.name(str(name)) is name for name in seen[0])


@rule("NAME-IMMUT-09", "NAME-EXT-11")
def test_extending_makes_another_name_and_leaves_this_one(cortex: Cortex) -> None:
    root = cortex.name("root")
    extended = root.name("child.grandchild")

    assert extended is cortex.name("root.child.grandchild")
    assert root.path() == "root"
    assert root.depth == 1
    for attribute in ("part", "enclosure", "depth", "anything"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(root, attribute, "x")
        with pytest.raises((AttributeError, TypeError)):
            delattr(root, attribute)


@rule("NAME-EXTENT-10")
def test_a_deep_names_places(cortex: Cortex) -> None:
    name = cortex.name("root.level1.level2.level3.level4")

    assert name.depth == 5
    assert name.part == "level4"
    assert name.extremity is cortex.name("root")
    assert name.enclosure is cortex.name("root.level1.level2.level3")


@rule("NAME-EXT-12")
def test_a_name_is_extended_by_a_name(cortex: Cortex) -> None:
    extended = cortex.name("root").name(cortex.name("child.grandchild"))

    assert extended.path() == "root.child.grandchild"
    assert extended.enclosure is cortex.name("root.child")


@rule("NAME-EXT-13")
@pytest.mark.parametrize("form", [list, tuple, iter])
def test_a_name_is_extended_by_an_iterable_whose_elements_may_have_dots(
    form: Callable[[list[str]], Iterable[str]], cortex: Cortex
) -> None:
    extended = cortex.name("base").name(form(["level1", "level2.level3"]))

    assert extended.depth == 4
    assert extended is cortex.name("base.level1.level2.level3")


@rule("NAME-EXT-14")
def test_extending_by_nothing_gives_the_name_itself(cortex: Cortex) -> None:
    base = cortex.name("base.nothing")

    assert base.name([]) is base
    assert base.name(iter(())) is base
    assert base.name([], str) is base


@rule("NAME-EXT-15", "NAME-FACTORY-19")
def test_mapped_elements(cortex: Cortex) -> None:
    assert cortex.name("base").name([1, 2], lambda number: f"item{number}").part == "item2"
    assert cortex.name("base").name(iter([5, 10]), lambda number: f"val{number}").part == "val10"
    assert cortex.name([1, 2, 3], str).path() == "1.2.3"
    assert cortex.name(iter([10, 20, 30]), str).part == "30"


@rule("NAME-EXT-15", "NAME-FACTORY-18", "ERR-ABSENT-01")
def test_an_absent_mapper_is_refused(cortex: Cortex) -> None:
    anything: Any = cortex.name
    extend: Any = cortex.name("base").name

    for make in (anything, extend):
        with pytest.raises(AbsentValueError):
            make([1], None)
        with pytest.raises(AbsentValueError):
            make(None, str)
        with pytest.raises(AbsentValueError):
            make([1], lambda number: None)


@rule("NAME-FACTORY-16")
@derived
@pytest.mark.parametrize("empty", [[], (), {}, "iterator"], ids=repr)
def test_a_name_of_no_elements_is_refused(empty: Any, cortex: Cortex) -> None:
    with pytest.raises(ConfigurationError):
        cortex.name(iter(()) if empty == "iterator" else empty)


@rule("NAME-FACTORY-18")
@derived
@pytest.mark.parametrize("unrelated", [42, 1.5, ..., b"bytes", [42], [b"x"]], ids=repr)
def test_what_is_no_path_is_a_plain_type_error(unrelated: Any, cortex: Cortex) -> None:
    for make in (cortex.name, cortex.name("base").name):
        with pytest.raises(TypeError) as refused:
            make(unrelated)
        assert not isinstance(refused.value, AbsentValueError)


@rule("NAME-ENUM-20")
def test_an_enum_members_name(cortex: Cortex) -> None:
    member: Any = Colour.RED
    full = cortex.name(member)

    assert full.path() == f"{Colour.__module__}.{Colour.__qualname__}.RED"
    assert full.part == "RED"
    assert cortex.name("base").name(member) is cortex.name("base.RED")


@rule("NAME-CLASS-21")
def test_a_classs_name(cortex: Cortex) -> None:
    path = f"{Outer.Inner.__module__}.Outer.Inner"

    assert cortex.name(Outer.Inner) is cortex.name(path)
    assert cortex.name(Outer.Inner).part == "Inner"
    assert cortex.name(Outer).name(Outer).path() == f"{Outer.__module__}.Outer.{Outer.__module__}.Outer"


@rule("NAME-MEMBER-22")
def test_a_functions_name(cortex: Cortex) -> None:
    method: Any = Outer.Inner.method

    assert cortex.name(method).part == "method"
    assert cortex.name(method).enclosure is cortex.name(Outer.Inner)


@rule("NAME-ORDER-23")
def test_names_are_totally_ordered(cortex: Cortex) -> None:
    paths = ["a", "a.a", "a.b", "a-b", "b", "b.a.c", "c", "root", "root.child"]
    names = [cortex.name(path) for path in paths]

    backwards = names[::-1]

    assert sorted(backwards) == names
    for (place, one), (other_place, other) in itertools.product(enumerate(names), repeat=2):
        assert (one < other) == (place < other_place)
        assert (one <= other) == (place <= other_place)
        assert (one > other) == (place > other_place)
        assert (one >= other) == (place >= other_place)


@rule("NAME-ORDER-23")
@derived
def test_a_name_is_not_ordered_against_other_things(cortex: Cortex) -> None:
    name: Any = cortex.name("a")

    for other in ("a", 1, None):
        with pytest.raises(TypeError):
            _ = name < other


@rule("NAME-ITER-24")
def test_iteration_goes_from_the_name_to_its_root(cortex: Cortex) -> None:
    iterator = iter(cortex.name("a.b.c"))

    assert [name.part for name in iterator] == ["c", "b", "a"]
    with pytest.raises(StopIteration):
        next(iterator)


@rule("NAME-FOLD-25")
def test_both_folds_give_the_dotted_path(cortex: Cortex) -> None:
    name = cortex.name("a.b.c")

    assert name.fold(lambda it: it.part, lambda text, it: f"{it.part}.{text}") == "a.b.c"
    assert name.fold_to(lambda it: it.part, lambda text, it: f"{text}.{it.part}") == "a.b.c"


@rule("NAME-PATH-26")
def test_paths_with_separators_and_mappers(cortex: Cortex) -> None:
    assert cortex.name("x.y.z").path("-") == "x-y-z"
    assert cortex.name("one.two.three").path("::") == "one::two::three"
    assert cortex.name("test.name").path(lambda it: it.part.upper(), "|") == "TEST|NAME"
    assert cortex.name("foo.bar").path(lambda it: it.part.upper(), " -> ") == "FOO -> BAR"
    assert cortex.name("a.b.c").path(lambda it: it.part.upper()) == "A.B.C"


@rule("NAME-PATH-26", "ERR-ABSENT-01")
def test_an_absent_separator_or_mapper_is_refused(cortex: Cortex) -> None:
    path: Any = cortex.name("a.b").path

    for arguments in ((None,), (None, "-"), (lambda it: it.part, None)):
        with pytest.raises(AbsentValueError):
            path(*arguments)


@rule("NAME-WITHIN-27")
def test_within_is_a_strict_ancestor_test(cortex: Cortex) -> None:
    root, child = cortex.name("root"), cortex.name("root.child")

    assert child.within(root)
    assert not root.within(child)
    assert not root.within(root)
    assert not child.within(cortex.name("child"))


@rule("NAME-ENCL-28")
def test_the_enclosure_and_the_extent(cortex: Cortex) -> None:
    name = cortex.name("parent.child")

    assert name.enclosure is cortex.name("parent")
    assert cortex.name("root").enclosure is None
    assert name.extent is name


@rule("NAME-EQ-08")
@derived
def test_copies_and_pickles_of_a_name_are_the_name(cortex: Cortex) -> None:
    name = cortex.name("copied.name")

    assert copy.copy(name) is name
    assert copy.deepcopy([name])[0] is name
    assert pickle.loads(pickle.dumps(name)) is name
