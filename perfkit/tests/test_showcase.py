"""`perfkit showcase` from end to end, on reference and on providers that are wrong on purpose."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import Result

from perfkit import machine
from perfkit.showcase.population import PythonPopulation
from substrates import spi

Command = Callable[..., Result]
Faulty = Callable[..., str]
Receive = Callable[[int], object]
Fault = Callable[[Receive, int], object]

KEYS = {
    "schema", "workload", "provider", "parameters", "verified", "build_s", "rounds", "deliveries_per_s",
    "handoffs_per_s", "cpu_ns_per_delivery", "cpu_ns_per_visit", "busy_percent", "cv_percent", "floor",
    "memory", "allocated_bytes_per_visit",
}  # fmt: skip
ROUND_KEYS = {
    "warmup", "seconds", "deliveries", "handoffs", "cpu_s", "allocated_bytes", "collections", "rss_bytes",
}  # fmt: skip


def _folder(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "results").iterdir()
    return folder


def _summary(tmp_path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_folder(tmp_path) / "summary.json").read_text())
    return content


def _rows(tmp_path: Path) -> list[dict[str, str]]:
    with (_folder(tmp_path) / "rounds.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("receptor", "build"), [("kernel", "loop"), ("kernel", "population"), ("python", "loop")]
)
def test_a_run_is_verified_and_kept(showcase: Command, tmp_path: Path, receptor: str, build: str) -> None:
    result = showcase("--receptor", receptor, "--build", build)

    assert result.exit_code == 0, result.output
    folder = _folder(tmp_path)
    assert folder.name.endswith("Z-showcase-reference")
    names = {path.name for path in folder.iterdir()}
    assert names == {"console.log", "rounds.csv", "summary.json", "environment.json", "source.json"}
    summary = _summary(tmp_path)
    assert summary.keys() >= KEYS
    assert summary["schema"] == 1
    assert summary["workload"] == "showcase"
    assert summary["provider"] == {"name": "reference", "version": "0.1.0"}
    assert summary["verified"] is True
    assert summary["parameters"]["build"] == build
    assert ("as a population" in result.output) == (build == "population")
    assert [each["warmup"] for each in summary["rounds"]] == [True, False, False]
    for each in summary["rounds"]:
        assert each.keys() >= ROUND_KEYS
        assert each["deliveries"] == 50
        assert each["handoffs"] == 8
    assert summary["floor"].keys() >= {"lean_ns", "checked_ns", "ratio_lean", "ratio_checked"}
    assert summary["memory"].keys() >= {"engine_bytes_per_circuit", "total_bytes_per_circuit"}


def test_what_is_unknown_is_not_available_and_never_zero(showcase: Command, tmp_path: Path) -> None:
    result = showcase()

    summary = _summary(tmp_path)
    assert summary["memory"]["engine_bytes_per_circuit"] is None
    assert summary["allocated_bytes_per_visit"] is None
    assert summary["floor"]["lean_ns"] is None
    allocated = next(
        line for line in result.stdout.splitlines() if line.startswith("Bytes allocated per visit")
    )
    assert allocated.split()[-1] == "n/a"


def test_the_evidence_says_where_it_was_made_and_of_what(showcase: Command, tmp_path: Path) -> None:
    result = showcase()

    environment = json.loads((_folder(tmp_path) / "environment.json").read_text())
    assert environment["machine"]["usable_cores"] == machine.usable_cores()
    assert environment["python"]["gil"] is True
    assert {"substrates", "substrates-perfkit", "substrates-reference", "pluggy"} <= set(
        environment["distributions"]
    )
    assert not {"hypothesis", "pytest", "Pygments"} & set(environment["distributions"])
    assert environment["provider"]["runtime"]["circuits"] >= 10
    source = json.loads((_folder(tmp_path) / "source.json").read_text())
    assert source.keys() == {"reason", "root", "commit", "dirty", "status", "diff"}
    assert (source["reason"] is None) != (source["commit"] is None)
    log = (_folder(tmp_path) / "console.log").read_text()
    assert result.stdout in log
    assert "warning: 2 measured rounds: too few" in log
    rows = _rows(tmp_path)
    assert [row["warmup"] for row in rows] == ["1", "0", "0"]
    assert rows[0]["allocated_bytes"] == ""


def test_json_is_all_there_is_on_standard_output(showcase: Command, tmp_path: Path) -> None:
    result = showcase("--json", "-")

    assert json.loads(result.stdout) == _summary(tmp_path)
    assert "Deliveries per second" in result.stderr


def test_json_goes_to_a_file(showcase: Command, tmp_path: Path) -> None:
    result = showcase("--json", str(tmp_path / "out.json"))

    assert json.loads((tmp_path / "out.json").read_text()) == _summary(tmp_path)
    assert "Deliveries per second" in result.stdout


def test_a_smaller_default_is_announced_in_the_first_line(perfkit: Command) -> None:
    result = perfkit("showcase", "--provider", "reference", "--rounds", "1", "--warmup", "0", "--no-floor")

    first = result.stdout.splitlines()[0]
    assert "smaller by default" in first
    assert "circuits 10,000 instead of 1,000,000" in first
    assert "burst 500 instead of 32,000" in first
    assert "minutes" not in first


def test_a_given_size_is_taken_as_it_is(showcase: Command) -> None:
    result = showcase("--circuits", "1_2", "--burst", "1_0")

    assert "12 circuits in 2 chains, burst 10" in result.stdout.splitlines()[0]


def test_burst_one_shows_the_cost_of_a_visit(showcase: Command, tmp_path: Path) -> None:
    result = showcase("--burst", "1")

    assert result.exit_code == 0
    assert "CPU ns/visit" in result.stdout
    summary = _summary(tmp_path)
    assert summary["cpu_ns_per_visit"] == summary["cpu_ns_per_delivery"]


def test_minutes_bound_the_measured_rounds(perfkit: Command, tmp_path: Path) -> None:
    size = ["--circuits", "10", "--burst", "5", "--warmup", "0", "--no-floor"]

    result = perfkit("showcase", "--provider", "reference", *size, "--minutes", "0.005")

    assert result.exit_code == 0
    assert len(_summary(tmp_path)["rounds"]) > 1
    assert 0.3 <= _summary(tmp_path)["measured_s"] < 3


def test_every_circuit_is_closed_in_the_end(showcase: Command) -> None:
    import substrates

    before = substrates.cortex("reference").facts()["circuits"]

    showcase()

    assert substrates.cortex("reference").facts()["circuits"] == before


# -- refusals, before anything is measured


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--burst", "0"], ["--burst", "0"]),
        (["--burst", "9" * 30], ["--burst", "64 bits", "or fewer"]),
        (["--circuits", "-5"], ["--circuits", "-5"]),
        (["--tokens", "11"], ["more tokens than circuits", "10"]),
        (["--stall", "-1"], ["--stall"]),
        (["--stall", "nan"], ["--stall", "nan", "finite"]),
        (["--stall", "inf"], ["--stall", "inf", "finite"]),
        (["--minutes", "nan"], ["--minutes", "nan", "finite"]),
        (["--minutes", "inf"], ["--minutes", "inf", "finite"]),
        (["--minutes", "1"], ["--rounds", "--minutes", "give one"]),
        (["--receptor", "rust"], ["rust", "kernel", "python"]),
        (["--build", "array"], ["array", "loop", "population"]),
        (["--build", "population"], ["--build population", "kernels", "--build loop"]),
        (["--results", os.devnull + "/x"], [os.devnull + "/x", "name another folder"]),
        (["--json", os.devnull + "/x"], ["--json", "name another file"]),
    ],
)
def test_what_cannot_be_done_is_refused(
    showcase: Command, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    result = showcase(*arguments)

    assert result.exit_code == 2, result.output
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "results").exists()


def test_a_population_that_does_not_fit_is_refused_before_it_is_built(
    showcase: Command, tmp_path: Path
) -> None:
    start = monotonic()

    result = showcase("--circuits", "1_000_000_000_000")

    assert result.exit_code == 2
    assert "or fewer" in result.stderr
    assert "are available" in result.stderr
    assert not (tmp_path / "results").exists()
    assert monotonic() - start < 10


def test_the_largest_population_that_fits_is_named(
    showcase: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "available_memory", lambda: 25_600)

    assert showcase("--circuits", "10").exit_code == 0
    assert "use 10 or fewer" in showcase("--circuits", "11").stderr


def test_kernels_are_refused_where_the_provider_runs_none(
    showcase: Command, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = faulty()
    monkeypatch.setattr(spi.load(name), "capabilities", frozenset())

    result = showcase("--receptor", "kernel", provider=name)

    assert result.exit_code == 2
    assert "--receptor python" in result.stderr


# -- providers that are wrong


def _skipping(number: int) -> Fault:
    """Lose the delivery `number`, but let the token go on with the next."""
    calls = iter(range(1_000_000))

    def fault(receive: Receive, value: int) -> object:
        return receive(value - 1 if next(calls) == number else value)

    return fault


def _dropping(number: int) -> Fault:
    """Lose the delivery `number`, and the token with it."""
    calls = iter(range(1_000_000))

    def fault(receive: Receive, value: int) -> object:
        return None if next(calls) == number else receive(value)

    return fault


def _twice(receive: Receive, value: int) -> None:
    receive(value)
    receive(value)


@pytest.mark.parametrize("receptor", ["kernel", "python"])
def test_a_lost_delivery_fails_and_names_the_circuit(
    showcase: Command, tmp_path: Path, faulty: Faulty, receptor: str
) -> None:
    name = faulty({3: _skipping(6)})  # the third from the end of the first chain of five, in its second round

    result = showcase("--receptor", receptor, provider=name)

    assert result.exit_code == 1
    assert "round 1: not verified, 1 of 10 circuits" in result.stderr
    assert "circuit 3 made 4" in result.stderr
    summary = _summary(tmp_path)
    assert summary["verified"] is False
    assert summary["outcome"] == "failed"
    assert "circuit 3 made 4" in summary["error"]
    assert len(summary["rounds"]) == 1
    assert "circuit 3 made 4" in (_folder(tmp_path) / "console.log").read_text()


def test_a_delivery_made_twice_fails_and_names_the_circuit(showcase: Command, faulty: Faulty) -> None:
    result = showcase("--burst", "1", provider=faulty({6: _twice}))  # the end of the second chain

    assert result.exit_code == 1
    assert "circuit 10 made 2" in result.stderr or "chain 2 has signalled twice" in result.stderr


@pytest.mark.parametrize("tokens", ["1", "2"])
def test_a_signal_made_twice_fails(showcase: Command, faulty: Faulty, tokens: str) -> None:
    result = showcase("--tokens", tokens, "--warmup", "0", "--rounds", "1", provider=faulty({0: _twice}))

    assert result.exit_code == 1
    assert "signalled twice" in result.stderr


@pytest.mark.parametrize(
    ("lost", "where"),
    [
        ({3: _dropping(7)}, "circuit 3 holds the token: it made 2 of 5 deliveries"),
        ({3: _dropping(5)}, "circuit 2 made its 5 deliveries, circuit 3 made none"),
        ({5: _dropping(5)}, "the seed was not delivered to circuit 1"),
        ({0: _dropping(2)}, "the last, made its 5 deliveries but has not signalled"),
    ],
)
def test_a_lost_token_is_reported_with_its_place(
    showcase: Command, tmp_path: Path, faulty: Faulty, lost: dict[int, Fault], where: str
) -> None:
    result = showcase("--stall", "1", provider=faulty(lost))

    assert result.exit_code == 1
    assert "no progress for 1 s" in result.stderr
    assert "1 of 2 tokens" in result.stderr
    assert where in result.stderr
    assert _summary(tmp_path)["outcome"] == "failed"


def test_a_slow_round_is_no_stall(showcase: Command, faulty: Faulty) -> None:
    def slow(receive: Receive, value: int) -> None:
        sleep(0.1)
        receive(value)

    result = showcase("--stall", "0.4", "--rounds", "1", "--warmup", "0", provider=faulty({3: slow, 4: slow}))

    assert result.exit_code == 0, result.output


def test_a_receptor_that_fails_is_told_of(showcase: Command, faulty: Faulty) -> None:
    def failing(receive: Receive, value: int) -> None:
        receive(value)
        raise ValueError("by the way")

    result = showcase(provider=faulty({2: failing}))

    assert result.exit_code == 0
    assert "receptors failed 15 times, first with ValueError: by the way" in result.stderr


# -- interrupted


def _until(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, f"no {what} in {seconds} s"
        sleep(0.02)


def _rounds_shown(results: Path) -> int:
    logs = list(results.glob("*/console.log"))
    return sum(line[:1].isdigit() for line in logs[0].read_text().splitlines()) if logs else 0


@pytest.mark.parametrize("repeat", ["1", "2"])
def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, repeat: str) -> None:
    size = ["--circuits", "100", "--burst", "3000", "--warmup", "1", "--minutes", "5", "--no-floor"]
    command = [
        sys.executable,
        "-m",
        "perfkit",
        "showcase",
        "--provider",
        "reference",
        *size,
        "--repeat",
        repeat,
    ]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            _until(lambda: _rounds_shown(tmp_path / "results") >= 2, "round")
            os.killpg(process.pid, signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()

    assert process.returncode == 130, output + errors
    assert "Traceback" not in errors
    summary = _summary(tmp_path)
    assert summary["outcome"] == "interrupted"
    assert summary["verified"] is False
    assert len(summary["rounds"]) >= 3
    assert summary["deliveries_per_s"] > 0
    rows = _rows(tmp_path)
    assert len(rows) == len(summary["rounds"])
    assert "interrupted" in output


def test_ctrl_c_once_more_is_still_an_interruption(
    showcase: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = PythonPopulation.close

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def close(population: PythonPopulation) -> None:
        closing(population)
        raise KeyboardInterrupt

    monkeypatch.setattr(PythonPopulation, "unequal", interrupt)
    monkeypatch.setattr(PythonPopulation, "close", close)

    result = showcase()

    assert result.exit_code == 130
    assert "Aborted" not in result.output
    assert _summary(tmp_path)["outcome"] == "interrupted"


@pytest.mark.slow
def test_repeated_runs_are_compared(tmp_path: Path) -> None:
    size = [
        "--circuits",
        "10",
        "--burst",
        "5",
        "--rounds",
        "1",
        "--warmup",
        "0",
        "--no-floor",
        "--repeat",
        "2",
    ]
    command = [sys.executable, "-m", "perfkit", "showcase", "--provider", "reference", *size, "--json", "-"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["runs"]) == 2
    assert len(list((tmp_path / "results").iterdir())) == 2
    assert "Run 1" in done.stderr
    assert "Run 2" in done.stderr
