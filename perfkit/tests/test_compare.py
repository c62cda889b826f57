"""`perfkit compare`: providers in turn, each turn a process of its own, and kept runs against each other."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import Result

import substrates
from perfkit import machine
from perfkit.compare import WORKLOADS, turns
from perfkit.errors import Refusal
from perfkit.workload import Plan
from substrates import spi

Command = Callable[..., Result]
Edit = Callable[[dict[str, Any]], object]

SIZE = ["--circuits", "10", "--burst", "5", "--tokens", "2", "--rounds", "2", "--no-floor"]
KEYS = [
    "cpu_ns_per_delivery", "floor.ratio_lean", "deliveries_per_s", "handoffs_per_s", "build_s",
    "memory.engine_bytes_per_circuit", "memory.total_bytes_per_circuit",
]  # fmt: skip

WRONG = '''
import itertools, json, os, signal, sys
import substrates
from substrates import spi


class Circuit:
    """Its receptors get every value twice."""

    def __init__(self, inner):
        self._inner = inner

    def pipe(self, receptor, **options):
        def twice(value):
            getattr(receptor, "receive", receptor)(value)
            getattr(receptor, "receive", receptor)(value)

        return self._inner.pipe(twice, **options)

    def __getattr__(self, name):
        return getattr(self._inner, name)


@substrates.Cortex.register
class Cortex:
    """Reference, but from its second process on its fourth circuit is wrong."""

    provider = "twice"

    def __init__(self):
        self._inner = substrates.cortex("reference")
        self._made = itertools.count()
        with open(os.environ["WRONG_STARTS"], "a") as file:
            file.write("x")
            self._wrong = file.tell() > 1

    def circuit(self, *name, **options):
        inner = self._inner.circuit(*name, **options)
        return Circuit(inner) if next(self._made) == 3 and self._wrong else inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Provider(spi.Provider):
    version = "0"

    def __init__(self, name, create, capabilities=frozenset({"kernels"})):
        self.name, self.create, self.capabilities = name, create, capabilities

    def create(self):
        raise AssertionError


def die():
    print("about to die", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def quit():
    os._exit(0)


def lie():
    with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
        json.dump({"verified": False, "error": "circuit 3 made 4", "evidence": "elsewhere"}, file)
    os._exit(0)


class Plugin:
    def __init__(self, *about):
        self._about = about

    @spi.hookimpl
    def substrates_provider(self):
        return Provider(*self._about)


twice = Plugin("twice", Cortex)
mortal = Plugin("mortal", die)
quitting = Plugin("quitting", quit)
lying = Plugin("lying", lie)
# In the processes of the turns it runs no kernels.
changing = Plugin("changing", Cortex, frozenset() if "__main__" in sys.argv[0] else frozenset({"kernels"}))
'''


@pytest.fixture
def _wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install providers that are wrong where the processes of the turns find them too."""
    site = tmp_path / "site"
    metadata = site / "wrong-1.dist-info"
    metadata.mkdir(parents=True)
    names = ("twice", "mortal", "quitting", "lying", "changing")
    (site / "wrong_engine.py").write_text(WRONG)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong\nVersion: 1\n")
    points = [f"{name} = wrong_engine:{name}" for name in names]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{spi.GROUP}]", *points, ""]))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("WRONG_STARTS", str(tmp_path / "starts"))
    yield
    sys.modules.pop("wrong_engine", None)
    for name in names:
        for known in (spi._registry.plugins, spi._registry.providers, spi._registry.cortices):
            known.pop(name, None)


@pytest.fixture
def compare(perfkit: Command) -> Command:
    """Compare on a showcase of ten circuits, without floors."""

    def run(*arguments: str, providers: str = "reference,reference", repeats: int = 1) -> Result:
        what = ["--workload", "showcase", "--providers", providers, "--repeats", str(repeats)]
        return perfkit("compare", *what, *SIZE, *arguments)

    return run


def _folder(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "results").iterdir()
    return folder


def _summary(tmp_path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_folder(tmp_path) / "summary.json").read_text())
    return content


# -- providers in turn


def test_providers_take_turns_are_verified_and_kept(compare: Command, tmp_path: Path) -> None:
    result = compare("--json", str(tmp_path / "out.json"), repeats=2)

    assert result.exit_code == 0, result.output
    folder = _folder(tmp_path)
    assert folder.name.endswith("Z-compare-showcase-reference-reference")
    names = {path.name for path in folder.iterdir()}
    assert names == {"console.log", "summary.json", "environment.json", "source.json", "turns"}
    summary = _summary(tmp_path)
    assert json.loads((tmp_path / "out.json").read_text()) == summary
    assert (summary["schema"], summary["workload"], summary["compared"]) == (1, "compare", "showcase")
    assert summary["verified"] is True
    assert [each["label"] for each in summary["providers"]] == ["reference", "reference (2)"]
    order = [(each["turn"], each["label"]) for each in summary["turns"]]
    assert order == [(1, "reference"), (1, "reference (2)"), (2, "reference (2)"), (2, "reference")]
    assert [each["key"] for each in summary["metrics"]] == KEYS
    kept = [json.loads((folder / each["evidence"] / "summary.json").read_text()) for each in summary["turns"]]
    assert len({each["evidence"] for each in kept}) == 4
    for turn, own in zip(summary["turns"], kept, strict=True):
        assert own["verified"] is True
        assert own["parameters"]["receptor"] == "python"
        assert [each["warmup"] for each in own["rounds"]] == [True, False, False]
        assert turn["figures"]["cpu_ns_per_delivery"] == own["cpu_ns_per_delivery"]
    first = summary["metrics"][0]
    values = [kept[0]["cpu_ns_per_delivery"], kept[3]["cpu_ns_per_delivery"]]
    assert first["values"]["reference"] == pytest.approx(sum(values) / 2)
    ratio = first["ratios"]["reference (2)"]
    assert ratio["low"] < ratio["value"] < ratio["high"]
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["machine"]["usable_cores"] == machine.usable_cores()
    assert environment["providers"].keys() == {"reference", "reference (2)"}
    assert environment["providers"]["reference"]["runtime"]["circuits"] >= 10
    assert "substrates-reference" in environment["distributions"]
    assert result.stdout in (folder / "console.log").read_text()


def test_the_table_has_each_ones_median_the_ratio_its_interval_and_a_verdict(
    compare: Command, tmp_path: Path
) -> None:
    result = compare(repeats=2)

    header = next(line for line in result.stdout.splitlines() if line.startswith("Figure"))
    assert header.split("  ")[0] == "Figure"
    for title in ("reference (2) / reference", "95 % interval", "Verdict"):
        assert title in header
    floor = next(line for line in result.stdout.splitlines() if line.startswith("CPU/lean floor"))
    assert floor.split()[2:] == ["n/a"] * 5
    assert "verified: all 4 runs" in result.stdout


def test_one_turn_has_no_interval_and_advice_says_so(compare: Command) -> None:
    result = compare()

    line = next(line for line in result.stdout.splitlines() if line.startswith("CPU ns/delivery"))
    assert line.split()[-2:] == ["n/a", "n/a"]
    assert "1 turn of each: too few for an interval; use --repeats 3 or more" in result.stderr
    assert "2 of 2 runs gave warnings, the first one (turn 1, reference): 2 measured rounds" in result.stderr


def test_json_is_all_there_is_on_standard_output(compare: Command, tmp_path: Path) -> None:
    result = compare("--json", "-")

    assert json.loads(result.stdout) == _summary(tmp_path)
    assert "Verdict" in result.stderr


@pytest.mark.usefixtures("_wrong")
def test_a_turn_that_is_not_verified_fails_and_is_named(compare: Command, tmp_path: Path) -> None:
    result = compare(providers="reference,twice", repeats=3)

    assert result.exit_code == 1
    error = result.stderr[result.stderr.index("Error") :]
    assert "turn 2 of 3, twice: not verified: " in error
    assert "a value was delivered twice" in error
    evidence = Path(error.split("its evidence: ")[1].strip())
    assert json.loads((evidence / "summary.json").read_text())["outcome"] == "failed"
    summary = _summary(tmp_path)
    assert (summary["outcome"], summary["verified"]) == ("failed", False)
    assert "turn 2 of 3, twice" in summary["error"]
    assert [(each["turn"], each["label"]) for each in summary["turns"]] == [(1, "reference"), (1, "twice")]
    assert "error: turn 2 of 3, twice" in (_folder(tmp_path) / "console.log").read_text()
    assert "Verdict" not in result.output


@pytest.mark.usefixtures("_wrong")
def test_a_process_that_dies_fails_with_what_it_said_last(compare: Command) -> None:
    result = compare(providers="mortal,reference")

    assert result.exit_code == 1
    assert "turn 1 of 1, mortal: not verified: the process was ended by SIGKILL" in result.stderr
    assert "about to die" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.usefixtures("_wrong")
@pytest.mark.parametrize(
    ("provider", "words"),
    [("quitting", "ended with status 0"), ("lying", "circuit 3 made 4\nits evidence: ")],
)
def test_exit_status_0_alone_verifies_nothing(compare: Command, provider: str, words: str) -> None:
    result = compare(providers=f"{provider},reference")

    assert result.exit_code == 1
    assert f"turn 1 of 1, {provider}: not verified: " in result.stderr
    assert words in result.stderr


@pytest.mark.usefixtures("_wrong")
def test_a_turn_that_is_refused_is_a_refusal(compare: Command, tmp_path: Path) -> None:
    result = compare("--receptor", "kernel", providers="changing,reference")

    assert result.exit_code == 2
    assert "turn 1 of 1, changing: refused" in result.stderr
    assert "runs no kernels" in result.stderr
    assert _summary(tmp_path)["verified"] is False


def test_ctrl_c_keeps_the_whole_turns(tmp_path: Path) -> None:
    what = ["--workload", "showcase", "--providers", "reference,reference", "--repeats", "1000"]
    command = [sys.executable, "-m", "perfkit", "compare", *what, *SIZE]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            deadline = monotonic() + 60
            while not any(
                "\n2 " in log.read_text() for log in (tmp_path / "results").glob("*-compare-*/console.log")
            ):
                assert monotonic() < deadline, "no second turn in 60 s"
                sleep(0.02)
            os.killpg(process.pid, signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()

    assert process.returncode == 130, output + errors
    assert "Traceback" not in errors
    assert "interrupted: the turns above were verified" in output
    assert "Verdict" in output
    summary = _summary(tmp_path)
    assert (summary["outcome"], summary["verified"]) == ("interrupted", False)
    assert len(summary["turns"]) >= 3


# -- what is run


def _provider(name: str, *capabilities: str) -> spi.Provider:
    class Some(spi.Provider):
        version = "1"

        def create(self) -> substrates.Cortex:
            raise AssertionError("not needed")

    provider = Some()
    provider.name = name
    provider.capabilities = frozenset(capabilities)
    return provider


NATIVE = _provider("native", "kernels", "native-kernels")
SLOW = _provider("slow", "kernels")
BARE = _provider("bare")


def _plan(*providers: spi.Provider, **options: Any) -> Plan:
    names = ("circuits", "burst", "tokens", "minutes", "rounds", "receptor", "build")
    defaults = dict.fromkeys(names) | {"warmup": 1, "floor": True, "stall": 60.0}
    return WORKLOADS["showcase"].plan(defaults | options, providers)


@pytest.fixture
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_memory", lambda: 2**31)
    monkeypatch.setattr(machine, "usable_cores", lambda: 4)


@pytest.mark.usefixtures("_machine")
def test_native_providers_run_the_full_size() -> None:
    plan = _plan(NATIVE, NATIVE)

    assert plan.announcement is None
    assert " ".join(plan.arguments) == (
        "--circuits 1000000 --burst 32000 --tokens 4 --rounds 3 --warmup 1"
        " --receptor kernel --build loop --stall 60.0"
    )
    assert "kernel receptors, 1 warm-up round, then 3 rounds" in plan.description


@pytest.mark.usefixtures("_machine")
@pytest.mark.parametrize(
    ("providers", "receptor", "burst", "slow"),
    [
        ([NATIVE, SLOW], "kernel", 100, "slow"),
        ([SLOW, NATIVE], "kernel", 100, "slow"),
        ([NATIVE, BARE], "python", 500, "native, bare"),
        ([SLOW, SLOW], "python", 500, "slow"),
    ],
)
def test_the_smallest_default_is_everyones_and_it_says_so(
    providers: list[spi.Provider], receptor: str, burst: int, slow: str
) -> None:
    plan = _plan(*providers)

    assert plan.announcement is not None
    for words in ("circuits 10,000 instead of 1,000,000", f"burst {burst} instead of 32,000", f"of {slow}"):
        assert words in plan.announcement
    assert "minutes" not in plan.announcement
    assert f"--circuits 10000 --burst {burst} " in " ".join(plan.arguments)
    assert plan.parameters["receptor"] == receptor
    assert plan.arguments[plan.arguments.index("--receptor") + 1] == receptor


@pytest.mark.usefixtures("_machine")
def test_what_is_asked_for_is_not_scaled() -> None:
    plan = _plan(NATIVE, SLOW, circuits=50_000, burst=7, minutes=0.5, floor=False, receptor="python")

    assert plan.announcement is None
    assert " ".join(plan.arguments) == (
        "--circuits 50000 --burst 7 --tokens 4 --minutes 0.5 --warmup 1"
        " --receptor python --build loop --stall 60.0"
        " --no-floor"
    )


@pytest.mark.usefixtures("_machine")
def test_what_one_of_them_cannot_do_is_refused() -> None:
    with pytest.raises(Refusal, match="'bare' runs no kernels"):
        _plan(NATIVE, BARE, receptor="kernel")
    with pytest.raises(Refusal, match="or fewer"):
        _plan(NATIVE, SLOW, circuits=1_000_000)
    assert _plan(NATIVE, NATIVE, circuits=1_000_000).announcement is None


def test_the_first_line_says_what_is_smaller(perfkit: Command) -> None:
    what = [
        "--workload",
        "showcase",
        "--providers",
        "reference,reference",
        "--repeats",
        "1",
        "--circuits",
        "10",
    ]

    result = perfkit("compare", *what, "--rounds", "1", "--warmup", "0", "--no-floor")

    first = result.stdout.splitlines()[0]
    assert "smaller by default" in first
    assert "burst 500 instead of 32,000; for all, because of reference" in first


# -- advice


def _record(*values: tuple[float, float]) -> turns.Record:
    """Return a comparison of two whose turns cost so much."""
    entrants = turns.entrants([NATIVE, SLOW])
    record = turns.Record(
        WORKLOADS["showcase"], Plan(None, "", {}, []), entrants, len(values), "results/x", "complete"
    )
    rest: dict[str, Any] = {
        "deliveries_per_s": 1.0,
        "handoffs_per_s": 0.0,
        "build_s": None,
        "floor": {"ratio_lean": None},
        "memory": {"engine_bytes_per_circuit": None, "total_bytes_per_circuit": -1.0},
    }
    for number, pair in enumerate(values, 1):
        for entrant, value in zip(entrants, pair, strict=True):
            summary = {"cpu_ns_per_delivery": value, "warnings": [], "evidence": "", "verified": True} | rest
            record.turns.append(turns.Turn(number, entrant.label, 1.0, summary))
    return record


def test_quiet_turns_need_no_advice() -> None:
    assert list(turns.advice(_record((2.0, 3.0), (2.02, 3.0), (2.0, 3.0)))) == []


def test_turns_that_vary_are_told_of() -> None:
    (text,) = turns.advice(_record((2.0, 3.0), (2.2, 3.0), (2.0, 3.0)))

    assert text.startswith("the turns of native vary by 5.6 % (cv of CPU ns/delivery)")


def test_a_turn_that_not_all_had_is_not_compared() -> None:
    record = _record((2.0, 3.0), (2.0, 3.0))
    alone = {**record.turns[0].summary, "cpu_ns_per_delivery": 99.0}
    record.turns.append(turns.Turn(3, "native", 1.0, alone))

    line = turns.lines_of(record)[0]

    assert line.values == [2.0, 3.0]
    (ratio,) = line.ratios
    assert ratio is not None
    assert ratio.value == pytest.approx(1.5)
    assert ratio.significant


def test_figures_without_a_ratio_have_none() -> None:
    lines = {line.metric.key: line for line in turns.lines_of(_record((2.0, 3.0), (2.0, 3.0)))}

    for key in ("handoffs_per_s", "build_s", "memory.total_bytes_per_circuit"):
        assert lines[key].ratios == [None]


# -- kept runs


@pytest.fixture
def kept(showcase: Command, tmp_path: Path) -> Callable[..., str]:
    """Return a kept run of three rounds with its summary and environment edited."""
    result = showcase("--rounds", "3")
    assert result.exit_code == 0, result.output
    original = _folder(tmp_path)

    def make(name: str, summary: Edit | None = None, environment: Edit | None = None) -> str:
        folder = tmp_path / "kept" / name
        shutil.copytree(original, folder)
        for file, edit in (("summary.json", summary), ("environment.json", environment)):
            content = json.loads((folder / file).read_text())
            if edit is not None:
                edit(content)
            (folder / file).write_text(json.dumps(content))
        return str(folder)

    return make


Kept = Callable[..., str]


def _costs(*costs: float) -> Edit:
    """Return what gives the measured rounds so much processor time."""

    def edit(summary: dict[str, Any]) -> None:
        measured = [each for each in summary["rounds"] if not each["warmup"]]
        for each, cost in zip(measured, costs, strict=True):
            each["cpu_s"] = cost
            each["seconds"] = cost
        summary["cpu_ns_per_delivery"] = costs[1] * 1e9 / measured[0]["deliveries"]

    return edit


def _rows(result: Result) -> dict[str, str]:
    return {line[:22].strip(): line[22:] for line in result.stdout.splitlines()}


def test_kept_runs_are_compared_with_their_combined_error(
    perfkit: Command, kept: Kept, tmp_path: Path
) -> None:
    runs = [
        kept("a", _costs(1.0, 1.1, 1.2)),
        kept("b", _costs(1.5, 1.6, 1.7)),
        kept("c", _costs(1.0, 1.15, 1.3)),
    ]

    result = perfkit("compare", runs[0], runs[1], "--json", str(tmp_path / "out.json"))

    assert result.exit_code == 0, result.output
    rows = _rows(result)
    assert rows["CPU ns/delivery"].endswith("worse")
    assert rows["Deliveries/s"].endswith("worse")
    assert rows["Build s"].split()[-3:] == ["1.000", "n/a", "n/a"]
    assert rows["CPU/lean floor"].split() == ["n/a"] * 5
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["kind"] == "kept"
    assert [each["folder"] for each in content["runs"]] == runs[:2]
    assert content["metrics"][0]["ratios"]["B"]["significant"] is True
    assert _rows(perfkit("compare", runs[1], runs[0]))["CPU ns/delivery"].endswith("better")
    assert _rows(perfkit("compare", runs[0], runs[2]))["CPU ns/delivery"].endswith("within the error")
    assert len(list((tmp_path / "results").iterdir())) == 1


def test_the_floors_error_is_part_of_the_ratios(perfkit: Command, kept: Kept) -> None:
    def floors(*samples: float) -> Edit:
        def edit(summary: dict[str, Any]) -> None:
            _costs(1.0, 1.01, 1.02)(summary)
            summary["floor"] |= {"lean_samples_ns": samples, "ratio_lean": 1.1}

        return edit

    first = kept("a", floors(2.0, 2.01))

    assert _rows(perfkit("compare", first, kept("b", floors(4.0, 4.01))))["CPU/lean floor"].endswith("better")
    noisy = _rows(perfkit("compare", first, kept("c", floors(2.0, 8.0))))["CPU/lean floor"]
    assert noisy.endswith("within the error")


def test_what_the_runs_warned_of_is_said_again(perfkit: Command, kept: Kept) -> None:
    def loud(summary: dict[str, Any]) -> None:
        summary["warnings"] = ["noise"]
        summary["parameters"]["warmup"] = 0

    result = perfkit("compare", kept("a", lambda summary: summary.update(warnings=[])), kept("b", loud))

    assert result.stderr.splitlines() == [
        "warning: A had 1 warm-up round, B 0",
        "warning: B warned: noise",
    ]


def test_runs_of_different_machines_are_refused_without_force(perfkit: Command, kept: Kept) -> None:
    def other(environment: dict[str, Any]) -> None:
        environment["machine"] |= {"cpu": "Abacus", "usable_cores": 64}

    runs = kept("a"), kept("b", environment=other)

    refused, forced = perfkit("compare", *runs), perfkit("compare", *runs, "--force")

    assert refused.exit_code == 2
    for word in ("different machines", "Abacus", "64", "--force"):
        assert word in refused.stderr
    assert forced.exit_code == 0
    assert "warning: the machines differ" in forced.stderr


def test_a_little_more_memory_is_the_same_machine(perfkit: Command, kept: Kept) -> None:
    def memory(share: float) -> Edit:
        def edit(environment: dict[str, Any]) -> None:
            environment["machine"]["memory_bytes"] = int(2**34 * share)

        return edit

    first = kept("a", environment=memory(1.0))

    assert perfkit("compare", first, kept("b", environment=memory(1.005))).exit_code == 0
    assert "memory_bytes" in perfkit("compare", first, kept("c", environment=memory(2.0))).stderr


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda summary: summary.update(workload="lanes"), ["'lanes' cannot be compared", "showcase"]),
        (lambda summary: summary.update(workload="compare"), ["is a comparison", "turns"]),
        (lambda summary: summary.update(schema=2), ["different schema versions, 1 and 2", "run one"]),
        (lambda summary: summary["parameters"].update(burst=6), ["different parameters, burst 5 and 6"]),
        (lambda summary: summary.pop("workload"), ["not as perfkit writes it", "workload"]),
        (lambda summary: summary.pop("provider"), ["not as perfkit writes it", "provider"]),
        (lambda summary: summary.pop("rounds"), ["not as perfkit writes it", "rounds"]),
        (lambda summary: summary.update(memory=[]), ["not as perfkit writes it"]),
        (lambda summary: summary.update(build_s="fast"), ["build_s is 'fast', not a number"]),
        (lambda summary: summary.update(build_s=float("nan")), ["build_s is nan, not a number"]),
    ],
)
def test_a_run_that_cannot_be_compared_is_refused(
    perfkit: Command, kept: Kept, edit: Edit, words: list[str]
) -> None:
    result = perfkit("compare", kept("a"), kept("b", edit))

    assert result.exit_code == 2, result.output
    for word in words:
        assert word in result.stderr
    assert result.stdout == ""


def test_runs_of_an_unknown_schema_are_refused(perfkit: Command, kept: Kept) -> None:
    def later(summary: dict[str, Any]) -> None:
        summary["schema"] = 2

    result = perfkit("compare", kept("a", later), kept("b", later))

    assert result.exit_code == 2
    assert "schema version 2, this perfkit reads 1" in result.stderr


def test_different_workloads_are_refused(
    perfkit: Command, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WORKLOADS, "ring", WORKLOADS["showcase"])

    result = perfkit("compare", kept("a"), kept("b", lambda summary: summary.update(workload="ring")))

    assert result.exit_code == 2
    assert "different workloads, showcase and ring" in result.stderr


def test_a_run_that_was_not_verified_fails(perfkit: Command, kept: Kept) -> None:
    def failed(summary: dict[str, Any]) -> None:
        summary |= {"verified": False, "error": "circuit 3 made 4"}

    result = perfkit("compare", kept("a"), kept("b", failed))

    assert result.exit_code == 1
    assert "was not verified (circuit 3 made 4)" in result.stderr


@pytest.mark.parametrize("name", ["summary.json", "environment.json"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.write_text(file.read_text()[:40]), ["cut off", "run the workload again"]),
        (lambda file: file.write_bytes(b"\xff\xfe"), ["cut off"]),
        (lambda file: file.write_text("[]"), ["not a run, but a JSON list"]),
        (lambda file: file.write_text("{}"), ["not as perfkit writes it"]),
        (lambda file: file.unlink(), ["no run, it has no "]),
        (lambda file: (file.unlink(), file.mkdir()), ["cannot be read"]),
    ],
)
def test_a_broken_file_is_refused_and_named(
    perfkit: Command, kept: Kept, name: str, change: Callable[[Path], object], words: list[str]
) -> None:
    runs = kept("a"), kept("b")
    change(Path(runs[1]) / name)

    result = perfkit("compare", *runs)

    assert result.exit_code == 2, result.output
    for word in [*words, runs[1], name]:
        assert word in result.stderr


# -- bad calls


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["nothing to compare", "--workload NAME --providers A,B", "kept runs"]),
        (["a"], ["1 kept runs given", "give two"]),
        (["a", "b", "c"], ["3 kept runs given", "give two"]),
        (["a", "b"], ["a: no such folder", "results/<run>"]),
        (["a", "b", "--workload", "showcase"], ["--workload is for measuring"]),
        (["a", "b", "--rounds", "3"], ["--rounds is for measuring"]),
        (["--workload", "swimming", "--providers", "reference,reference"], ["swimming", "showcase"]),
        (["--providers", "reference,reference"], ["--workload is missing", "showcase"]),
        (["--workload", "showcase"], ["--providers are missing", "installed:", "reference"]),
        (["--workload", "showcase", "--providers", "reference"], ["two or more"]),
        (["--workload", "showcase", "--providers", "reference,"], ["two or more"]),
        (["--workload", "showcase", "--providers", "reference,gamma"], ["'gamma'", "installed:"]),
    ],
)
def test_what_cannot_be_understood_is_refused(
    perfkit: Command, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    result = perfkit("compare", *arguments)

    assert result.exit_code == 2, result.output
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--repeats", "0"], ["--repeats", "0"]),
        (["--minutes", "1"], ["--rounds", "--minutes", "give one"]),
        (["--tokens", "11"], ["more tokens than circuits"]),
        (["--force"], ["--force is for kept runs"]),
        (["--results", os.devnull + "/x"], ["name another folder"]),
        (["--json", os.devnull + "/x"], ["--json", "name another file"]),
    ],
)
def test_what_cannot_be_done_is_refused(
    compare: Command, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    result = compare(*arguments)

    assert result.exit_code == 2, result.output
    for word in words:
        assert word in result.stderr
    assert not (tmp_path / "results").exists()
