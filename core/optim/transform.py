"""What a transform is: one cause of the difference between the computed and the applied step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core.declare import Declared
from core.optim.layout import Array, Layout

State = dict[str, Any]

CAUSES = (
    "frozen variables",
    "loss scaling",
    "accumulation",
    "regularisation",
    "centralisation",
    "clipping",
    "momentum",
    "bias correction",
    "adaptive scaling",
    "trust ratio",
    "sign",
    "orthogonalisation",
    "learning rate",
    "weight decay",
    "averaging",
    "noise",
    "guard",
    "own rule",
    "rounding",
)


class PerVariable(list[Any]):
    """A piece of state with one entry a variable (row and column sums, say), in the layout's order."""


class StepContext:
    """What a transform can see of the step it takes part in.

    ``weights`` is the flat vector the update will be added to: most transforms leave it alone, those that act on
    the weights themselves (a framework that multiplies w by 1 - lr*wd before the update) replace it. ``start``
    is the vector as the step found it, ``gradient`` the gradient as it was handed in. ``count`` is the number of
    updates applied before this one (t = count + 1). ``rate`` is this step's learning rate, ``base_rate`` the
    one the user set. ``evaluate(weights) -> (loss, gradient)`` is there only in ``Optimizer.minimize``.

    A transform that ends the step early returns zeros and sets ``halted`` (frozen variables, a guard, gradients
    being collected); the state of this step is then dropped, unless ``keep_state`` is set as well (an accumulator
    must remember). ``skipped`` tells people that the step was refused. ``frozen`` says that the variables of
    this block are not trainable.
    """

    __slots__ = (
        "base_rate",
        "combined",
        "count",
        "evaluate",
        "figures",
        "frozen",
        "gradient",
        "halted",
        "keep_state",
        "layout",
        "loss",
        "rate",
        "scratch",
        "skipped",
        "start",
        "weights",
    )

    def __init__(self, layout: Layout, start: Array, gradient: Array, count: int) -> None:
        self.layout = layout
        self.start = start
        self.weights = start
        self.gradient = gradient
        self.count = count
        self.base_rate = 0.0
        self.rate = 0.0
        self.loss: float | None = None
        self.evaluate: Callable[[Array], tuple[float, Array]] | None = None
        self.combined: Any = None
        self.halted = False
        self.keep_state = False
        self.skipped = False
        self.frozen = False
        self.figures: dict[str, float] = {}
        self.scratch: dict[str, Any] = {}


class Transform(Declared):
    """One step of the chain: takes the update vector u, flat, and returns the next one (a new array).

    To add one: subclass, declare ``name``, ``label``, ``cause``, ``formula``, ``source`` and ``parameters``,
    implement ``update`` and list the class in ``core.optim.transforms.TRANSFORMS``. Ledger, pipeline, sessions,
    exports and documents take everything from the declaration.

    Rules that keep ledgers and histories right: never change ``u`` or an array of ``state`` in place (return and
    store new arrays), take every number that lasts from ``state``, and let the dtype of ``u`` decide the
    arithmetic (Python floats adopt it).
    """

    cause: str = "own rule"
    group: str = ""
    """Transforms next to each other with the same group are one card in the pipeline ('Adam')."""
    enabled: bool = True
    couples: bool = False
    """True when ``combine`` has to be asked (the transform looks at all variables together)."""

    def init(self, weights: Array, layout: Layout) -> State:
        """State before the first step, for the flat ``weights``: arrays (size,), PerVariable lists, numbers."""
        return {}

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        """What must be known of all variables together (a global norm); reaches ``update`` as ctx.combined."""
        return None

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        """The next update vector (size,), same dtype as ``u``."""
        raise NotImplementedError(f"{type(self).__name__} has to implement update")

    def explain(self, figures: dict[str, float]) -> str:
        """The formula with this step's numbers, from the figures that ``update`` noted in ctx.figures."""
        numbers = ", ".join(f"{key} = {value:.6g}" for key, value in figures.items())
        return f"{self.formula}   with {numbers}" if numbers else self.formula
