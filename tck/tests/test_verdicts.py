"""What a run says in the end: vanished tests, known failures, certificates, coverage."""

from __future__ import annotations

from pathlib import Path

import pytest

from substrates_tck import manifest
from substrates_tck.certificate import certificate
from substrates_tck.coverage import cover
from substrates_tck.known import KnownFailure, MalformedListError, apply, read
from substrates_tck.runs import Run, Test, collect


def _run(*outcomes: str, status: int = 0) -> Run:
    tests = [
        Test(f"suite/test_x.py::test_{at}[mine-a]", ["CIRCUIT-ID-01"], False, outcome)
        for at, outcome in enumerate(outcomes)
    ]
    return Run("mine", tests, status, 1.5)


@pytest.mark.parametrize(
    ("id", "plain"),
    [
        ("t.py::test[mine]", "t.py::test"),
        ("t.py::test[mine-a-b]", "t.py::test[a-b]"),
        ("t.py::test[a-mine-b]", "t.py::test[a-b]"),
        ("t.py::test[a-mine]", "t.py::test[a]"),
        ("t.py::test[a-minelike-mine]", "t.py::test[a-minelike]"),
        ("t.py::test_mine", "t.py::test_mine"),
    ],
)
def test_the_provider_is_taken_out_of_an_id(id: str, plain: str) -> None:
    assert manifest.plain(id, "mine") == plain


def test_the_manifest_lists_every_test_of_the_kit_and_no_other() -> None:
    collected = {
        manifest.plain(test.id, "toy")
        for test in collect("-p", "substrates_tck.faults.plugin", "--provider", "toy")
    }

    assert sorted(collected) == manifest.expected(), "make it anew: substrates-tck list --write"


def test_what_is_in_the_manifest_and_not_in_the_run_has_vanished() -> None:
    there = manifest.expected()

    assert manifest.vanished(there) == []
    assert manifest.vanished(there[1:]) == [there[0]]


def test_a_vanished_test_fails_a_run() -> None:
    run = _run("passed")

    assert run.ok
    run.tests.append(Test("suite/test_gone.py::test_gone", [], False))
    assert not run.ok


def test_a_known_failure_is_none(tmp_path: Path) -> None:
    run = _run("failed", "passed", status=1)

    assert not run.ok
    assert apply(run, [KnownFailure("suite/test_x.py::test_0[a]", "slow clock")]) == []
    assert run.ok
    assert run.count("known") == 1


@pytest.mark.parametrize("listed", ["suite/test_x.py::test_1[a]", "suite/test_x.py::test_1"])
def test_a_known_failure_that_passes_is_a_failure(listed: str) -> None:
    run = _run("passed", "passed")

    apply(run, [KnownFailure(listed, "used to fail")])

    assert not run.ok
    assert run.tests[1].outcome == "failed"
    assert "passes" in run.tests[1].message


def test_a_known_failure_of_no_test_is_told() -> None:
    line = KnownFailure("suite/test_x.py::test_9", "gone")

    assert apply(_run("passed"), [line]) == [line]


def test_known_failures_are_read_with_their_reasons(tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    file.write_text("# a list\n\nsuite/test_x.py::test_0[a # b]  # slow clock\n")

    assert read(file) == [KnownFailure("suite/test_x.py::test_0[a # b]", "slow clock")]


@pytest.mark.parametrize("text", ["suite/test_x.py::test_0\n", "a  # b\na  # c\n"])
def test_a_malformed_list_of_known_failures_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    file.write_text(text)

    with pytest.raises(MalformedListError, match=r"known.txt:\d: "):
        read(file)


def test_a_certificate_tells_counts_and_failures() -> None:
    good = certificate(_run("passed", "skipped"), whole=True)
    bad = certificate(_run("passed", "failed", status=1), whole=True)
    part = certificate(_run("passed"), whole=False)

    assert "**mine conforms.**" in good
    assert "| passed | 1 of 1 |" in good
    assert "| CIRCUIT-ID | 1 | 1 | 0 | 1 |" in good
    assert "**mine does not conform.**" in bad
    assert "`suite/test_x.py::test_1[mine-a]`" in bad
    assert "no certificate" in part


def test_coverage_counts_by_level_and_names_what_nobody_explains() -> None:
    done = cover([Test("suite/t.py::t[toy]", ["CIRCUIT-ID-01"], False)], "CIRCUIT-ID")

    assert done.count("MUST", tested=True) == 1
    assert done.count("MUST", tested=False) == 6
    assert done.unexplained == [f"CIRCUIT-ID-0{at}" for at in range(2, 7)]
