"""Tests that need uv find the one that `make` has put into `.uv/`, when none is named or on PATH."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_own = sorted((Path(__file__).resolve().parents[1] / ".uv").glob("*/bin/uv"))
if _own and not os.environ.get("UV") and shutil.which("uv") is None:
    os.environ["UV"] = str(_own[-1])
