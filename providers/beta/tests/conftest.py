"""Beta is optional: without cargo it is not installed, and its tests are not collected.

`tests/test_workspace.py` tells whether it should be there.
"""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("substrates_beta") else ["test_*.py"]
