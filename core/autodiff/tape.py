"""GradientTape: records what is computed while it is active, and differentiates it."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any

import numpy as np

from core.autodiff.backward import needed_ids, reverse_pass
from core.autodiff.dtypes import is_floating
from core.autodiff.explain import reason
from core.autodiff.rules.broadcasting import expand
from core.autodiff.state import next_id, state
from core.autodiff.structure import leaves, rebuild
from core.autodiff.targets import match, one_source, one_target, seed_of, stacked, targets_of, wants_zero
from core.autodiff.tensor import Tensor, make, raw
from core.autodiff.variable import Variable
from core.autodiff.watching import WatchingRecorder

log = logging.getLogger("stepscope.autodiff")


class GradientTape(WatchingRecorder):
    """Records operations on watched tensors; ``gradient`` then differentiates them (TensorFlow's meaning).

    Trainable variables are watched by themselves on first use (unless ``watch_accessed_variables`` is False),
    other tensors by ``watch``. A tape that is not ``persistent`` answers one ``gradient`` call and frees its
    record while it does. Tapes nest; each records for itself. While a tape is active numpy's floating-point
    warnings are off: ``trace_nonfinite`` says where a nan or inf comes from.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        super().__init__(watch_accessed_variables)
        self._persistent = persistent
        self._used = False
        self._recording = False
        self._quiet: Any = None
        self._quiet_since = 0  # the number that the next tensor had when the block began, or at the last watch
        self._reasons: dict[int, str] = {}

    # ---- recording ----------------------------------------------------------------------------------------
    def __enter__(self) -> GradientTape:
        if self._recording:
            raise RuntimeError("this tape is recording already: a tape cannot be entered twice at the same time")
        if self._used and not self._persistent:
            self._start_anew()
        self._quiet = np.errstate(all="ignore")
        self._quiet.__enter__()
        self._recording = True
        self._quiet_since = next_id()
        self._enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()
        self._recording = False
        self._quiet.__exit__(kind, error, trace)

    def watch(self, tensor: Any) -> None:
        """Follow this tensor or variable (or every one in a list, tuple, dictionary) from here on."""
        if self._used and not self._persistent and not self._recording:
            self._start_anew()  # for the next block
        for leaf in leaves(tensor):
            if not isinstance(leaf, Tensor):
                raise TypeError(
                    f"only tensors and variables can be watched, not {type(leaf).__name__}: "
                    f"make one with Tensor(value) or Variable(value)"
                )
            if not is_floating(leaf.dtype):
                log.warning("a tensor of dtype %s is not differentiable: its gradient will be None", leaf.dtype)
                continue
            if leaf._id not in self._known:
                self._watch_one(leaf)
                now = next_id()
                if self._recording and now - max(self._quiet_since, leaf._id) > 1:  # tensors were made meanwhile
                    self._watched_late = True
                self._quiet_since = now

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables watched so far, in the order in which they were made."""
        return tuple(sorted(self._variables, key=lambda v: v._id))

    def stop_recording(self) -> _Paused:
        """A context in which nothing is recorded (and no variable watched)."""
        if not self._recording:
            raise RuntimeError("stop_recording is for inside the tape's own 'with' block")
        return _Paused(self)

    def reset(self) -> None:
        """Forget everything recorded and watched; recording goes on."""
        if self not in state.tapes:
            raise RuntimeError("reset is for inside the tape's own 'with' block, while it records")
        self._start_anew()
        self._was_reset = True

    def _start_anew(self) -> None:
        self._clear()
        self._reasons = {}
        self._used = False

    # ---- asking -------------------------------------------------------------------------------------------
    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """The gradient of ``target`` with respect to ``sources``, in the structure of ``sources``.

        Several targets, or a target with axes, count as their sum, each entry weighted by ``output_gradients``
        (same structure and shapes as ``target``; default ones). A source that the target does not depend on
        gives None, or zeros with ``unconnected_gradients="zero"``; ``why_none`` tells the reason.
        """
        zero = unconnected_gradients != "none" and wants_zero(unconnected_gradients)
        wanted = self._sources(sources)
        targets = targets_of(target)
        seeds = None if output_gradients is None else match(target, output_gradients)
        self._use_up()
        with np.errstate(all="ignore"):
            values = self._gradients(targets, wanted, seeds, zero)
        return rebuild(sources, values)

    def _gradients(self, targets: list[Any], sources: list[Any], seeds: list[Any] | None, zero: bool) -> list[Any]:
        """One gradient for each source, and the reasons for those that are None; frees the record."""
        self._blocked.clear()
        found = self._differentiate(targets, sources, seeds, consume=not self._persistent)
        values = []
        for source in sources:
            value = found.get(source._id)
            if value is None:
                self._reasons[source._id] = reason(self, targets, source)
                if zero:
                    value = np.zeros(source.shape, source.dtype)[()]
            values.append(value if value is None or isinstance(value, Tensor) else make(value))
        self._free()
        return values

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: str = "none") -> Any:
        """The derivatives of every entry of ``target`` (one tensor): target's shape, then the source's.

        In the structure of ``sources``. One reverse pass for each entry of the target.
        """
        zero = wants_zero(unconnected_gradients)
        wanted = self._sources(sources)
        target = one_target(target, "jacobian")
        self._use_up()
        self._blocked.clear()
        shape = np.shape(raw(target))
        rows: list[dict[int, Any]] = []
        with np.errstate(all="ignore"):
            for index in np.ndindex(shape):
                seed = np.zeros(shape)
                seed[index] = 1
                rows.append(self._differentiate([target], wanted, [seed[()]], consume=False))
        self._give_reasons([target], wanted, rows)
        self._free()
        return rebuild(sources, [stacked(rows, source, shape, zero) for source in wanted])

    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: str = "none") -> Any:
        """For target (n, ...) and source (n, ...) that depend on each other row by row: (n, target's, source's).

        One reverse pass for each entry of a row of the target, whatever the number of rows.
        """
        zero = wants_zero(unconnected_gradients)
        (source,) = self._sources([one_source(source)])
        target = one_target(target, "batch_jacobian")
        if not isinstance(target, Tensor) or target.ndim < 1 or source.ndim < 1 or len(target) != len(source):
            raise ValueError(
                f"batch_jacobian needs the same number of rows: target {np.shape(raw(target))}, source {source.shape}"
            )
        self._use_up()
        self._blocked.clear()
        columns: list[dict[int, Any]] = []
        with np.errstate(all="ignore"):
            for index in np.ndindex(target.shape[1:]):
                seed = np.zeros(target.shape, target.dtype)
                seed[(slice(None), *index)] = 1
                columns.append(self._differentiate([target], [source], [seed], consume=False))
        self._give_reasons([target], [source], columns)
        self._free()
        found = stacked(columns, source, target.shape[1:], zero)
        if found is None:
            return None
        inner = len(target.shape) - 1
        return np.moveaxis(found, inner, 0)

    def _give_reasons(self, targets: list[Any], sources: list[Any], rows: list[dict[int, Any]]) -> None:
        for source in sources:
            if rows and all(row.get(source._id) is None for row in rows):
                self._reasons[source._id] = reason(self, targets, source)

    def why_none(self, source: Any) -> str:
        """Why the last ``gradient`` call gave None (or zeros in its place) for ``source``, in one sentence."""
        if not isinstance(source, Tensor):
            raise TypeError(f"why_none takes a source of gradient(), not {type(source).__name__}")
        found = self._reasons.get(source._id)
        if found is None:
            raise ValueError("gradient() has not been asked for this source, or it has a gradient")
        return found

    def _sources(self, sources: Any) -> list[Any]:
        if self._used and not self._persistent:
            raise RuntimeError(
                "a non-persistent tape answers once, its record is gone: "
                "use GradientTape(persistent=True) to ask several times, or give all targets and sources at once"
            )
        wanted = leaves(sources)
        for source in wanted:
            if not isinstance(source, Tensor):
                raise TypeError(f"the sources must be tensors or variables, not {type(source).__name__}")
        return wanted

    def _use_up(self) -> None:
        if not self._persistent:
            self._used = True
            self._leave()  # asked inside its own block: it is used up, so it stops recording

    def _free(self) -> None:
        if not self._persistent:
            self._entries = []
            self._exits = []
            self._lost = {}

    def _differentiate(
        self, targets: list[Any], sources: list[Any], output_gradients: list[Any] | None, consume: bool
    ) -> dict[int, Any]:
        grads: dict[int, Any] = {}
        wanted = {s._id for s in sources if s._id in self._known}
        seeds = [None] * len(targets) if output_gradients is None else output_gradients
        for target, seed in zip(targets, seeds, strict=True):
            if not isinstance(target, Tensor):
                continue
            if target._id not in self._known:
                if not is_floating(target.dtype) or all(s._id != target._id for s in sources):
                    continue
                wanted.add(target._id)  # a source that is the target has gradient 1 whether it was used or not
            g = seed_of(target, seed)
            old = grads.get(target._id)
            grads[target._id] = g if old is None else old + g
        given = {id(g) for g in grads.values()}
        needed = self._known if self._leaf_ids <= wanted else needed_ids(self._entries, wanted)
        found = reverse_pass(self._entries, grads, needed, wanted, consume, self._on_tensors, blocked=self._blocked)
        for source in sources:
            g = found.get(source._id)
            if g is None:
                continue
            g = expand(g, source.shape) if g.shape != source.shape else g
            if isinstance(g, Tensor) and not state.tapes:
                g = g._value
            if isinstance(g, np.ndarray):  # never hand out the same memory twice, or the caller's
                if g.ndim == 0:
                    g = g[()]
                elif g.base is not None or id(g) in given:
                    g = g.copy()
                given.add(id(g))
            found[source._id] = g
        return found

    def _reverse(self, targets: list[Any], wanted: set[int], watch: Any) -> dict[int, Any]:
        """The plain gradients of the numbers in ``wanted``; ``watch`` sees every part on the way."""
        grads = {t._id: seed_of(t, None) for t in targets if t._id in self._known}
        return reverse_pass(self._entries, grads, self._known, wanted, False, watch=watch)


class _Paused:
    """Takes a tape out of the stack for the length of a block."""

    def __init__(self, tape: GradientTape) -> None:
        self._tape = tape

    def __enter__(self) -> None:
        self._tape._paused = True
        self._tape._leave()

    def __exit__(self, *_: object) -> None:
        self._tape._enter()
