"""For all tests of the workspace."""

from __future__ import annotations

# pytest names test modules by their folders, and the folder `perfkit/` has the name of the package in it:
# without this, `perfkit` would be the folder.
import perfkit  # noqa: F401
