"""Extents: what a user's own class inherits when it supplies part and enclosure."""

from __future__ import annotations

from typing import Any

import pytest

from substrates import AbsentValueError, Cortex, Extent
from substrates_tck.marks import derived, rule


class Node(Extent):
    """The smallest extent."""

    def __init__(self, part: str, enclosure: Node | None = None) -> None:
        self._part = part
        self._enclosure = enclosure

    @property
    def part(self) -> str:
        return self._part

    @property
    def enclosure(self) -> Node | None:
        return self._enclosure


def _chain(*parts: str) -> list[Node]:
    nodes: list[Node] = []
    for part in parts:
        nodes.append(Node(part, nodes[-1] if nodes else None))
    return nodes


@rule("EXTENT-BASE-01", "EXTENT-PATH-11")
def test_part_and_enclosure_are_all_that_a_subclass_needs() -> None:
    root, child, leaf = _chain("a", "b", "c")

    assert leaf.path() == "a/b/c"
    assert root.path() == "a"
    assert child.within(root)
    with pytest.raises(TypeError):
        Extent()  # type: ignore[abstract]  # what the rule says


@rule("EXTENT-ENCL-02")
def test_the_enclosure_is_the_direct_parent() -> None:
    root, child, leaf = _chain("a", "b", "c")

    assert leaf.enclosure is child
    assert child.enclosure is root
    assert root.enclosure is None


@rule("EXTENT-DEPTH-03", "EXTENT-EXTREM-04", "EXTENT-COUNT-07")
@pytest.mark.parametrize("length", [1, 2, 3, 4, 11, 101])
def test_depth_extremity_and_counts_agree(length: int) -> None:
    nodes = _chain(*(f"level{number}" for number in range(length)))
    leaf = nodes[-1]

    assert leaf.depth == length
    assert leaf.extremity is nodes[0]
    assert len(list(leaf)) == length
    assert leaf.fold(lambda node: 1, lambda count, node: count + 1) == length
    assert leaf.fold_to(lambda node: 1, lambda count, node: count + 1) == length


@rule("EXTENT-SELF-05")
def test_an_extents_extent_is_itself() -> None:
    root, child = _chain("a", "b")

    assert root.extent is root
    assert child.extent is child


@rule("EXTENT-ITER-06")
def test_iteration_goes_to_the_root_and_starts_anew_each_time() -> None:
    root, child, leaf = _chain("a", "b", "c")
    sibling = Node("sibling", root)

    assert list(leaf) == [leaf, child, root]
    assert list(leaf) == [leaf, child, root]
    assert sibling not in list(child)
    first, second = iter(leaf), iter(leaf)
    assert next(first) is leaf
    assert next(first) is child
    assert next(second) is leaf
    assert next(first) is root
    with pytest.raises(StopIteration):
        next(first)


@rule("EXTENT-FOLD-08")
def test_fold_goes_from_the_extent_to_its_root() -> None:
    root, _, leaf = _chain("10", "20", "30")
    visited: list[str] = []

    def add(total: int, node: Node) -> int:
        visited.append(node.part)
        return total + int(node.part)

    assert leaf.fold(lambda node: int(node.part), add) == 60
    assert visited == ["20", "10"]
    a, _, c = _chain("a", "b", "c")
    assert c.fold(lambda node: node.part, lambda text, node: f"{node.part}/{text}") == "a/b/c"
    visited.clear()
    assert root.fold(lambda node: int(node.part), add) == 10
    assert visited == []
    assert a.depth == 1


@rule("EXTENT-FOLDTO-09")
def test_fold_to_goes_from_the_root_to_the_extent_and_seeds_once() -> None:
    root, _, leaf = _chain("a", "b", "c")
    seeds: list[str] = []

    def seed(node: Node) -> str:
        seeds.append(node.part)
        return node.part

    assert leaf.fold_to(seed, lambda text, node: f"{text}.{node.part}") == "a.b.c"
    assert seeds == ["a"]
    _, two = _chain("one", "two")
    assert (
        two.fold_to(lambda node: node.part.upper(), lambda text, it: f"{text}-{it.part.upper()}") == "ONE-TWO"
    )
    assert root.fold_to(seed, lambda text, node: "never") == "a"


@rule("EXTENT-FOLD-10", "ERR-ABSENT-01")
@pytest.mark.parametrize("fold", ["fold", "fold_to"])
def test_absent_functions_of_folds_are_refused_before_the_walk(fold: str) -> None:
    leaf: Any = _chain("a", "b")[-1]
    called: list[Any] = []

    with pytest.raises(AbsentValueError):
        getattr(leaf, fold)(None, lambda result, node: called.append(node))
    with pytest.raises(AbsentValueError):
        getattr(leaf, fold)(called.append, None)

    assert called == []


@rule("EXTENT-PATH-11")
@pytest.mark.parametrize(
    "parts", [("a", "b", "c"), ("test-name_123", "child@#$"), ("root",), ("a/b", "c.d")], ids=repr
)
def test_a_path_joins_the_parts_verbatim_with_slashes(parts: tuple[str, ...]) -> None:
    assert _chain(*parts)[-1].path() == "/".join(parts)


@rule("EXTENT-PATH-12")
def test_a_path_takes_a_separator_and_a_mapper() -> None:
    assert _chain("x", "y")[-1].path("-") == "x-y"
    assert _chain("a", "b", "c")[-1].path("::") == "a::b::c"
    assert _chain("a", "b")[-1].path("") == "ab"
    assert _chain("hello", "world")[-1].path(lambda node: node.part.upper()) == "HELLO/WORLD"
    assert _chain("foo", "bar")[-1].path(lambda node: node.part.upper(), " -> ") == "FOO -> BAR"


@rule("EXTENT-PATH-12", "ERR-ABSENT-01")
def test_an_absent_separator_or_mapper_is_refused() -> None:
    leaf: Any = _chain("a", "b")[-1]

    for arguments in ((None,), (None, "-"), (lambda node: node.part, None)):
        with pytest.raises(AbsentValueError):
            leaf.path(*arguments)


@rule("EXTENT-PART-13")
def test_a_part_may_be_empty() -> None:
    assert Node("").path() == ""
    assert _chain("a", "", "c")[-1].path() == "a//c"


@rule("EXTENT-WITHIN-14")
def test_within_is_true_for_proper_enclosures_at_any_distance(cortex: Cortex) -> None:
    nodes = _chain(*(str(number) for number in range(11)))
    leaf = nodes[-1]

    assert all(leaf.within(node) for node in nodes[:-1])
    assert not leaf.within(leaf)
    assert not any(node.within(leaf) for node in nodes)
    assert not leaf.within(Node("0"))
    assert not leaf.within(cortex.subject)
    assert not cortex.subject.within(leaf)


@rule("EXTENT-WITHIN-14", "ERR-ABSENT-01")
def test_within_nothing_is_refused() -> None:
    leaf: Any = Node("a")

    with pytest.raises(AbsentValueError):
        leaf.within(None)
    with pytest.raises(TypeError) as unrelated:
        leaf.within("a")
    assert not isinstance(unrelated.value, AbsentValueError)


@rule("EXTENT-DEEP-15")
@derived
def test_depth_is_bounded_by_memory_alone() -> None:
    leaf = _chain(*["n"] * 5000)[-1]

    assert leaf.depth == 5000
    assert leaf.path("").count("n") == 5000
    assert leaf.fold_to(lambda node: 1, lambda count, node: count + 1) == 5000
    assert leaf.extremity.enclosure is None
