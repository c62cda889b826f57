"""The command and the plugin: they work from any folder, and their status and output say what happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

FEW = "one_callers_emissions or fan_out_is_owned"
FAULTS = ("-p", "substrates_tck.faults.plugin")


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-P", "-m", *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _tck(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(folder, "substrates_tck", *arguments)


def test_run_from_any_folder_prints_areas_and_counts(tmp_path: Path) -> None:
    # What lies in the folder must not matter.
    (tmp_path / "conftest.py").write_text("raise RuntimeError('a conftest of somebody else')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    (tmp_path / "substrates.py").write_text("raise RuntimeError('not this one')\n")

    done = _tck(tmp_path, "run", "reference", "-k", FEW)

    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert any(line.split()[:1] == ["CIRCUIT-ORDER"] for line in lines)
    assert any(line.startswith("reference: 10 of 10 passed") for line in lines), done.stdout


def test_run_writes_junit_and_json(tmp_path: Path) -> None:
    done = _tck(
        tmp_path, "run", "-q", "--provider", "reference", "-k", FEW, "--junit", "j.xml", "--json", "r.json"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    suites = ET.parse(tmp_path / "j.xml").getroot().findall("testsuite")
    assert [(suite.get("name"), suite.get("tests")) for suite in suites] == [
        ("substrates-tck.reference", "10")
    ]
    report = json.loads((tmp_path / "r.json").read_text())
    assert [(run["provider"], run["ok"], run["passed"]) for run in report["runs"]] == [
        ("reference", True, 10)
    ]
    assert all(test["rules"] and test["outcome"] == "passed" for test in report["runs"][0]["tests"])


def test_run_names_an_unknown_provider(tmp_path: Path) -> None:
    done = _tck(tmp_path, "run", "nowhere")

    assert done.returncode == 2
    assert "no provider 'nowhere' is installed" in done.stderr
    assert "reference" in done.stderr


def test_run_without_a_test_fails(tmp_path: Path) -> None:
    done = _tck(tmp_path, "run", "reference", "-q", "-k", "there_is_no_such_test")

    assert done.returncode == 1
    assert "reference: 0 of 0 passed" in done.stdout


@pytest.mark.parametrize("bound", ["0", "-1", "nan", "inf", "soon"])
def test_a_bound_that_bounds_nothing_is_refused(bound: str, tmp_path: Path) -> None:
    done = _tck(tmp_path, "run", "reference", "--bound", bound)

    assert done.returncode == 2, done.stdout + done.stderr
    assert "--bound" in done.stderr
    assert bound in done.stderr
    assert "reference:" not in done.stdout

    done = _run(tmp_path, "pytest", "--pyargs", "substrates_tck", "--bound", bound)

    assert done.returncode == 4
    assert f"{bound!r}: a number of seconds, more than 0, is required" in done.stderr


@pytest.mark.parametrize("option", ["--json", "--junit"])
def test_a_report_that_cannot_be_written_is_refused_before_the_run(option: str, tmp_path: Path) -> None:
    done = _tck(tmp_path, "run", "reference", option, "nowhere/report")

    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{option} nowhere/report: cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert "reference:" not in done.stdout


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_a_bad_expression_is_refused_with_pytests_message(quiet: list[str], tmp_path: Path) -> None:
    done = _tck(tmp_path, "run", "reference", "-k", "a b", *quiet)

    assert done.returncode == 2, done.stdout + done.stderr
    assert "Wrong expression passed to '-k': a b" in done.stderr
    assert "pytest refuses to run" in done.stderr
    assert "FAILED" not in done.stdout


def test_mutants_names_an_unknown_provider(tmp_path: Path) -> None:
    done = _tck(tmp_path, "mutants", "--provider", "nowhere")

    assert done.returncode == 2
    assert "no provider 'nowhere' is installed" in done.stderr
    assert not done.stdout


def test_ctrl_c_is_no_verdict(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "substrates_tck", "run", "reference"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reference:\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)

    assert process.returncode == 130, said
    assert "interrupted" in said
    assert "Traceback" not in said


def test_coverage_counts_rules_and_tells_why_some_have_no_test(tmp_path: Path) -> None:
    done = _tck(tmp_path, "coverage")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "CIRCUIT-TRANSIT" in done.stdout
    assert "no test: documentation; the reader's to judge" in done.stdout
    assert "NO REASON GIVEN" not in done.stdout
    assert "(100.0 %)" in next(line for line in done.stdout.splitlines() if line.startswith("MUST"))


def test_coverage_fails_when_too_few_rules_have_a_test(tmp_path: Path) -> None:
    done = _tck(tmp_path, "coverage", "--least-should", "100")

    assert done.returncode == 1


def test_run_writes_a_certificate(tmp_path: Path) -> None:
    done = _tck(tmp_path, "run", "-q", "reference", "-k", FEW, "--certificate", "c.md")

    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "c.md").read_text()
    assert "no certificate: a part of the kit ran" in text
    assert "| passed | 10 of 10 |" in text


def test_known_failures_are_strict(tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text(
        "suite/test_order.py::test_one_callers_emissions_arrive_in_order  # they do not\n"
    )

    done = _tck(tmp_path, "run", "-q", "reference", "-k", FEW, "--known-failures", "known.txt")

    assert done.returncode == 1
    assert "is listed as a known failure, but passes" in done.stdout


def test_soak_compares_with_the_model_and_tells_its_seed(tmp_path: Path) -> None:
    done = _tck(tmp_path, "soak", "reference", "--minutes", "0.001", "--seed", "7")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "--seed 7" in done.stdout
    assert "reference: 100 programs, several producers" in done.stdout
    assert "no difference from the model" in done.stdout


def test_soak_prints_a_program_that_differs_as_a_script(tmp_path: Path) -> None:
    command = (
        "from substrates import spi; from substrates_tck.faults.plugin import MUTANTS, ToyProvider;"
        "[spi.register(each.name, ToyProvider(each.name, each)) for each in MUTANTS];"
        "from substrates_tck.cli import main;"
        "main(['soak', 'toy-depth-first', '--minutes', '0.001', '--seed', '7', '--no-shrink'])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1, done.stdout + done.stderr
    said, _, script = done.stdout.partition("to be run as it is:\n\n")
    assert "toy-depth-first differs from the model" in said
    compile(script.split("toy-depth-first: ")[0], "script", "exec")


def test_capabilities_are_named_with_their_meaning(tmp_path: Path) -> None:
    done = _tck(tmp_path, "capabilities")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "native-kernels: runs kernels as machine code" in done.stdout


def test_coverage_lists_the_tests_of_an_area(tmp_path: Path) -> None:
    done = _tck(tmp_path, "coverage", "--all", "--area", "CIRCUIT-TRANSIT")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "suite/test_transit.py::test_transit_is_breadth_first" in done.stdout


def test_pytest_runs_the_kit_from_any_folder(tmp_path: Path) -> None:
    done = _run(
        tmp_path,
        *(
            "pytest",
            "-p",
            "no:cacheprovider",
            "--pyargs",
            "substrates_tck",
            "--provider",
            "reference",
            "-k",
            FEW,
        ),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 passed" in done.stdout


def test_pytest_refuses_an_unknown_provider(tmp_path: Path) -> None:
    done = _run(tmp_path, "pytest", "--pyargs", "substrates_tck", "--provider", "nowhere")

    assert done.returncode == 4
    assert "no provider 'nowhere' is installed" in done.stderr


def test_a_provider_is_given_no_test_that_it_is_not_capable_of(tmp_path: Path) -> None:
    done = _run(
        tmp_path,
        *(
            "pytest",
            *FAULTS,
            "-p",
            "no:cacheprovider",
            "-rs",
            "--pyargs",
            "substrates_tck.suite.test_kernels",
        ),
        *("--provider", "toy"),
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "provider 'toy' is not capable of: kernels" in done.stdout
    assert "passed" not in done.stdout


def test_a_failure_names_the_provider_and_the_condition(tmp_path: Path) -> None:
    done = _run(
        tmp_path,
        *("pytest", *FAULTS, "-p", "no:cacheprovider", "--pyargs", "substrates_tck.suite.test_wait"),
        *("--provider", "toy-forgets-barrier", "--bound", "1", "-k", "several_callers"),
    )

    assert done.returncode == 1
    assert "test_several_callers_wait_at_once[toy-forgets-barrier-alone]" in done.stdout
    assert "not within 1 s: wait of" in done.stdout


def test_fixtures_serve_a_providers_own_tests(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "def test_own(circuit, wait, cortex):\n"
        "    received = []\n"
        "    circuit.pipe(received.append).emit(1)\n"
        "    wait(circuit)\n"
        "    assert received == [1] and cortex.provider == 'reference'\n"
    )

    done = _run(tmp_path, "pytest", "-p", "no:cacheprovider", "test_own.py", "--provider", "reference", "-v")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_own[reference] PASSED" in done.stdout


@pytest.mark.parametrize("command", ["run", "coverage", "mutants", "soak"])
def test_each_command_explains_itself(command: str, tmp_path: Path) -> None:
    done = _tck(tmp_path, command, "--help")

    assert done.returncode == 0
    assert "Exit status" in done.stdout
