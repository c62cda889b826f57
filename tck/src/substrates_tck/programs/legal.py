"""Which outcomes of concurrent producers the contract allows.

Everything happens on one circuit. What a producer emits comes in in its order, and one value's cascade is
over before the next value comes in, whoever emitted it. So what was received is the producers' cascades one
after the other, in an order in which each producer's come as it emitted them: exact counts follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from .model import cascade
from .program import Program

__all__ = ["illegal"]

Received = Sequence[tuple[str, int]]


def illegal(program: Program, received: Received) -> str | None:
    """Return what is wrong with what circuit 0 received from the producers; None if it is legal."""
    queues = [
        [tuple(cascade(program, target, value)) for target, value in producer.emissions]
        for producer in program.producers
    ]
    got = tuple(received)
    # A set of positions in the queues that explain what was received so far: cascades may look alike.
    positions = {tuple(0 for _ in queues)}
    at_of = dict.fromkeys(positions, 0)
    seen = set(positions)
    best = 0
    stack = list(positions)
    while stack:
        position = stack.pop()
        at = at_of[position]
        best = max(best, at)
        if at == len(got) and all(done == len(queue) for done, queue in zip(position, queues, strict=True)):
            return None
        for number, queue in enumerate(queues):
            done = position[number]
            if done < len(queue) and got[at : at + len(queue[done])] == queue[done]:
                following = (*position[:number], done + 1, *position[number + 1 :])
                if following not in seen:
                    seen.add(following)
                    at_of[following] = at + len(queue[done])
                    stack.append(following)
    wanted = sum(len(each) for queue in queues for each in queue)
    return (
        f"received {len(got)} values where {wanted} are due; no order of whole cascades that keeps each"
        f" producer's explains more than the first {best}: ... {list(got[best : best + 6])} ..."
    )
