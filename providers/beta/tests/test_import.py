"""Without its native module beta says what is missing; with it, it is typed as it is."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import substrates_beta
from substrates_beta import _engine

BETA = Path(__file__).resolve().parents[1]
SOURCES = BETA / "src" / "substrates_beta"


def test_without_its_native_module_the_import_says_how_to_get_it(tmp_path: Path) -> None:
    shutil.copytree(
        SOURCES, tmp_path / "substrates_beta", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import substrates_beta"

    run = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )

    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: substrates_beta: its native module cannot be loaded (")
    assert "make sync" in last


def test_native_module_is_beside_the_package() -> None:
    assert _engine.__file__ is not None
    assert Path(_engine.__file__).parent == Path(substrates_beta.__file__).parent


def test_stub_names_what_the_native_module_has() -> None:
    stub = ast.parse((SOURCES / "_engine.pyi").read_text())
    classes = {it.name: it.body for it in stub.body if isinstance(it, ast.ClassDef)}
    told = {it.name for it in stub.body if isinstance(it, ast.FunctionDef)} | set(classes)
    told |= {
        it.target.id for it in stub.body if isinstance(it, ast.AnnAssign) and isinstance(it.target, ast.Name)
    }

    assert told == {name for name in vars(_engine) if not name.startswith("__")}
    for name, body in classes.items():
        methods = {it.name for it in body if isinstance(it, ast.FunctionDef)}
        assert methods <= set(dir(getattr(_engine, name))), name
