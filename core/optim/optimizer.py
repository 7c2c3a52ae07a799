"""The optimizer: compute gradients, apply them through the chain, and hand back the ledger of the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.autodiff import Variable
from core.declare import SettingError
from core.optim.block_making import check_variables, flat_blocks, fresh_blocks
from core.optim.blocks import Block, places, select
from core.optim.chain import Chain, run, run_single
from core.optim.differentiate import (
    Evaluate,
    EvaluateAll,
    differentiate,
    evaluate_block,
    evaluator,
    scaled,
    used_components,
)
from core.optim.dtypes import FLOAT64, for_arithmetic, resolve_dtype
from core.optim.finish import applied_change, share_unmoved
from core.optim.groups import ParameterGroup
from core.optim.joined import join_step, split_step
from core.optim.layout import Array, Layout
from core.optim.ledger import BlockLedger, StepLedger
from core.optim.ledger_words import optimizer_text
from core.optim.pairs import Pairs, Present, check_pairs, check_sparse
from core.optim.quiet import hush, quiet, unhush
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.store import Store


class Optimizer:
    """A chain with the state of a training run.

    ``groups`` gives some variables chains of their own (all with the same rows; ``chain`` is then the first).
    ``arithmetic`` is the type in which the chain computes ('float64' unless said otherwise; 'variable' computes in
    each variable's own type, as the frameworks do). Storage is the variables' own type, or the chain's Store.
    ``dialect`` and ``source`` remember where it was parsed from, ``remarks`` what a reader of those lines should know
    (a scheduler that is never stepped). ``step_count`` counts updates, ``call_count`` calls.
    ``counting`` says whose updates a transform's t counts: each variable's own (PyTorch, 'variable') or those of the
    optimizer as a whole (TensorFlow's iterations, 'optimizer'); gradients that are only collected are no update.
    """

    def __init__(
        self,
        chain: Chain | Sequence[Transform],
        *,
        dialect: str = "torch",
        source: str = "",
        arithmetic: str = "float64",
        groups: Sequence[ParameterGroup] = (),
        counting: str = "variable",
        remarks: Sequence[str] = (),
    ) -> None:
        first = chain if isinstance(chain, Chain) else Chain(chain)
        self.groups: tuple[ParameterGroup, ...] = tuple(groups) or (ParameterGroup(first),)
        if any(group.chain.row_names != first.row_names for group in self.groups):
            raise SettingError("parameter groups differ in their settings, not in their transforms")
        self.dialect = dialect
        self.source = source
        self.remarks = tuple(remarks)
        if arithmetic != "variable":
            resolve_dtype(arithmetic)
        self.arithmetic = arithmetic
        if counting not in ("variable", "optimizer"):
            raise SettingError(f"counting is 'variable' or 'optimizer', not {counting!r}")
        self.counting = counting
        self.step_count = 0
        self.call_count = 0
        self.update_count = 0
        self._blocks: list[Block] = []
        self._shared: dict[Transform, State] = self._fresh_memories()

    def __repr__(self) -> str:
        return optimizer_text(self)

    # settings -----------------------------------------------------------------------------------------------

    @property
    def chain(self) -> Chain:
        """The chain (of the first group)."""
        return self.groups[0].chain

    @chain.setter
    def chain(self, chain: Chain) -> None:
        if len(self.groups) > 1:
            raise SettingError("this optimizer has parameter groups: change their transforms one by one")
        self.groups = (self.groups[0].with_chain(chain),)
        self._shared = {**self._fresh_memories(), **{t: m for t, m in self._shared.items() if t in chain.sharing}}

    def store_as(self, storage: str, master: bool | None = None) -> None:
        """Store the weights in another type from the next step on ('variable': in the variables' own).

        ``master`` True keeps a copy in the arithmetic's type that remembers what rounding takes away, False drops
        it; settle that before the first step.
        """
        if master is not None and self._blocks and master != (self.chain.master_index >= 0):
            raise SettingError("master weights are decided on before the first step; start the run anew")
        chains = [group.chain.stored_as(storage, master) for group in self.groups]
        self.groups = tuple(group.with_chain(chain) for chain, group in zip(chains, self.groups, strict=True))

    @property
    def learning_rate(self) -> float:
        """The base learning rate (of the first group); set it between steps for a live change."""
        rate = self.chain.rate
        if rate is None:
            raise SettingError("this chain has no learning rate: its update is added as it is")
        return rate.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        rate = self.chain.rate
        if rate is None:
            raise SettingError("this chain has no learning rate to set")
        rate.set("learning_rate", value)

    def transform(self, row_name: str, group: int = 0) -> Transform:
        """The transform behind a ledger row."""
        chain = self.groups[group].chain
        return chain.transforms[chain.index(row_name)]

    def enable(self, row_name: str, enabled: bool) -> None:
        """Switch one cause on or off between steps; its row stays in the ledger, with contribution 0 while off."""
        for g in range(len(self.groups)):
            transform = self.transform(row_name, g)
            if isinstance(transform, LearningRate | Store) and not enabled:
                raise SettingError(f"{transform.label} cannot be switched off: without it there is no step")
            transform.enabled = enabled

    def reorder(self, row_names: Sequence[str]) -> None:
        """Put the transforms in another order between steps, each keeping its state; the store stays last."""
        old = self.chain
        if sorted(row_names) != sorted(old.row_names):
            raise SettingError(f"a new order names every row once: {', '.join(old.row_names)}")
        places = [old.index(name) for name in row_names]
        self.groups = tuple(
            group.with_chain(Chain([group.chain.transforms[i] for i in places])) for group in self.groups
        )
        for block in self._blocks:
            block.states = [block.states[i] for i in places]

    def check_variables(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
        """SettingError when these variables do not answer what the chain asks of their names and shapes."""
        check_variables(self.groups, names, shapes)

    def settings(self) -> list[dict[str, Any]]:
        """Names, values and schedules of all transforms of all groups as plain data: equal means equal optimizers."""
        return [setting for group in self.groups for setting in group.chain.settings()]

    @property
    def loss_scale(self) -> float | None:
        """What the loss is multiplied by before it is differentiated, None without a loss scaler."""
        for transform in self.chain.sharing:
            memory = self._shared[transform]
            if "scale" in memory:
                return float(memory["scale"])
        return None

    # the two halves of a step ---------------------------------------------------------------------------------

    def compute_gradients(
        self, loss: Callable[[], Any], variables: Sequence[Variable] | None = None
    ) -> list[tuple[Array | None, Variable]]:
        """[(gradient or None, variable), ...] of ``loss()``; without ``variables``, of all trainable ones it used.

        Nothing changes. With a loss scaler in the chain the scaled loss is differentiated, as its framework does.
        """
        return differentiate(loss, variables, self.loss_scale)[1]

    def apply_gradients(self, pairs: Pairs, loss: float | None = None) -> StepLedger:
        """Take one step: update the variables in place and return its ledger.

        ``pairs`` are (gradient, variable); a gradient has the variable's shape, is a SparseRows, or is None (the
        variable then takes no part: neither momentum nor decay moves it). ``loss`` is for schedules that watch it.
        Raises ValueError when all are None, or a shape is wrong; nothing has changed then.
        """
        return self._step(check_pairs(pairs, self.chain), loss)

    def minimize(self, loss: Callable[[], Any], variables: Sequence[Variable] | None = None) -> StepLedger:
        """compute_gradients and apply_gradients at once.

        Optimizers that evaluate the loss several times a step (LBFGS, SAM) need this way.
        """
        value, pairs = differentiate(loss, variables, self.loss_scale, for_a_step=True)
        present = check_pairs(pairs, self.chain)
        return self._step(present, value, evaluator(loss, list(present.gradients)))

    # the step on flat vectors (what a simulation calls) -----------------------------------------------------------

    def step_flat(
        self,
        weights: Array,
        gradient: Array,
        layout: Layout,
        loss: float | None = None,
        evaluate: Evaluate | None = None,
    ) -> tuple[StepLedger, Array]:
        """One step on the flat ``weights`` (size,) in their storage type; returns the ledger and the new weights.

        The fast way when all variables always take part. ``gradient`` is that of the unscaled loss: with a loss
        scaler it is scaled here, in its own type, and the ledger's gradient is the scaled one. Neither input changes.
        """
        blocks = self._blocks
        if not blocks:
            self._start_flat(weights, layout)
            blocks = self._blocks
        if self._shared:
            scale = self.loss_scale
            if scale is not None:
                gradient = scaled(gradient, scale)
        if len(blocks) == 1:
            return self._single_step(blocks[0], weights, gradient, loss, evaluate)
        pieces = split_step(blocks, layout, weights, gradient, evaluate)
        contexts = []
        for block, piece in zip(blocks, pieces, strict=True):
            context = self._context(block, piece.weights, piece.gradient, loss)
            context.evaluate = piece.evaluate
            contexts.append(context)
        stored, ledger = self._finish(blocks, contexts, [piece.weights for piece in pieces], loss)
        return join_step(ledger, pieces, stored, layout, weights)

    # state ----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Any:
        """The state of the run, independent of later steps (states are replaced, never changed in place)."""
        # by their places: the snapshot may be restored into another optimizer made from the same lines
        memories = [[dict(self._shared[transform]) for transform in group.chain.sharing] for group in self.groups]
        counts = self.step_count, self.call_count, self.update_count
        return *counts, [block.copy() for block in self._blocks], memories

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot of the same chain, this one's or that of another optimizer with the same settings."""
        self.step_count, self.call_count, self.update_count, blocks, memories = snapshot
        self._blocks = [block.copy() for block in blocks]
        self._shared = {
            transform: dict(memory)
            for group, kept in zip(self.groups, memories, strict=True)
            for transform, memory in zip(group.chain.sharing, kept, strict=True)
        }

    @property
    def state_vectors(self) -> int:
        """How many vectors of the weights' size the state holds (what a snapshot keeps alive)."""
        if not self._blocks:
            return 0
        block = self._blocks[0]
        numbers = sum(getattr(value, "size", 0) for state in block.states for value in state.values())
        return -(-numbers // max(block.layout.size, 1))

    # internals ------------------------------------------------------------------------------------------------

    def _fresh_memories(self) -> dict[Transform, State]:
        return {transform: transform.remember() for group in self.groups for transform in group.chain.sharing}

    def _arithmetic(self, storage: Any) -> Any:
        return np.dtype(storage) if self.arithmetic == "variable" else resolve_dtype(self.arithmetic)

    def _start_flat(self, weights: Array, layout: Layout) -> None:
        self.check_variables(layout.names, layout.shapes)
        work = for_arithmetic(weights, self._arithmetic(weights.dtype))
        self._blocks = flat_blocks(self.groups, work, layout)

    def _context(self, block: Block, weights: Array, gradient: Array, loss: float | None) -> StepContext:
        if weights.dtype is gradient.dtype is FLOAT64 and self.arithmetic == "float64":
            start = weights
        else:
            dtype = self._arithmetic(weights.dtype)
            with quiet():
                start, gradient = for_arithmetic(weights, dtype), for_arithmetic(gradient, dtype)
        count = block.count if self.counting == "variable" else self.update_count
        context = StepContext(block.layout, start, gradient, count)
        if start is not weights:
            context.stored = weights
        context.step = self.step_count
        context.loss = loss
        if block.frozen:
            context.frozen = True
        self.groups[block.group].chain.set_rates(context, self._shared)
        return context

    def _single_step(
        self, block: Block, weights: Array, gradient: Array, loss: float | None, evaluate: Evaluate | None
    ) -> tuple[StepLedger, Array]:
        """The step of one block, with as little around the chain as possible (what _finish does for several)."""
        context = self._context(block, weights, gradient, loss)
        context.evaluate = evaluate
        chain, before = self.groups[block.group].chain, block.states
        states = [state.copy() if state else {} for state in before]
        if self._shared:
            context.shared = self._shared
        token = hush()
        try:
            track = run_single(chain, states, context)
            stored, applied = applied_change(chain, track, weights, states)
        finally:
            unhush(token)
        halted = context.halted
        if not halted:
            block.states = states
            block.count += 1
            self.update_count += 1
        elif context.keep_state:
            block.states = states
        if self._shared:
            self._renew_memories([context])
        step = self.call_count
        self.call_count = step + 1
        if context.advances and (not context.skipped or context.goes_on):
            self.step_count += 1
        return StepLedger(step, (BlockLedger(chain, track, applied, before),), block.places, loss), stored

    def _renew_memories(self, contexts: Sequence[StepContext]) -> None:
        self._shared = {transform: dict(memory) for transform, memory in self._shared.items()}
        for transform, memory in self._shared.items():
            if transform.enabled:
                transform.after_step(memory, contexts)

    def _finish(
        self, blocks: list[Block], contexts: list[StepContext], weights: list[Array], loss: float | None
    ) -> tuple[list[Array], StepLedger]:
        chains = [self.groups[block.group].chain for block in blocks]
        before = [block.states for block in blocks]
        states = [[dict(state) for state in old] for old in before]
        if self._shared:
            for context in contexts:
                context.shared = self._shared
        stored, ledgers = [], []
        with quiet():
            tracks = run(chains, states, contexts)
            for chain, track, old, state, was in zip(chains, tracks, weights, states, before, strict=True):
                after, applied = applied_change(chain, track, old, state)
                stored.append(after)
                ledgers.append(BlockLedger(chain, track, applied, was))
        share_unmoved(ledgers)
        held, advances, updated = False, True, False
        for block, state, context in zip(blocks, states, contexts, strict=True):
            if not context.halted or context.keep_state:
                block.states = state
            if not context.halted:
                block.count += 1
                updated = True
            held = held or (context.skipped and not context.goes_on)
            advances = advances and context.advances
        if self._shared:
            self._renew_memories(contexts)
        step = self.call_count
        self.call_count += 1
        if updated:
            self.update_count += 1
        if advances and not held:
            self.step_count += 1
        return stored, StepLedger(step, ledgers, places(blocks), loss)

    def _step(self, present: Present, loss: float | None, evaluate: EvaluateAll | None = None) -> StepLedger:
        gradients = present.gradients
        if present.used:
            check_sparse(self.dialect, [row.name for row in self.chain if row.enabled])
        blocks = self._blocks_for(present)
        contexts, weights = [], []
        for block in blocks:
            storage = block.keys[0].dtype
            flat = block.layout.join([variable.numpy() for variable in block.keys], storage)
            dtype = self._arithmetic(storage)
            with quiet():
                gradient = block.layout.join([gradients[variable] for variable in block.keys], dtype)
            context = self._context(block, flat, gradient, loss)
            context.frozen = block.frozen or not block.keys[0].trainable
            if present.used:
                context.used = used_components(block, present.used)
            context.keeps_type = True
            if evaluate is not None:
                context.evaluate = evaluate_block(block, blocks, evaluate, dtype)
            weights.append(flat)
            contexts.append(context)
        stored, ledger = self._finish(blocks, contexts, weights, loss)
        for block, flat in zip(blocks, stored, strict=True):
            for variable, value in zip(block.keys, block.layout.split(flat), strict=True):
                variable.assign(value)
        ledger.absent = present.absent
        return ledger

    def _blocks_for(self, present: Present) -> list[Block]:
        """The blocks of exactly these variables: blocks only partly present are split, new variables join anew."""
        everything, chosen, known = select(self._blocks, present.gradients)
        fresh = [variable for variable in present.gradients if variable not in known]
        if fresh:
            if not self._blocks:
                names = [str(variable.name) for variable in present.order]
                self.check_variables(names, [variable.shape for variable in present.order])
            made = fresh_blocks(self.groups, present.order, fresh, self._arithmetic)
            everything += made
            chosen += made
        self._blocks = everything
        return chosen
