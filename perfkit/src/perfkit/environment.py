"""What a measurement was made on and of: the machine, Python, the distributions, the provider, the source."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from substrates import Cortex, spi

from . import machine

__all__ = ["describe", "source", "surroundings"]

REQUIREMENT: Final = re.compile(r"(?P<name>[\w.-]+)\s*(\[(?P<extras>[^]]*)\])?")
EXTRA: Final = re.compile(r"""\bextra\s*==\s*['"](?P<name>[^'"]+)['"]""")


def describe(provider: spi.Provider, cortex: Cortex) -> dict[str, Any]:
    """Return the environment of a measurement for JSON; unknown is None."""
    return surroundings(provider.name) | {
        "provider": {
            "name": provider.name,
            "version": provider.version,
            "capabilities": sorted(provider.capabilities),
            "facts": _plain(_or_none(provider.facts)),
            "runtime": _plain(_or_none(cortex.facts)),
        }
    }


def surroundings(*providers: str) -> dict[str, Any]:
    """Return what a measurement of `providers` has around it for JSON; unknown is None."""
    memory = psutil.virtual_memory()
    frequency = _or_none(psutil.cpu_freq)
    return {
        "machine": {
            "cpu": _cpu_model(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "physical_cores": psutil.cpu_count(logical=False),
            "usable_cores": machine.usable_cores(),
            "max_mhz": frequency.max or None if frequency else None,
            "memory_bytes": memory.total,
            "available_memory_bytes": machine.available_memory(),
            "virtual": "hypervisor" in _cpu_flags() or None,
            "load_average": _or_none(os.getloadavg),
        },
        "system": {
            "name": platform.system(),
            "kernel": platform.release(),
            "distribution": _or_none(lambda: platform.freedesktop_os_release().get("PRETTY_NAME")),
            "libc": " ".join(platform.libc_ver()).strip() or None,
        },
        "python": {
            "version": sys.version,
            "implementation": platform.python_implementation(),
            "executable": sys.executable,
            "build": " ".join(platform.python_build()),
            "compiler": platform.python_compiler(),
            "optimised": "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS")),
            "free_threaded_build": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
            "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
        },
        "distributions": _distributions(*providers),
        "variables": {
            key: value for key, value in sorted(os.environ.items()) if key.startswith("SUBSTRATES_")
        },
    }


def source() -> dict[str, Any]:
    """Return the commit that this bench was run from, and the difference if the tree is dirty, for JSON.

    All but `reason` is None when this package does not lie in a git tree that tracks it.
    """
    folder = Path(__file__).resolve().parent
    commit = _git(folder, "rev-parse", "HEAD")
    tracked = _git(folder, "ls-files", "--error-unmatch", Path(__file__).name)
    if commit is None or tracked is None:
        reason = f"{folder} is not in a git tree that tracks it"
        return {"reason": reason, "root": None, "commit": None, "dirty": None, "status": None, "diff": None}
    status = _git(folder, "status", "--porcelain", "--", ":/") or ""
    return {
        "reason": None,
        "root": (_git(folder, "rev-parse", "--show-toplevel") or "").strip(),
        "commit": commit.strip(),
        "dirty": bool(status.strip()),
        "status": status.splitlines(),
        "diff": _git(folder, "diff", "HEAD") if status.strip() else None,
    }


def _distributions(*providers: str) -> dict[str, Any]:
    """Return the distributions involved: ours, the providers', and all that those need."""
    wanted = ["substrates-perfkit"]
    wanted += [listing.distribution for listing in spi.installed() if listing.name in providers]
    found: dict[str, Any] = {}
    seen: set[str] = set()
    while wanted:
        requirement = wanted.pop()
        parts = REQUIREMENT.match(requirement)
        if requirement in seen or parts is None:
            continue
        seen.add(requirement)
        try:
            distribution = importlib.metadata.distribution(parts["name"])
        except importlib.metadata.PackageNotFoundError:
            continue
        origin = distribution.read_text("direct_url.json")
        found[distribution.name] = {
            "version": distribution.version,
            "origin": json.loads(origin) if origin else None,
        }
        extras = re.findall(r"[\w.-]+", parts["extras"] or "")
        for needed in distribution.requires or ():
            optional = EXTRA.search(needed)
            if optional is None or optional["name"] in extras:
                wanted.append(needed)
    return dict(sorted(found.items()))


def _cpu_model() -> str | None:
    return _cpuinfo("model name") or platform.processor() or None


def _cpu_flags() -> list[str]:
    return (_cpuinfo("flags") or "").split()


def _cpuinfo(key: str) -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _plain(facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return `facts` as JSON takes them."""
    if facts is None:
        return None
    return {
        str(key): value if isinstance(value, (int, float, str, bool)) or value is None else str(value)
        for key, value in facts.items()
    }


def _or_none(get: Any) -> Any:
    """Return what `get` returns, None if it fails: no fact is worth a measurement."""
    try:
        return get()
    except Exception:  # noqa: BLE001
        return None


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
