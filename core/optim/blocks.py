"""Blocks: variables that have gone through the same steps, in one flat vector with the chain's state for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.optim.chain import split_state
from core.optim.layout import Layout
from core.optim.transform import State


class Block:
    """Variables ``keys`` in one vector; ``count`` is the number of updates they have had, ``group`` their chain.

    ``frozen`` says that a rule of the code keeps them as they are.
    """

    __slots__ = ("count", "frozen", "group", "keys", "layout", "places", "states")

    def __init__(self, keys: tuple[Any, ...], layout: Layout, states: list[State], count: int = 0, group: int = 0):
        self.keys = keys
        self.layout = layout
        self.states = states
        self.count = count
        self.group = group
        self.frozen = False
        self.places = {key: (0, i) for i, key in enumerate(keys)}

    def part(self, indices: Sequence[int]) -> Block:
        """A block of only these variables, with their share of the state."""
        states = [split_state(state, self.layout, indices) for state in self.states]
        keys = tuple(self.keys[i] for i in indices)
        return self._alike(Block(keys, self.layout.subset(indices), states, self.count, self.group))

    def copy(self) -> Block:
        """An independent block: states are replaced, never changed in place, so their dictionaries are enough."""
        states = [dict(state) for state in self.states]
        return self._alike(Block(self.keys, self.layout, states, self.count, self.group))

    def _alike(self, other: Block) -> Block:
        other.frozen = self.frozen
        return other


def select(blocks: Sequence[Block], wanted: Mapping[Any, Any]) -> tuple[list[Block], list[Block], set[Any]]:
    """(all blocks, those of exactly the ``wanted`` variables, variables known): mixed blocks are split.

    A block is mixed when only some of its variables are wanted, or when some are trainable and some are not.
    """
    everything: list[Block] = []
    chosen: list[Block] = []
    known: set[Any] = set()
    for block in blocks:
        known.update(block.keys)
        kinds: dict[tuple[bool, bool], list[int]] = {}
        for i, key in enumerate(block.keys):
            kinds.setdefault((key in wanted, getattr(key, "trainable", True)), []).append(i)
        parts = {kind: block if len(kinds) == 1 else block.part(indices) for kind, indices in kinds.items()}
        everything += parts.values()
        chosen += [part for (is_wanted, _), part in parts.items() if is_wanted]
    return everything, chosen, known


def places(blocks: Sequence[Block]) -> dict[Any, tuple[int, int]]:
    """(block, index) of each variable."""
    if len(blocks) == 1:
        return blocks[0].places
    return {key: (b, i) for b, block in enumerate(blocks) for i, key in enumerate(block.keys)}
