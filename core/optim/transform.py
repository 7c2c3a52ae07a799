"""What a transform is: one cause of the difference between the computed and the applied step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


MOVED = "momentum"
"""The figure that says to what a schedule has set the momentum (or beta1) of the step."""

FIGURE_SYMBOLS = {
    "1-beta1^t": "1 − β₁ᵗ",
    "1-beta^t": "1 − βᵗ",
    "mu_t": "μ_t",
    "eta": "η_t",
    "rho": "min(lr_t, 1/√t)",
    "rate_divisor": "1 + (t − 1) γ",
    "clip_divisor": "largest divisor",
    "rms_divisor": "largest divisor",
    "deviation": "√(η / tᵞ)",
    "gradient_norm": "‖u‖",
    "clip_factor": "smallest factor",
    "loss": "f",
}
"""Figures of a step as formulas write them."""


class PerVariable(list[Any]):
    """A piece of state with one entry a variable (row and column sums, say), in the layout's order."""


class StepContext:
    """What a transform can see of the step it takes part in.

    ``weights`` is the flat vector the update will be added to: most transforms leave it alone, those that act on
    the weights themselves (a framework that multiplies w by 1 - lr*wd before the update) replace it. ``start``
    is the vector as the step found it, ``gradient`` the gradient as it was handed in. ``count`` is the number of
    updates these variables have had (t = count + 1; PyTorch counts like this), ``step`` that of the optimizer as a
    whole (TensorFlow's iterations). ``rate`` is this step's learning rate, ``base_rate`` the one the user set,
    ``momentum`` what a schedule wants the momentum (or beta1) to be, else None. ``loss`` is there when it is
    known, ``evaluate(weights) -> (loss, gradient)`` only in ``Optimizer.minimize`` and simulations. ``used`` marks
    the components a sparse gradient names (None: dense). ``stored`` is ``start`` in its storage type (None: the same).
    ``shared[transform]`` is the memory of a transform that
    ``shares``, one for all variables.

    A transform that ends the step early returns zeros and sets ``halted`` (frozen variables, a guard, gradients
    being collected); the state of this step is then dropped, unless ``keep_state`` is set as well (an accumulator
    must remember). ``skipped`` tells people that the step was refused. ``advances`` = False keeps the schedule
    where it is, ``goes_on`` = True lets it go on although the step was refused. ``frozen`` says that the variables of
    this block are not trainable. ``keeps_type`` says that the weights stay in their own type whatever the store makes
    of them (a variable cannot change its type).
    """

    base_rate: float = 0.0
    rate: float = 0.0
    step: int = 0
    momentum: float | None = None
    loss: float | None = None
    evaluate: Callable[[Array], tuple[float, Array]] | None = None
    combined: Any = None
    used: Array | None = None
    stored: Array | None = None
    shared: Mapping[Any, State] = {}
    halted: bool = False
    keep_state: bool = False
    skipped: bool = False
    advances: bool = True
    goes_on: bool = False
    frozen: bool = False
    keeps_type: bool = False

    def __init__(self, layout: Layout, start: Array, gradient: Array, count: int) -> None:
        self.layout = layout
        self.start = start
        self.weights = start
        self.gradient = gradient
        self.count = count
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
    shows: tuple[str, ...] = ()
    """The entries of ctx.figures that this transform notes and its formula shows."""
    moved: str = ""
    """The parameter in whose place the momentum stands that a schedule gives (one cycle, cyclic rates)."""
    none_is_zero: bool = False
    """True when a gradient that is None counts as zeros: the rule looks at all variables as one vector (LBFGS)."""
    shares: bool = False
    """True when the transform has one memory for all variables (``remember``, ``after_step``)."""

    def init(self, weights: Array, layout: Layout) -> State:
        """State before the first step, for the flat ``weights``: arrays (size,), PerVariable lists, numbers."""
        return {}

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        """What must be known of all variables together (a global norm); reaches ``update`` as ctx.combined."""
        return None

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        """The next update vector (size,), same dtype as ``u``."""
        raise NotImplementedError(f"{type(self).__name__} has to implement update")

    def remember(self) -> State:
        """The memory shared by all variables before the first step (loss scale, watched loss)."""
        return {}

    def after_step(self, memory: State, contexts: Sequence[StepContext]) -> None:
        """Called once after each step: put new values into ``memory`` (entries are replaced, never changed)."""

    def idle(self) -> bool:
        """True when the transform, as it is set, changes nothing (a decay of 0): such rows need no line of code."""
        return not self.enabled

    def settings(self) -> dict[str, Any]:
        """Name and values as plain data: equal settings mean equal transforms."""
        return {"name": self.name, **self.values()}

    def explain(self, figures: dict[str, float]) -> str:
        """The formula with the settings in force, and this step's numbers of ``shows`` (from ctx.figures)."""
        return self.told(self.formula, figures, all_settings=True)

    def told(self, formula: str, figures: dict[str, float], all_settings: bool = False) -> str:
        """``formula`` and the numbers in it: settings whose letter it holds (or all of them), figures of the step."""
        held = self.values() | ({self.moved: figures[MOVED]} if self.moved and MOVED in figures else {})
        numbers = [
            f"{parameter.symbol} = {value:.6g}"
            for parameter in self.parameters
            if isinstance(value := held[parameter.key], int | float)
            and not isinstance(value, bool)
            and (all_settings or parameter.symbol in formula)
        ]
        numbers += [f"{FIGURE_SYMBOLS.get(key, key)} = {figures[key]:.6g}" for key in self.shows if key in figures]
        return f"{formula}   with {', '.join(numbers)}" if numbers else formula
