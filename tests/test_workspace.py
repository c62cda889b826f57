"""The workspace itself: what holds the distributions together, and that each can leave it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _toml_file(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def _toml(folder: str) -> dict[str, Any]:
    return _toml_file(ROOT / folder / "pyproject.toml")


MEMBERS: list[str] = _toml(".")["tool"]["uv"]["workspace"]["members"]
DISTRIBUTIONS: dict[str, str] = {_toml(member)["project"]["name"]: member for member in MEMBERS}
# Beta is optional: it is where there is cargo.
BETA = "substrates-beta"
READY = ROOT / "providers/beta/ready"
CRATE = ROOT / "providers/beta/native"
HAS_BETA = importlib.util.find_spec("substrates_beta") is not None
NATIVE = {"alpha": "substrates-alpha"} | ({"beta": BETA} if HAS_BETA else {})
PROVIDERS = {"reference": "substrates-reference"} | NATIVE

# What a program of a user does, away from the checkout; argv: provider, folder it must be installed in.
PROGRAM = """
import sys
from importlib import import_module
from pathlib import Path

import substrates

provider, home = sys.argv[1], Path(sys.argv[2]).resolve()
received = []
with substrates.cortex(provider).circuit("away") as circuit:
    pipe = circuit.pipe(received.append)
    for number in range(1000):
        pipe.emit(number)
    circuit.wait()
assert received == list(range(1000)), received[:20]
for name in ("substrates", "substrates_base", f"substrates_{provider}"):
    assert Path(import_module(name).__file__).resolve().is_relative_to(home), import_module(name)
print("received", len(received))
"""


def _run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Return what a command printed; fail with all of it when the command fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}", pytrace=False)
    return done.stdout


def _uv() -> str:
    # `uv run`, which the Makefile's targets use, says in UV which uv it is.
    found = os.environ.get("UV") or shutil.which("uv")
    if not found:
        pytest.fail("no uv: run the tests by `make test`, or put uv on PATH", pytrace=False)
    return found


def _without_cargo(scratch: Path) -> str:
    """Return a PATH like ours without cargo: a folder that has it is one of links to all else in it."""
    folders = []
    for number, folder in enumerate(os.environ["PATH"].split(os.pathsep)):
        if shutil.which("cargo", path=folder) is None:
            folders.append(folder)
            continue
        links = scratch / f"path{number}"
        links.mkdir()
        folders.append(str(links))
        for program in Path(folder).iterdir():
            if program.name != "cargo":
                (links / program.name).symlink_to(program)
    return os.pathsep.join(folders)


def _module(member: str) -> Path:
    """Return the package folder of a distribution."""
    packages = [path for path in (ROOT / member / "src").iterdir() if (path / "__init__.py").exists()]
    assert len(packages) == 1, f"{member}/src: one package is expected, there are {packages}"
    return packages[0]


def test_import_contracts_hold() -> None:
    code = "from importlinter.cli import lint_imports_command as run; run()"
    # It reads the sources and runs none, so beta's are looked at where beta cannot be built, too.
    _run(sys.executable, "-c", code, "--no-logo", PYTHONPATH=str(ROOT / "providers/beta/src"))


def test_import_contracts_cover_every_distribution() -> None:
    covered = set(_toml(".")["tool"]["importlinter"]["root_packages"])
    assert covered == {_module(member).name for member in MEMBERS}


@pytest.mark.parametrize("member", MEMBERS)
def test_distribution_is_typed(member: str) -> None:
    assert (_module(member) / "py.typed").exists(), f"{member}: py.typed is missing"


@pytest.mark.parametrize("member", MEMBERS)
def test_distribution_carries_the_license(member: str) -> None:
    assert (ROOT / member / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("member", MEMBERS)
def test_versions_are_equal(member: str) -> None:
    project = _toml(member)["project"]
    expected = _toml(".")["project"]["version"]
    assert project["version"] == expected
    ours = [need for need in project["dependencies"] if re.match(r"substrates\b", need)]
    assert [need for need in ours if not need.endswith(f"=={expected}")] == []
    if project["name"] != BETA or HAS_BETA:
        assert importlib.metadata.version(project["name"]) == expected, "stale installation: run `make sync`"


def test_crate_has_the_version_of_the_distributions_and_exact_dependencies() -> None:
    crate = _toml_file(CRATE / "Cargo.toml")
    assert crate["package"]["version"] == _toml(".")["project"]["version"]
    tables = [table for part in (crate, *crate.get("target", {}).values()) for table in part.items()]
    needs = {
        name: need["version"] if isinstance(need, dict) else need
        for key, table in tables
        if key in {"dependencies", "dev-dependencies", "build-dependencies"}
        for name, need in table.items()
    }
    assert "pyo3" in needs
    assert {name: version for name, version in needs.items() if not version.startswith("=")} == {}
    # The sources of a build of the workspace and of one from the source distribution alone.
    (maturin,) = _toml("providers/beta")["build-system"]["requires"]
    assert maturin in _toml(".")["tool"]["uv"]["build-constraint-dependencies"]


def test_beta_is_installed_where_it_can_be_built() -> None:
    done = subprocess.run([READY], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert HAS_BETA, "there is a cargo, and no beta: run `make sync`"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))[:2]


@pytest.mark.skipif(not HAS_BETA, reason="beta is not installed: providers/beta/ready says why")
def test_least_rust_is_what_the_crates_ask_for_and_said_once() -> None:
    told = _run(
        "cargo", "metadata", "--quiet", "--format-version=1", f"--manifest-path={CRATE / 'Cargo.toml'}"
    )
    packages = json.loads(told)["packages"]
    asked = {it["name"]: _version(it["rust_version"]) for it in packages if it["rust_version"]}
    said = asked.pop(BETA)

    assert said == max(asked.values()), {name: it for name, it in asked.items() if it >= said}
    number = ".".join(map(str, said))
    for page in (*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("providers/*/README.md"), READY):
        assert f"{number} or later" not in page.read_text(), f"{page}: say where it stands instead"


@pytest.mark.parametrize(
    ("cargo", "why"),
    [
        (None, "no cargo on PATH"),
        ("echo cargo 1.56.0", "cargo 1.56.0 is too old"),
        ("echo no default toolchain >&2; exit 1", "cargo does not work (no default toolchain)"),
        ("test $1 = --version && echo cargo 9.9.9 || exit 101", "its crates cannot be fetched"),
    ],
)
def test_beta_is_left_out_with_the_reason(tmp_path: Path, cargo: str | None, why: str) -> None:
    if cargo is not None:
        script = tmp_path / "bin" / "cargo"
        script.parent.mkdir()
        script.write_text(f"#!/bin/sh\n{cargo}\n")
        script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{_without_cargo(tmp_path)}"}

    told = {
        beta: subprocess.run(
            [READY], env={**environment, "BETA": beta}, capture_output=True, text=True, check=False
        )
        for beta in ("", "yes")
    }

    assert {beta: done.returncode for beta, done in told.items()} == {"": 1, "yes": 2}
    for done in told.values():
        assert f"beta is left out: {why}" in done.stderr
        assert "how to get it: " in done.stderr


def test_api_tells_its_version() -> None:
    import substrates

    assert substrates.__version__ == _toml("api")["project"]["version"]


@pytest.mark.parametrize(("provider", "distribution"), PROVIDERS.items())
def test_provider_is_found_by_its_entry_point(provider: str, distribution: str) -> None:
    points = importlib.metadata.entry_points(group="substrates.providers", name=provider)
    assert [point.dist.name for point in points if point.dist] == [distribution]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
@pytest.mark.parametrize(
    "path",
    [
        "uv.lock",
        "providers/beta/native/Cargo.lock",
        "providers/beta/native/target/x",
        ".venv/x",
        ".uv/x",
        "dist/x.whl",
        "results/x/y",
    ],
)
def test_git_ignores(path: str) -> None:
    assert _run("git", "check-ignore", path).strip() == path
    assert _run("git", "ls-files", "--", "*.lock") == ""


def test_make_lists_its_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^\.PHONY: (\S+)$", makefile, re.MULTILINE)
    listed = dict(re.findall(r"^make (\S+) +(\S.*)$", _run("make", "--no-print-directory"), re.MULTILINE))
    assert list(listed) == targets
    assert {"showcase", "check", "format", "test", "tck", "wheels", "clean"} <= set(targets)


def test_make_names_an_unsuitable_interpreter() -> None:
    done = subprocess.run(
        ["make", "sync", "PYTHON=/no/such/python"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "/no/such/python: no Python 3.11 or later" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_new_environment_has_the_native_module_although_its_build_is_cached(tmp_path: Path) -> None:
    # What `rm -rf .venv; make sync` does: uv installs the builds that it has, without looking whether the
    # native module that an editable link leads to is still in the tree.
    home = tmp_path / "venv"
    group = ["--group", "beta"] if HAS_BETA else []
    command = [_uv(), "sync", "--frozen", "--no-dev", *group, "--python", sys.executable]
    _run(*command, UV_PROJECT_ENVIRONMENT=str(home))
    for name in NATIVE:
        where = _run(
            home / "bin" / "python", "-c", f"import substrates_{name}._engine as m; print(m.__file__)"
        )
        assert Path(where.strip()).is_relative_to(home), f"{where}: outside the environment"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_without_cargo_all_but_beta_installs_and_perfkit_says_what_is_missing(tmp_path: Path) -> None:
    home = tmp_path / "venv"
    path = _without_cargo(tmp_path)

    command = [_uv(), "sync", "--frozen", "--no-dev", "--python", sys.executable]
    _run(*command, UV_PROJECT_ENVIRONMENT=str(home), PATH=path)
    told = _run(home / "bin" / "perfkit", "providers", cwd=tmp_path, PATH=path)

    listed = [line.split()[0] for line in told.splitlines() if " substrates-" in line and "(" not in line]
    assert listed == ["alpha", "reference"]
    assert "missing: beta (substrates-beta, in Rust): no cargo on PATH" in told


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a source distribution of each member, and a wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    for name in DISTRIBUTIONS:
        if name != BETA or HAS_BETA:
            _run(_uv(), "build", "--package", name, "--python", sys.executable, "--out-dir", folder)
    return folder


def _wheels(built: Path, distributions: Sequence[str]) -> list[Path]:
    return [path for name in distributions for path in built.glob(f"{name.replace('-', '_')}-[0-9]*.whl")]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_distribution_builds_from_its_source_distribution(built: Path) -> None:
    built_here = {name: member for name, member in DISTRIBUTIONS.items() if name != BETA or HAS_BETA}
    assert len(_wheels(built, list(built_here))) == len(built_here)
    for distribution, member in built_here.items():
        (wheel,) = _wheels(built, [distribution])
        package = _module(member).name
        names = zipfile.ZipFile(wheel).namelist()
        assert f"{package}/py.typed" in names
        assert any(name.endswith("licenses/LICENSE") for name in names), f"{wheel.name}: no license"
        packed = {
            name for name in names if name.startswith(f"{package}/") and name.endswith((".py", ".pyi", ".h"))
        }
        sources = _module(member).parent
        assert packed == {
            path.relative_to(sources).as_posix()
            for path in sources.rglob("*")
            if path.suffix in {".py", ".pyi", ".h"} and ".egg-info" not in path.as_posix()
        }


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("provider", NATIVE)
def test_native_provider_packs_no_sources_but_its_source_distribution_has_all(
    provider: str, built: Path
) -> None:
    (wheel,) = _wheels(built, [NATIVE[provider]])
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.endswith((".c", ".o", ".a", ".rs", ".rlib"))] == []
    assert len([name for name in names if name.endswith(".so")]) == 1
    (archive,) = built.glob(f"substrates_{provider}-*.tar.gz")
    with tarfile.open(archive) as content:
        packed = {name.partition("/")[2] for name in content.getnames()}
    native = ROOT / "providers" / provider / "native"
    sources = {
        path.relative_to(native.parent).as_posix()
        for path in native.rglob("*")
        if path.suffix in {".c", ".h", ".rs"} and "target" not in path.relative_to(native).parts
    }
    builds = {
        "alpha": {"native/include/substrates_kernel.h", "build_alpha.py"},
        "beta": {"native/Cargo.toml"},
    }
    assert sources
    assert sources | builds[provider] <= packed


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("provider", "distribution"), PROVIDERS.items())
def test_provider_works_outside_the_checkout(
    provider: str, distribution: str, built: Path, tmp_path: Path
) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    # Ours by file, so that no index is asked for them; theirs as the workspace has them.
    ours = _wheels(built, ["substrates", "substrates-base", distribution])
    theirs = tmp_path / "constraints.txt"
    theirs.write_text("\n".join(_toml(".")["tool"]["uv"]["constraint-dependencies"]))
    _run(_uv(), "pip", "install", "--python", python, "--constraints", theirs, *ours, cwd=tmp_path)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    printed = _run(python, "-I", "-W", "error", program, provider, home, cwd=tmp_path)
    assert printed == "received 1000\n"
