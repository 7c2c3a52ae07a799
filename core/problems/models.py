"""Models trained on data as objectives: what all of them share (batches, dtypes, many weights at once, metrics)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.problems.batches import Batches
from core.problems.datasets import Dataset, load_dataset
from core.problems.differentiate import Differentiated, vector_hessian
from core.problems.objective import Objective, ProblemParameter, VariableSpec, checked_values
from core.problems.samples import Samples, prepare

Array = NDArray[Any]

BATCH_SIZE = ProblemParameter(
    "batch_size", "B", 32, 0, 512, "integer", minimum=0,
    tooltip="Rows a step sees; 0 means all of them",
)  # fmt: skip
L2 = ProblemParameter(
    "l2", "λ", 0.0, 1e-6, 1.0, "log", minimum=0.0,
    tooltip="Adds λ/2 times the squared weights (not the biases) to the loss",
)  # fmt: skip
DATA = ProblemParameter("data", "data", "breast_cancer", scale="choice", tooltip="Data set to train on")
REPLACEMENT = ProblemParameter(
    "replacement", "replacement", False, scale="switch", tooltip="Draw every batch anew instead of by epochs"
)
TEST_FRACTION = ProblemParameter(
    "test_fraction", "test", 0.2, 0.0, 0.5, minimum=0.0, maximum=1.0, open_maximum=True,
    tooltip="Part of the rows that is set aside for the test metrics",
)  # fmt: skip
STANDARDISE = ProblemParameter(
    "standardise", "standardise", True, scale="switch", tooltip="Give every feature mean 0 and deviation 1"
)
# values per block of points when many weights are evaluated at once: keeps the intermediate arrays in the cache
BLOCK_ELEMENTS = 1 << 17


class ModelObjective(Objective):
    """A model with a loss over the rows of a data set; subclasses say what it puts out and what that costs.

    ``parameters``/``values`` are the numbers that may become sliders; ``option_parameters``/``options`` are the
    settings that change the model's build (data, split, ...).
    """

    parameters = (BATCH_SIZE, L2)
    option_parameters: ClassVar[tuple[ProblemParameter, ...]] = (REPLACEMENT, TEST_FRACTION, STANDARDISE)
    default_data: ClassVar[str] = "breast_cancer"

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        settings = dict(given or {})
        self.data: str | Dataset = settings.pop("data", self.default_data)
        numeric = {parameter.key for parameter in self.parameters}
        option = {parameter.key for parameter in self.option_parameters}
        unknown = {key: value for key, value in settings.items() if key not in numeric | option}
        checked_values(self.name, (*self.parameters, *self.option_parameters, DATA), unknown)
        self.values = checked_values(
            self.name, self.parameters, {k: v for k, v in settings.items() if k in numeric}
        )
        chosen = checked_values(
            self.name, self.option_parameters, {k: v for k, v in settings.items() if k in option}
        )
        self.options = MappingProxyType({"data": self.data, **chosen})
        dataset = self.data if isinstance(self.data, Dataset) else load_dataset(self.data)
        self.samples = self.prepare_samples(dataset)
        self.batches = Batches(
            len(self.samples.train_y), int(self.values["batch_size"]), bool(chosen.get("replacement", False))
        )
        self.variables = self.build()
        self.component_names = self.name_components()
        self._converted: dict[tuple[str, Any], Array] = {}
        self._differentiated: Differentiated | None = None

    # what subclasses say ------------------------------------------------------------------------------------

    @abstractmethod
    def build(self) -> tuple[VariableSpec, ...]:
        """The variables for the samples at hand."""

    @abstractmethod
    def outputs(self, parameters: Sequence[Any], x: Any) -> Any:
        """What the model puts out for the rows ``x``; arrays or tensors."""

    @abstractmethod
    def batch_outputs(self, points: Sequence[Array], x: Array) -> Array:
        """``outputs`` for many weights at once: every variable has one leading axis, so has the result."""

    @abstractmethod
    def cost(self, outputs: Any, y: Any) -> Any:
        """Mean loss over the rows; any leading axes are kept."""

    def penalised(self) -> tuple[int, ...]:
        """Numbers of the variables that ``l2`` acts on: the matrices and coefficient vectors, not the biases."""
        return tuple(i for i, variable in enumerate(self.variables) if variable.role == "weight")

    def prepare_samples(self, dataset: Dataset) -> Samples:
        """Split and scaled rows for this model."""
        return prepare(dataset, float(self.options["test_fraction"]), bool(self.options["standardise"]))

    def name_components(self) -> tuple[str, ...]:
        """Axis labels, one a weight."""
        return tuple(name for variable in self.variables for name in element_names(variable))

    # the objective --------------------------------------------------------------------------------------------

    def with_values(self, **changes: Any) -> ModelObjective:
        return type(self)({**self.options, **self.values, **changes})

    def initial_weights(self, seed: int = 0) -> NDArray[np.float64]:
        """All zero; models that need to break symmetry override it."""
        return np.zeros(self.size, dtype=np.float64)

    def loss(self, *arguments: Any) -> Any:
        """Loss of ``(*variables, x, y)``; what is differentiated."""
        *parameters, x, y = arguments
        total = self.cost(self.outputs(parameters, x), y)
        l2 = self.values.get("l2", 0.0)
        if l2:
            for index in self.penalised():
                total = total + 0.5 * l2 * np.sum(parameters[index] ** 2)
        return total

    def value_and_gradient(
        self, weights: NDArray[Any], step: int = 0, seed: int = 0
    ) -> tuple[float, NDArray[Any]]:
        x, y = self.batch(step, seed, weights.dtype)
        return self._value_and_gradient(weights, x, y)

    def _value_and_gradient(self, weights: Array, x: Array, y: Array) -> tuple[float, Array]:
        if self._differentiated is None:
            self._differentiated = Differentiated(self.loss, len(self.variables))
        value, parts = self._differentiated(*self.split(weights).values(), x, y)
        gradient = np.empty(self.size, dtype=weights.dtype)
        begin = 0
        for variable, part in zip(self.variables, parts, strict=True):
            gradient[begin : begin + variable.size] = part.reshape(-1)
            begin += variable.size
        return value, gradient

    def value(self, points: ArrayLike, step: int | None = None, seed: int = 0) -> NDArray[Any]:
        array = self.check_points(points)
        flat = array.reshape(-1, self.size)
        if step is None:
            x, y = self.rows("train", array.dtype)
        else:
            x, y = self.batch(step, seed, array.dtype)
        result = np.empty(len(flat), dtype=array.dtype)
        block = max(1, BLOCK_ELEMENTS // max(1, len(x) * self.width()))
        with np.errstate(all="ignore"):
            for begin in range(0, len(flat), block):
                part = flat[begin : begin + block]
                result[begin : begin + len(part)] = self.batch_values(part, x, y)
        return result.reshape(array.shape[:-1])

    def batch_values(self, points: Array, x: Array, y: Array) -> Array:
        """Losses (count,) at ``points`` (count, size) on the rows ``x``, ``y``."""
        parts = list(self.split(points).values())
        total = self.cost(self.batch_outputs(parts, x), y)
        l2 = self.values.get("l2", 0.0)
        if l2:
            for index in self.penalised():
                total = total + 0.5 * l2 * np.sum(parts[index].reshape(len(points), -1) ** 2, axis=1)
        return np.asarray(total)

    def width(self) -> int:
        """Numbers a row needs on its way through the model, for the size of the blocks of ``value``."""
        return 4

    def gradient(self, points: ArrayLike) -> NDArray[Any]:
        array = self.check_points(points)
        x, y = self.rows("train", array.dtype)
        result = np.empty_like(array.reshape(-1, self.size))
        for index, point in enumerate(array.reshape(-1, self.size)):
            _, result[index] = self._value_and_gradient(point, x, y)
        return result.reshape(array.shape)

    def hessian(self, point: ArrayLike) -> NDArray[Any]:
        array = self.check_points(point)
        if array.ndim != 1:
            raise ValueError(f"{self.name}: one point of shape ({self.size},) at a time, not {array.shape}")
        x, y = self.rows("train", array.dtype)

        def at(weights: Any) -> Any:
            parts, begin = [], 0
            for variable in self.variables:
                parts.append(np.reshape(weights[begin : begin + variable.size], variable.shape))
                begin += variable.size
            return self.loss(*parts, x, y)

        return vector_hessian(at, array)

    # rows -----------------------------------------------------------------------------------------------------

    def rows(self, part: str, dtype: Any) -> tuple[Array, Array]:
        """All features and targets of 'train' or 'test' in ``dtype``."""
        return self._in_dtype(f"{part}_x", dtype), self._in_dtype(f"{part}_y", dtype)

    def batch(self, step: int, seed: int, dtype: Any) -> tuple[Array, Array]:
        """Features and targets of the batch that ``(seed, step)`` selects."""
        x, y = self.rows("train", dtype)
        rows = self.batches.rows(step, seed)
        return (x, y) if rows is None else (x[rows], y[rows])

    def _in_dtype(self, name: str, dtype: Any) -> Array:
        key = (name, np.dtype(dtype))
        if key not in self._converted:
            self._converted[key] = np.ascontiguousarray(getattr(self.samples, name), dtype=dtype)
        return self._converted[key]


def element_names(variable: VariableSpec) -> list[str]:
    """'b' for a scalar, 'w[3]' for a vector, 'W[0,2]' for a matrix."""
    if not variable.shape:
        return [variable.name]
    return [f"{variable.name}[{','.join(map(str, index))}]" for index in np.ndindex(*variable.shape)]
