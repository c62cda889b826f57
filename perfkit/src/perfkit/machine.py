"""The machine as this process may use it: processors, memory, and who else uses them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

__all__ = ["Usage", "available_memory", "give_back", "resident_bytes", "usable_cores"]

CGROUPS: Final = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Return how many processors this process may use: affinity and control-group quota count."""
    cores = len(_processors())
    for group in _groups():
        try:
            quota, period = (group / "cpu.max").read_text().split()
            if quota != "max":
                cores = min(cores, max(1, int(quota) // int(period)))
        except (OSError, ValueError):
            continue
    return cores


def available_memory() -> int:
    """Return how many more bytes this process may use: what is free, within the limits set for it."""
    limits = [int(psutil.virtual_memory().available)]
    for group in _groups():
        try:
            most = (group / "memory.max").read_text().strip()
            if most != "max":
                used = int((group / "memory.current").read_text())
                limits.append(int(most) - used + _reclaimable(group))
        except (OSError, ValueError):
            continue
    try:
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            limits.append(soft - psutil.Process().memory_info().vms)
    except (ImportError, OSError):
        pass
    return max(0, min(limits))


def resident_bytes() -> int | None:
    """Return the resident memory of this process; None if the platform does not tell."""
    try:
        return int(psutil.Process().memory_info().rss)
    except (psutil.Error, OSError):
        return None


def give_back() -> None:
    """Have the C library return free memory to the system, so that only what is held is resident."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone
    if trim is not None:
        trim(0)


def _processors() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _groups() -> Iterator[Path]:
    """Yield the folders of this process's control group (version 2) and of those around it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, _, path = line.split(":", 2)
        if number == "0":
            group = CGROUPS / path.lstrip("/")
            yield group
            for around in group.parents:
                if around.is_relative_to(CGROUPS):
                    yield around


def _reclaimable(group: Path) -> int:
    """Return the bytes of file cache that the kernel would give back first."""
    for line in (group / "memory.stat").read_text().splitlines():
        key, _, value = line.partition(" ")
        if key == "inactive_file":
            return int(value)
    return 0


@dataclass(frozen=True)
class Usage:
    """Seconds that the usable processors have spent since the machine started.

    Attributes:
        busy: on anything but waiting, stolen time left out.
        stolen: taken away by the hypervisor; None where unknown.
    """

    busy: float
    stolen: float | None

    @staticmethod
    def now() -> Usage | None:
        """Return the usage so far; None if the platform does not tell."""
        try:
            times = psutil.cpu_times(percpu=True)
            own = [times[number] for number in _processors()]
        except (psutil.Error, OSError, IndexError, NotImplementedError):
            return None
        # Guests' time is part of user's; waiting for input and output is idle.
        spent = sum(
            sum(getattr(each, name, 0.0) for name in ("user", "nice", "system", "irq", "softirq"))
            for each in own
        )
        stolen = sum(each.steal for each in own) if own and hasattr(own[0], "steal") else None
        return Usage(spent, stolen)
