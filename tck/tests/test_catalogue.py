"""The kit's catalogue is the contract's, and every rule has a test or a reason."""

from __future__ import annotations

import csv
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from substrates_tck.catalogue import gaps, reason, rules
from substrates_tck.runs import Test, collect

RULES = Path(__file__).resolve().parents[3] / "shared/contract/rules.tsv"


@pytest.fixture(scope="module")
def collected() -> list[Test]:
    """Return the kit's tests."""
    return collect("-p", "substrates_tck.faults.plugin", "--provider", "toy")


@pytest.mark.skipif(not RULES.exists(), reason=f"{RULES} is not at hand")
def test_catalogue_has_the_rules_of_the_contract() -> None:
    with RULES.open(encoding="utf-8", newline="") as source:
        contract = {(row["id"], row["level"], row["scope"]) for row in csv.DictReader(source, delimiter="\t")}

    ours = {
        (rule.id, rule.level, rule.scope)
        for rule in rules().values()
        if rule.area not in {"KERNEL", "POPULATION", "PYTHON"}
    }

    assert ours == contract


def test_each_test_names_rules_of_the_catalogue(collected: list[Test]) -> None:
    known = rules()

    assert [test.id for test in collected if not test.rules] == []
    assert {name for test in collected for name in test.rules if name not in known} == set()


def test_each_rule_has_a_test_or_a_reason(collected: list[Test]) -> None:
    tested = {name for test in collected for name in test.rules}
    known = gaps()

    assert [
        rule.id for rule in rules().values() if rule.id not in tested and reason(rule, known) is None
    ] == []


def test_each_gap_is_one(collected: list[Test]) -> None:
    tested = {name for test in collected for name in test.rules}
    ids = list(rules())

    for gap in gaps():
        untested = [name for name in ids if fnmatchcase(name, gap.pattern) and name not in tested]
        assert untested, f"{gap.pattern}: every rule has a test by now; take the line out of gaps.tsv"


def test_each_collected_test_has_a_name_of_its_own(collected: list[Test]) -> None:
    assert len({test.id for test in collected}) == len(collected)
    assert len(collected) > 500
