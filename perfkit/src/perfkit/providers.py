"""Which providers there are, and which one a command measures."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import substrates
from substrates import spi

from .errors import Refusal

__all__ = ["Default", "chosen", "default", "describe"]


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


def describe() -> dict[str, Any]:
    """Return the installed providers and the default for JSON; unknown is None; loads nothing."""
    choice = default()
    return {
        "schema": 1,
        "providers": [
            {key: None if value == "n/a" else value for key, value in asdict(listing).items()}
            | {"default": listing.name == choice.name}
            for listing in spi.installed()
        ],
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
