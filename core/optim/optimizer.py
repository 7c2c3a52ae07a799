"""The optimizer: compute gradients, apply them through the chain, and hand back the ledger of the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.autodiff import GradientTape, Variable
from core.declare import SettingError
from core.optim.chain import Chain, run, split_state
from core.optim.dtypes import resolve_dtype
from core.optim.layout import Array, Layout
from core.optim.ledger import BlockLedger, StepLedger
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.store import Store

Pairs = Sequence[tuple[Any, Variable]]
Evaluate = Callable[[Array], tuple[float, Array]]


class Block:
    """Variables that have gone through the same steps, in one flat vector, with the chain's state for them."""

    __slots__ = ("count", "keys", "layout", "states")

    def __init__(self, keys: tuple[Any, ...], layout: Layout, states: list[State], count: int = 0) -> None:
        self.keys = keys
        self.layout = layout
        self.states = states
        self.count = count

    def part(self, indices: Sequence[int]) -> Block:
        """A block of only these variables, with their share of the state."""
        states = [split_state(state, self.layout, indices) for state in self.states]
        return Block(tuple(self.keys[i] for i in indices), self.layout.subset(indices), states, self.count)


class Optimizer:
    """A chain with the state of a training run.

    ``arithmetic`` is the type in which the chain computes ('float64' unless said otherwise; 'variable' computes in
    each variable's own type, as the frameworks do). Storage is the variables' own type, or the chain's Store.
    ``dialect`` and ``source`` remember where it was parsed from.
    """

    def __init__(
        self,
        chain: Chain | Sequence[Transform],
        *,
        dialect: str = "torch",
        source: str = "",
        arithmetic: str = "float64",
    ) -> None:
        self.chain = chain if isinstance(chain, Chain) else Chain(chain)
        self.dialect = dialect
        self.source = source
        if arithmetic != "variable":
            resolve_dtype(arithmetic)
        self.arithmetic = arithmetic
        self.step_count = 0
        self.call_count = 0
        self._blocks: list[Block] = []

    # settings -----------------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The base learning rate; set it between steps for a live change."""
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

    def transform(self, row_name: str) -> Transform:
        """The transform behind a ledger row."""
        return self.chain.transforms[self.chain.index(row_name)]

    def enable(self, row_name: str, enabled: bool) -> None:
        """Switch one cause on or off between steps; its row stays in the ledger, with contribution 0 while off."""
        transform = self.transform(row_name)
        if isinstance(transform, LearningRate | Store) and not enabled:
            raise SettingError(f"{transform.label} cannot be switched off: without it there is no step")
        transform.enabled = enabled

    def reorder(self, row_names: Sequence[str]) -> None:
        """Put the transforms in another order between steps, each keeping its state; the store stays last."""
        old = self.chain
        if sorted(row_names) != sorted(old.row_names):
            raise SettingError(f"a new order names every row once: {', '.join(old.row_names)}")
        places = [old.index(name) for name in row_names]
        self.chain = Chain([old.transforms[i] for i in places])
        for block in self._blocks:
            block.states = [block.states[i] for i in places]

    # the two halves of a step ---------------------------------------------------------------------------------

    def compute_gradients(
        self, loss: Callable[[], Any], variables: Sequence[Variable] | None = None
    ) -> list[tuple[Array | None, Variable]]:
        """[(gradient or None, variable), ...] of ``loss()``; without ``variables``, of all trainable ones it used.

        Nothing changes. With a loss scaler in the chain the scaled loss is differentiated, as its framework does.
        """
        if not callable(loss):
            raise TypeError("loss has to be callable: compute_gradients(lambda: (w * x).sum(), [w])")
        with GradientTape() as tape:
            value = loss()
        chosen = list(variables) if variables is not None else list(tape.watched_variables())
        if not chosen:
            raise ValueError("no trainable variable was read inside the loss function")
        gradients = tape.gradient(value, chosen)
        scale = self._loss_scale()
        result: list[tuple[Array | None, Variable]] = []
        for gradient, variable in zip(gradients, chosen, strict=True):
            array = None if gradient is None else np.asarray(_plain(gradient))
            if array is not None and scale is not None:
                with np.errstate(over="ignore"):
                    array = (array * array.dtype.type(scale)).astype(array.dtype)
            result.append((array, variable))
        return result

    def apply_gradients(self, pairs: Pairs) -> StepLedger:
        """Take one step: update the variables in place and return its ledger.

        ``pairs`` are (gradient, variable); a gradient has the variable's shape, or is None (the variable then takes
        no part: neither momentum nor decay moves it). Raises ValueError when all are None, or a shape is wrong;
        nothing has changed then.
        """
        present = _check_pairs(pairs)
        return self._step(dict(present))

    def minimize(self, loss: Callable[[], Any], variables: Sequence[Variable] | None = None) -> StepLedger:
        """compute_gradients and apply_gradients at once.

        Optimizers that evaluate the loss several times a step (LBFGS, SAM) need this way.
        """
        pairs = self.compute_gradients(loss, variables)
        present = _check_pairs(pairs)
        order = [variable for variable, _ in present]
        with_loss = float(np.asarray(_plain(loss())))

        def evaluate_at(values: dict[Any, Array]) -> tuple[float, dict[Any, Array]]:
            saved = [variable.numpy().copy() for variable in order]
            try:
                for variable in order:
                    variable.assign(values[variable])
                with GradientTape() as tape:
                    value = loss()
                gradients = tape.gradient(value, order, unconnected_gradients="zero")
                found = {
                    variable: np.asarray(_plain(gradient)) for variable, gradient in zip(order, gradients, strict=True)
                }
                return float(np.asarray(_plain(value))), found
            finally:
                for variable, value in zip(order, saved, strict=True):
                    variable.assign(value)

        return self._step(dict(present), loss=with_loss, evaluate=evaluate_at)

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

        The fast way when all variables always take part. Neither input is changed.
        """
        if not self._blocks:
            keys = layout.names
            work = weights.astype(self._arithmetic(weights.dtype))
            self._blocks = [Block(keys, layout, self.chain.init(work, layout))]
        block = self._blocks[0]
        context = self._context(block, weights, gradient, loss)
        context.evaluate = evaluate
        (stored,), ledger = self._finish([block], [context], [weights], loss)
        return ledger, stored

    # state ----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Any:
        """The state of the run, independent of later steps (states are replaced, never changed in place)."""
        blocks = [(b.keys, b.layout, [dict(state) for state in b.states], b.count) for b in self._blocks]
        return self.step_count, self.call_count, blocks

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot of the same chain."""
        self.step_count, self.call_count, blocks = snapshot
        self._blocks = [
            Block(keys, layout, [dict(state) for state in states], count) for keys, layout, states, count in blocks
        ]

    # internals ------------------------------------------------------------------------------------------------

    def _loss_scale(self) -> float | None:
        return None

    def _arithmetic(self, storage: Any) -> Any:
        return np.dtype(storage) if self.arithmetic == "variable" else resolve_dtype(self.arithmetic)

    def _context(self, block: Block, weights: Array, gradient: Array, loss: float | None) -> StepContext:
        dtype = self._arithmetic(weights.dtype)
        start = weights if weights.dtype == dtype else weights.astype(dtype)
        if gradient.dtype != dtype:
            with np.errstate(over="ignore"):
                gradient = gradient.astype(dtype)
        context = StepContext(block.layout, start, gradient, block.count)
        rate = self.chain.rate
        if rate is None:
            context.rate = context.base_rate = -1.0
        else:
            context.base_rate = rate.learning_rate
            context.rate = rate.rate(self.step_count)
        context.loss = loss
        return context

    def _finish(
        self, blocks: list[Block], contexts: list[StepContext], weights: list[Array], loss: float | None
    ) -> tuple[list[Array], StepLedger]:
        chain = self.chain
        states = [[dict(state) for state in block.states] for block in blocks]
        with np.errstate(all="ignore"):
            tracks = run(chain, states, contexts)
            stored, ledgers = [], []
            for context, track, before in zip(contexts, tracks, weights, strict=True):
                dtype = chain.store.dtype_for(before.dtype)
                u = track.updates[-1] if track.updates else context.gradient
                after = before if context.halted else (context.weights + u).astype(dtype, copy=False)
                applied = after.astype(np.float64, copy=False) - before.astype(np.float64, copy=False)
                stored.append(after)
                ledgers.append(BlockLedger(chain, track, context.base_rate, applied, context.skipped))
        skipped = any(context.skipped for context in contexts)
        for block, state, context in zip(blocks, states, contexts, strict=True):
            if not context.halted or context.keep_state:
                block.states = state
            if not context.halted:
                block.count += 1
        step = self.call_count
        self.call_count += 1
        if not skipped:
            self.step_count += 1
        places = {key: (b, i) for b, block in enumerate(blocks) for i, key in enumerate(block.keys)}
        first = contexts[0]
        return stored, StepLedger(step, first.rate, first.base_rate, ledgers, places, skipped, loss)

    def _step(
        self,
        gradients: dict[Variable, Array],
        loss: float | None = None,
        evaluate: Callable[[dict[Any, Array]], tuple[float, dict[Any, Array]]] | None = None,
    ) -> StepLedger:
        blocks = self._blocks_for(gradients)
        contexts, weights = [], []
        for block in blocks:
            storage = block.keys[0].dtype
            flat = block.layout.join([variable.numpy() for variable in block.keys], storage)
            dtype = self._arithmetic(storage)
            gradient = block.layout.join([gradients[variable] for variable in block.keys], dtype)
            context = self._context(block, flat, gradient, loss)
            context.frozen = not block.keys[0].trainable
            if evaluate is not None:
                context.evaluate = _evaluate_block(block, blocks, evaluate, dtype)
            weights.append(flat)
            contexts.append(context)
        stored, ledger = self._finish(blocks, contexts, weights, loss)
        for block, flat in zip(blocks, stored, strict=True):
            for variable, value in zip(block.keys, block.layout.split(flat), strict=True):
                variable.assign(value)
        return ledger

    def _blocks_for(self, gradients: dict[Variable, Array]) -> list[Block]:
        """The blocks of exactly these variables: blocks only partly present are split, new variables join anew."""
        known: set[Any] = set()
        result: list[Block] = []
        everything: list[Block] = []
        for block in self._blocks:
            known.update(block.keys)
            inside = [i for i, key in enumerate(block.keys) if key in gradients]
            if len(inside) == len(block.keys):
                everything.append(block)
                result.append(block)
            elif not inside:
                everything.append(block)
            else:
                outside = [i for i in range(len(block.keys)) if i not in inside]
                taking, leaving = block.part(inside), block.part(outside)
                everything += [taking, leaving]
                result.append(taking)
        fresh: dict[Any, list[Variable]] = {}
        for variable in gradients:
            if variable not in known:
                fresh.setdefault((str(variable.dtype), variable.trainable), []).append(variable)
        for variables in fresh.values():
            block = self._new_block(variables)
            everything.append(block)
            result.append(block)
        self._blocks = everything
        return result

    def _new_block(self, variables: list[Variable]) -> Block:
        layout = Layout([variable.name for variable in variables], [variable.shape for variable in variables])
        dtype = self._arithmetic(variables[0].dtype)
        flat = layout.join([variable.numpy() for variable in variables], dtype)
        return Block(tuple(variables), layout, self.chain.init(flat, layout))


def _evaluate_block(
    block: Block,
    blocks: list[Block],
    evaluate: Callable[[dict[Any, Array]], tuple[float, dict[Any, Array]]],
    dtype: Any,
) -> Evaluate:
    """Loss and gradient as a function of this block's flat weights, the other blocks held where they are."""

    def at(flat: Array) -> tuple[float, Array]:
        values = {key: key.numpy() for other in blocks for key in other.keys}
        values.update(zip(block.keys, block.layout.split(flat), strict=True))
        loss, gradients = evaluate(values)
        return loss, block.layout.join([gradients[key] for key in block.keys], dtype)

    return at


def _check_pairs(pairs: Pairs) -> list[tuple[Variable, Array]]:
    """The pairs that take part, as (variable, gradient array); raises before anything has changed."""
    present: list[tuple[Variable, Array]] = []
    seen: set[int] = set()
    for position, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[1], Variable):
            raise TypeError(f"pair {position} has to be (gradient, Variable), not {type(pair).__name__}: {pair!r}")
        gradient, variable = pair
        if id(variable) in seen:
            raise ValueError(f"variable {variable.name!r} is given twice; add its gradients first")
        seen.add(id(variable))
        if gradient is None:
            continue
        array = np.asarray(_plain(gradient))
        if array.shape != tuple(variable.shape):
            raise ValueError(
                f"the gradient of {variable.name!r} has shape {array.shape}, the variable {tuple(variable.shape)}"
            )
        present.append((variable, array))
    if not present:
        names = ", ".join(str(variable.name) for _, variable in pairs) or "no pairs at all"
        raise ValueError(f"no gradients for any variable ({names}): is the loss connected to them?")
    return present


def _plain(value: Any) -> Any:
    """The numpy array behind a tensor, or the value itself."""
    return value.numpy() if hasattr(value, "numpy") else value
