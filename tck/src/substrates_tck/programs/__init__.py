"""Generated programs: what a provider does with them, against what a small sequential model says.

1. `strategies` draws a `Program`: data, nothing else.
2. `model` runs it one step after the other, in one thread, and says what has to be received, where and in
   which order.
3. `script` turns it into a Python program that uses the public API alone; running that *is* the test, so a
   program that fails can be printed and run by hand.
4. For programs with several producer threads `legal` says whether what was received is one of the outcomes
   that the contract allows.
"""

from __future__ import annotations
