"""Which providers there are, and which one a command measures."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from typing import Any, Final

import substrates
from substrates import spi

from .errors import Refusal

__all__ = ["Default", "Missing", "chosen", "default", "describe", "missing", "ours"]

_OURS: Final = {
    "reference": ("substrates-reference", "Python"),
    "alpha": ("substrates-alpha", "C"),
    "beta": ("substrates-beta", "Rust"),
}
"""The distribution and the language of each provider that comes with this project."""


def ours() -> list[str]:
    """Return the names of the providers of this project that are installed, the plainest first."""
    installed = {listing.name for listing in spi.installed()}
    return [name for name in _OURS if name in installed]


@dataclass(frozen=True)
class Default:
    """What `substrates.cortex()` would choose.

    Attributes:
        name: of the provider; None if it would raise.
        why: what decides, or why nothing does.
    """

    name: str | None
    why: str


def default() -> Default:
    """Return what `substrates.cortex()` would choose in this environment, and why; loads nothing."""
    try:
        name = spi.choose(None, os.environ)
    except substrates.ProviderError as error:
        return Default(None, str(error))
    if os.environ.get(spi.VARIABLE, "").strip() == name:
        return Default(name, f"chosen by the environment variable {spi.VARIABLE}")
    return Default(name, "the only provider installed")


@dataclass(frozen=True)
class Missing:
    """A provider of this project that is not installed.

    Attributes:
        name: of the provider.
        distribution: what brings it.
        language: of its engine.
        why: what is missing, as far as can be told.
        how: to get it.
    """

    name: str
    distribution: str
    language: str
    why: str
    how: str


def missing() -> tuple[Missing, ...]:
    """Return the providers of this project that are not installed, and how to get each."""
    names = {listing.name for listing in spi.installed()}
    return tuple(
        Missing(name, distribution, language, *_reason(distribution, language))
        for name, (distribution, language) in _OURS.items()
        if name not in names
    )


def _reason(distribution: str, language: str) -> tuple[str, str]:
    """Return why a distribution may be missing, and how to get it."""
    get = f"`make sync` in a checkout, or install {distribution}"
    if language != "Rust":
        return "not installed", get
    if shutil.which("cargo") is None:
        return "no cargo on PATH to build it with", f"install Rust (https://rustup.rs), then {get}"
    try:
        told = subprocess.run(
            ["cargo", "--version"], check=False, capture_output=True, text=True, timeout=30
        )  # rustup brings a cargo that does nothing until there is a toolchain
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cargo does not work ({error})", f"repair the installation of Rust, then {get}"
    if told.returncode:
        why = told.stderr.strip().partition("\n")[0]
        return f"cargo does not work ({why})", f"repair the installation of Rust, then {get}"
    return f"not installed, though {told.stdout.strip()} is here", f"{get}; it says if it cannot be built"


def describe() -> dict[str, Any]:
    """Return the providers there are and miss, and the default, for JSON; unknown is None; loads nothing."""
    choice = default()
    return {
        "schema": 1,
        "providers": [
            {key: None if value == "n/a" else value for key, value in asdict(listing).items()}
            | {"default": listing.name == choice.name}
            for listing in spi.installed()
        ],
        "missing": [asdict(each) for each in missing()],
        "default": asdict(choice),
    }


def chosen(name: str | None) -> spi.Provider:
    """Return the provider `name`, else the default, loaded.

    Raises:
        Refusal: there is none, or it does not load.
    """
    try:
        return spi.load(spi.choose(name, os.environ))
    except substrates.AmbiguousProviderError as error:
        raise Refusal(f"{error}; or here: --provider NAME") from error
    except substrates.ProviderError as error:
        raise Refusal(str(error)) from error
