"""For all tests of the workspace."""

from __future__ import annotations

import signal

# pytest names test modules by their folders, and the folder `perfkit/` has the name of the package in it:
# without this, `perfkit` would be the folder.
import perfkit  # noqa: F401

# A shell's background job inherits that Ctrl-C is ignored, and would hand it on to the programs that tests
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
