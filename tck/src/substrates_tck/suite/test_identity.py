"""Identity: cortex, circuits, currents, subjects and ids."""

from __future__ import annotations

import copy
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import substrates
from substrates import Circuit, Cortex, Current, Extent, Id, Name, Pipe, Resource, Scope, Subject, Substrate
from substrates_tck.fixtures import NewCircuit
from substrates_tck.marks import derived, members, rule
from substrates_tck.waits import Background, Settle, Together

pytestmark = members


@rule("CORTEX-SINGLE-01")
def test_the_cortex_is_one_object_from_everywhere(
    cortex: Cortex, tck_provider: str, together: Together
) -> None:
    seen: list[Cortex] = []
    together(8, lambda number: seen.append(substrates.cortex(tck_provider)))

    assert all(each is cortex for each in seen)
    assert substrates.cortex(tck_provider).subject is cortex.subject
    assert substrates.cortex(tck_provider).subject.id is cortex.subject.id


@rule("CORTEX-ROOT-02")
def test_the_cortex_is_the_root(cortex: Cortex) -> None:
    subject = cortex.subject

    assert isinstance(cortex, Cortex)
    assert subject is cortex.subject
    assert subject.type is Cortex
    assert str(subject.name)
    assert subject.enclosure is None
    assert subject.depth == 1
    assert subject.extremity is subject
    assert not hasattr(cortex, "close")


@rule("CORTEX-ROOT-02")
@derived
def test_the_cortex_tells_its_provider_and_facts(cortex: Cortex, tck_provider: str) -> None:
    facts = cortex.facts()

    assert cortex.provider == tck_provider
    assert {"circuits", "pipes", "workers", "faults"} <= set(facts)


@rule("CIRCUIT-ID-01", "CORTEX-CIRCUIT-04")
def test_a_named_circuit_has_that_name(cortex: Cortex, new_circuit: NewCircuit) -> None:
    name = cortex.name("circuit.test.named")
    circuit = new_circuit(name)

    assert isinstance(circuit, Circuit)
    assert circuit.subject.name is name
    assert circuit.subject.type is Circuit


@rule("CIRCUIT-ID-02", "CORTEX-CIRCUIT-03")
def test_an_unnamed_circuit_has_a_subject_with_a_default_name(new_circuit: NewCircuit) -> None:
    circuit = new_circuit()

    assert isinstance(circuit.subject, Subject)
    assert isinstance(circuit.subject.id, Id)
    assert isinstance(circuit.subject.name, Name)
    assert circuit.subject.name.path()
    assert circuit.subject.type is Circuit


@rule("CIRCUIT-ID-03", "CORTEX-CIRCUIT-03", "SUBJECT-NAME-12")
@pytest.mark.parametrize("name", [None, "circuit.twin"])
def test_every_call_makes_another_circuit(name: str | None, new_circuit: NewCircuit) -> None:
    first, second = new_circuit(name), new_circuit(name)

    assert first is not second
    assert first.subject is not second.subject
    assert first.subject.id is not second.subject.id
    assert first.subject.id != second.subject.id
    assert first.subject.name is second.subject.name


@rule("CIRCUIT-ID-04", "CORTEX-CIRCUIT-04", "SUBJECT-IDENT-02", "SUBJECT-CHAIN-03", "SUBJECT-DEPTH-04")
def test_a_circuits_subject_is_enclosed_by_the_cortexs(cortex: Cortex, circuit: Circuit) -> None:
    subject: Subject[Any] = circuit.subject

    assert circuit.subject is subject
    assert subject.enclosure is cortex.subject
    assert subject.depth == 2
    assert list(subject)[-1] is cortex.subject


@rule("CIRCUIT-ID-05", "RES-01", "SHAPE-RESOURCE-04", "SHAPE-SUBSTRATE-03")
def test_what_is_a_resource_and_what_a_substrate(cortex: Cortex, circuit: Circuit) -> None:
    components: list[Any] = [cortex, circuit, circuit.pipe(), circuit.current, cortex.scope()]

    assert all(isinstance(component, Substrate) for component in components)
    assert [component for component in components if isinstance(component, Resource)] == [circuit]
    assert not hasattr(circuit, "subscribe")
    assert not isinstance(circuit.subject, Substrate)
    assert not isinstance(circuit.subject.name, Substrate)
    assert not isinstance(circuit.subject.id, Substrate)


@rule("SHAPE-SOURCE-06", "SHAPE-OPS-07")
def test_what_is_an_extent(cortex: Cortex, circuit: Circuit) -> None:
    extents = [cortex.subject.name, circuit.subject, cortex.scope()]
    others: list[Any] = [cortex, circuit, circuit.pipe(), circuit.current, circuit.subject.id]

    assert all(isinstance(extent, Extent) for extent in extents)
    assert not any(isinstance(other, Extent) for other in others)


@rule("CIRCUIT-ID-06", "ID-UNIQ-01", "ID-KINDS-03", "TYPE-EQ-01")
def test_every_kind_has_a_classifier_and_every_subject_an_id_of_its_own(
    cortex: Cortex, new_circuit: NewCircuit
) -> None:
    circuits = [new_circuit(), new_circuit()]
    kinds: list[list[Substrate]] = [
        [cortex],
        list(circuits),
        [circuit.pipe() for circuit in circuits],
        [circuit.current for circuit in circuits],
        [cortex.current()],
        [cortex.scope(), cortex.scope()],
    ]
    subjects = [component.subject for kind in kinds for component in kind]

    assert len({subject.id for subject in subjects}) == len(subjects)
    assert [{component.subject.type for component in kind} for kind in kinds] == [
        {Cortex},
        {Circuit},
        {Pipe},
        {Current},
        {Current},
        {Scope},
    ]


@rule("SHAPE-SUBSTRATE-03")
def test_a_subject_names_the_abstract_class_that_its_component_implements(
    cortex: Cortex, circuit: Circuit
) -> None:
    components: list[Substrate] = [cortex, circuit, circuit.pipe(), circuit.current, cortex.scope()]

    for component in components:
        assert isinstance(component, component.subject.type)


@rule("CURRENT-01", "CORTEX-CURRENT-07")
def test_the_current_of_a_context_is_one_object(cortex: Cortex) -> None:
    current = cortex.current()

    assert isinstance(current, Current)
    assert all(cortex.current() is current for _ in range(10))
    assert cortex.current().subject is current.subject
    assert cortex.current().subject.id is current.subject.id


@rule("CURRENT-02", "CORTEX-CURRENT-07")
def test_every_context_has_a_current_of_its_own(cortex: Cortex, background: Background) -> None:
    mine = cortex.current()
    with ThreadPoolExecutor(1) as executor:
        pooled = executor.submit(cortex.current).result()
        again = executor.submit(cortex.current).result()
    theirs = [background(cortex.current).result() for _ in range(3)]

    assert pooled is again
    currents = [mine, pooled, *theirs]
    assert len({id(current) for current in currents}) == 5
    assert len({current.subject.id for current in currents}) == 5


@rule("CURRENT-03", "CORTEX-CURRENT-08")
def test_a_currents_subject_has_a_name_an_id_and_the_type(
    cortex: Cortex, circuit: Circuit, background: Background
) -> None:
    for current in (cortex.current(), background(cortex.current).result(), circuit.current):
        assert current.subject.type is Current
        assert isinstance(current.subject.id, Id)
        assert current.subject.name.path()


@rule("CURRENT-03")
@derived
@pytest.mark.parametrize("name", ["", ".", "..", "a..b", ".a", "a.", "worker 1", "ünï.cödé"])
def test_a_thread_of_any_name_has_a_current(name: str, cortex: Cortex) -> None:
    seen: list[Current] = []
    thread = threading.Thread(target=lambda: seen.append(cortex.current()), name=name)

    thread.start()
    thread.join(10)

    assert len(seen) == 1
    assert seen[0].subject.name.path()


@rule("CURRENT-04")
def test_a_circuits_current_is_there_at_once_and_stays(circuit: Circuit, wait: Settle) -> None:
    current = circuit.current
    assert circuit.current is current
    circuit.pipe().emit(1)
    wait(circuit)

    assert circuit.current is current


@rule("CURRENT-05", "CORTEX-CURRENT-08")
def test_circuits_and_outside_contexts_have_different_currents(
    cortex: Cortex, new_circuit: NewCircuit
) -> None:
    first, second = new_circuit(), new_circuit()

    currents = {id(first.current), id(second.current), id(cortex.current())}
    assert len(currents) == 3
    assert len({first.current.subject.id, second.current.subject.id, cortex.current().subject.id}) == 3


@rule("CURRENT-06", "CORTEX-CURRENT-08")
def test_in_a_circuits_callbacks_the_current_is_the_circuits(
    cortex: Cortex, circuit: Circuit, wait: Settle
) -> None:
    seen: list[Current] = []

    def receive(value: int) -> None:
        seen.append(cortex.current())
        if value:
            pipe.emit(value - 1)

    pipe: Pipe[int] = circuit.pipe(receive)
    pipe.emit(3)
    wait(circuit)

    assert len(seen) == 4
    assert all(current is circuit.current for current in seen)


@rule("CURRENT-07", "CORTEX-CURRENT-07")
def test_a_kept_current_goes_on_naming_its_origin(cortex: Cortex, background: Background) -> None:
    kept: Current = background(cortex.current).result()
    subject, identity, name = kept.subject, kept.subject.id, kept.subject.name

    def read() -> tuple[object, object, object, bool]:
        return kept.subject, kept.subject.id, kept.subject.name, kept is cortex.current()

    for seen in (read(), background(read).result()):
        assert seen[0] is subject
        assert seen[1] is identity
        assert seen[2] is name
        assert seen[3] is False


@rule("CURRENT-02")
@derived
def test_a_new_thread_never_gets_the_current_of_an_ended_one(cortex: Cortex, background: Background) -> None:
    currents = [background(cortex.current).result() for _ in range(50)]

    assert len({id(current) for current in currents}) == 50


@rule("ID-EQ-02")
def test_an_id_is_equal_to_itself_alone(new_circuit: NewCircuit) -> None:
    first, second = new_circuit().subject.id, new_circuit().subject.id

    assert first == first
    assert first != second
    for other in ("id", 1, None, object(), str(first)):
        assert first != other
    assert hash(first) == object.__hash__(first)
    assert len({first, second, first}) == 2


@rule("SUBJECT-PROPS-01")
def test_a_subjects_properties_never_change(circuit: Circuit, wait: Settle) -> None:
    subject = circuit.subject
    before = (subject.id, subject.name, subject.type)
    circuit.pipe().emit(1)
    wait(circuit)
    circuit.close(wait=True)

    assert all(
        now is then for now, then in zip((subject.id, subject.name, subject.type), before, strict=True)
    )
    for attribute in ("id", "name", "type", "enclosure"):
        with pytest.raises(AttributeError):
            setattr(subject, attribute, None)


@rule("SUBJECT-IDENT-02")
@derived
def test_threads_that_race_for_a_subject_get_one(
    new_circuit: NewCircuit, together: Together, interleaved: None
) -> None:
    threads = 4
    circuits = [new_circuit() for _ in range(500)]
    pipes: list[Pipe[int]] = [circuit.pipe() for circuit in circuits]
    seen: list[list[object]] = []

    def read(number: int) -> None:
        subjects: list[object] = [component.subject for component in (*circuits, *pipes)]
        seen.append(subjects + [circuit.current for circuit in circuits])

    together(threads, read)

    assert len(seen) == threads
    racing = [{id(each) for each in same} for same in zip(*seen, strict=True)]
    assert [len(each) for each in racing] == [1] * 1500


@rule("SUBJECT-CHAIN-03", "SUBJECT-WITHIN-05", "SUBJECT-ITER-06", "SUBJECT-DEPTH-04")
def test_subjects_form_a_chain(cortex: Cortex, circuit: Circuit) -> None:
    pipe: Subject[Any] = circuit.pipe().subject
    owner, root = circuit.subject, cortex.subject

    assert list(pipe) == [pipe, owner, root]
    assert [subject.depth for subject in pipe] == [3, 2, 1]
    assert pipe.within(owner)
    assert pipe.within(root)
    assert owner.within(root)
    assert not pipe.within(pipe)
    assert not root.within(owner)
    assert not owner.within(pipe)
    assert pipe.extremity is root


@rule("SUBJECT-CHAIN-03")
@derived
def test_the_current_of_a_circuit_is_enclosed_by_the_circuit(circuit: Circuit) -> None:
    assert circuit.current.subject.enclosure is circuit.subject


@rule("SUBJECT-PART-07")
def test_a_subjects_part_shows_name_and_type(circuit: Circuit) -> None:
    part = circuit.subject.part

    assert part.startswith("Subject[name=")
    assert str(circuit.subject.name) in part
    assert "type=Circuit" in part
    assert "id=" in part


@rule("SUBJECT-PATH-08")
def test_a_subjects_path_joins_the_parts_root_first(cortex: Cortex, circuit: Circuit) -> None:
    pipe = circuit.pipe("subject.path", print).subject

    assert pipe.path() == f"{cortex.subject.part}/{circuit.subject.part}/{pipe.part}"
    assert str(pipe) == pipe.path()
    assert pipe.path().endswith(pipe.part)
    assert str(cortex.subject) == cortex.subject.part


@rule("SUBJECT-ENCL-09")
def test_a_subjects_enclosure_is_the_same_object_every_time(cortex: Cortex, circuit: Circuit) -> None:
    assert circuit.subject.enclosure is circuit.subject.enclosure
    assert circuit.subject.enclosure is cortex.subject


@rule("SUBJECT-ORDER-10")
def test_subjects_are_ordered_by_their_place_in_the_tree(cortex: Cortex, new_circuit: NewCircuit) -> None:
    late, early = new_circuit("order.b"), new_circuit("order.a")
    twins = [new_circuit("order.twin"), new_circuit("order.twin")]
    pipes = [
        *(early.pipe("z", print), early.pipe("z", print), late.pipe("a", print)),
        *(twins[0].pipe(print), twins[1].pipe(print)),
    ]
    subjects: list[Subject[Any]] = [
        cortex.subject,
        *(component.subject for component in (early, late, *twins, *pipes)),
    ]

    assert cortex.subject < early.subject < pipes[0].subject
    assert cortex.subject < pipes[0].subject
    assert early.subject < late.subject
    assert pipes[0].subject < pipes[2].subject, "parents decide before own names"
    assert (twins[0].subject < twins[1].subject) == (pipes[3].subject < pipes[4].subject)
    backwards = subjects[::-1]
    ordered = sorted(subjects)
    assert ordered == sorted(backwards), "a total order"
    for left, right in itertools.product(subjects, repeat=2):
        assert (left < right) + (right < left) + (left is right) == 1
        assert (left <= right) == (not right < left)
        assert (left > right) == (right < left)
        assert (left >= right) == (right <= left)
    for left, right in itertools.pairwise(ordered):
        assert left < right


@rule("SUBJECT-NAME-12")
def test_subjects_may_share_one_name(cortex: Cortex, new_circuit: NewCircuit) -> None:
    name = cortex.name("subject.shared")
    circuits = [new_circuit(name) for _ in range(3)]

    assert all(circuit.subject.name is name for circuit in circuits)
    assert len({circuit.subject.id for circuit in circuits}) == 3
    assert len({circuit.subject for circuit in circuits}) == 3


@rule("CIRCUIT-ID-01")
@derived
def test_a_component_tells_who_it_is(cortex: Cortex, tck_provider: str) -> None:
    circuit = cortex.circuit("repr.orders")
    try:
        pipe = circuit.pipe("repr.filled", print)
        assert "repr.orders" in repr(circuit)
        assert tck_provider in repr(circuit)
        assert "repr.filled" in repr(pipe)
        assert "repr.orders" in repr(pipe)
        assert tck_provider in repr(cortex)
    finally:
        circuit.close()


@rule("SPI-MIX-13")
@derived
def test_what_runs_in_this_process_refuses_to_be_pickled(cortex: Cortex, circuit: Circuit) -> None:
    import pickle

    identities = (circuit.subject, circuit.subject.id, cortex.current())
    scope = cortex.scope()
    parts = (circuit.pipe(), circuit.conduit(), circuit.cell(0), scope, scope.closure(circuit))
    for component in (cortex, circuit, *parts, *identities):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(component)
    scope.close()


@rule("SPI-MIX-13")
@derived
def test_there_are_no_two_of_what_can_be_used_once(cortex: Cortex, circuit: Circuit) -> None:
    scope = cortex.scope()
    for component in (circuit, circuit.pipe(), scope, scope.closure(circuit)):
        with pytest.raises(TypeError):
            copy.copy(component)
    scope.close()


@rule("SUBJECT-IDENT-02", "ID-EQ-02")
@derived
def test_copies_of_an_identity_are_the_identity(cortex: Cortex, circuit: Circuit) -> None:
    for identity in (circuit.subject, circuit.subject.id, cortex.current()):
        assert copy.copy(identity) is identity
        assert copy.deepcopy([identity])[0] is identity
