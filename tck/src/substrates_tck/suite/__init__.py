"""The tests, by area of the contract."""

from __future__ import annotations
