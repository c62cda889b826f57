"""For all tests of the workspace."""

from __future__ import annotations

import importlib.util
import signal

import pytest

# pytest names test modules by their folders, and the folder `perfkit/` has the name of the package in it:
# without this, `perfkit` would be the folder.
import perfkit  # noqa: F401

# A shell's background job inherits that Ctrl-C is ignored, and would hand it on to the programs that tests
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_NO_BETA = pytest.mark.skipif(
    importlib.util.find_spec("substrates_beta") is None,
    reason="beta is not installed: providers/beta/ready says why",
)


@pytest.fixture(params=["reference", "alpha", pytest.param("beta", marks=_NO_BETA)])
def provider(request: pytest.FixtureRequest) -> str:
    """Return the name of each provider of this project in turn."""
    name: str = request.param
    return name
