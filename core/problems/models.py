"""Models trained on data as objectives: what all of them share (batches, dtypes, many weights at once, metrics)."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.autodiff import hvp
from core.problems.batches import Batches
from core.problems.datasets import Dataset
from core.problems.differentiate import Differentiated, as_array, vector_hessian
from core.problems.heads import Head, head_for
from core.problems.objective import Objective, ProblemParameter, VariableSpec, checked_values
from core.problems.options import BATCH_SIZE, L2, REPLACEMENT, SPLIT_SEED, STANDARDISE, TEST_FRACTION, DataChoice
from core.problems.samples import Samples, prepare

Array = NDArray[Any]

# size of the intermediate arrays of one block when many weights are evaluated at once: keeps them in the cache
BLOCK_BYTES = 1 << 20


class ModelObjective(Objective):
    """A model with a loss over the rows of a data set; subclasses say what it puts out and what that costs.

    ``parameters``/``values`` are the numbers that may become sliders; ``option_parameters``/``options`` are the
    settings of its build: data (and the choice of columns), split, layers, ... ``settings`` are all of them together.
    """

    parameters: tuple[ProblemParameter, ...] = (BATCH_SIZE, L2)
    option_parameters: ClassVar[tuple[ProblemParameter, ...]] = (REPLACEMENT, TEST_FRACTION, SPLIT_SEED, STANDARDISE)
    default_data: ClassVar[str] = "breast_cancer"
    target_kind: ClassVar[str] = "any"  # 'classes', 'number' or 'any'

    def __init__(self, given: Mapping[str, Any] | None = None, dataset: Dataset | None = None) -> None:
        settings = dict(given or {})
        self.choice, rest = DataChoice.take(settings, self.default_data)
        numeric = {parameter.key for parameter in self.parameters}
        self.values = checked_values(self.name, (*self.parameters, *self.option_parameters), rest)
        chosen = {key: value for key, value in self.values.items() if key not in numeric}
        self.values = MappingProxyType({key: self.values[key] for key in self.values if key in numeric})
        self.options = MappingProxyType({**self.choice.settings(), **chosen})
        # kept for with_values: the file is not read again when a slider moves
        self.dataset = dataset if dataset is not None else self.load()
        self.samples = self.prepare_samples(self.dataset)
        self.head: Head = self.make_head()
        self.batches = Batches(
            len(self.samples.train_y), int(self.values["batch_size"]), bool(self.options.get("replacement", False))
        )
        self.variables = self.build()
        self.component_names = self.name_components()
        # (begin, end, shape) of every variable in the flat weights
        ends = np.cumsum([variable.size for variable in self.variables]).tolist()
        self._places = [(end - spec.size, end, spec.shape) for end, spec in zip(ends, self.variables, strict=True)]
        self._converted: dict[tuple[str, Any], Array] = {}
        self._differentiated: Differentiated | None = None
        self._whole: Differentiated | None = None

    # what subclasses say ------------------------------------------------------------------------------------

    @abstractmethod
    def build(self) -> tuple[VariableSpec, ...]:
        """The variables for the samples at hand."""

    @abstractmethod
    def outputs(self, parameters: Sequence[Any], x: Any, extras: Sequence[Any] = ()) -> Any:
        """What the model puts out for the rows ``x``, as in training; arrays or tensors."""

    @abstractmethod
    def batch_outputs(self, points: Sequence[Array], x: Array, extras: Sequence[Array] = ()) -> Array:
        """``outputs`` for many weights at once: every variable has one leading axis, so has the result."""

    def load(self) -> Dataset:
        """The data set the settings name."""
        return self.choice.load()

    def prepare_samples(self, dataset: Dataset) -> Samples:
        """Split and scaled rows for this model."""
        if self.target_kind == "classes":
            dataset = dataset.as_classes()
        elif self.target_kind == "number":
            dataset = dataset.as_numbers()
        return prepare(
            dataset,
            float(self.options["test_fraction"]),
            bool(self.options.get("standardise", False)),
            bool(self.options.get("standardise_target", False)),
            int(self.options["split_seed"]),
        )

    def make_head(self) -> Head:
        """How outputs are scored."""
        return head_for(self.samples)

    def extras(self, step: int, seed: int, rows: int, dtype: Any) -> tuple[Array, ...]:
        """Arrays that this step draws besides its batch, such as dropout masks; none by default."""
        return ()

    def evaluation_outputs(self, parameters: Sequence[Array], x: Array) -> Array:
        """Outputs for prediction: as in training, without what is random or depends on the batch."""
        return np.asarray(self.outputs(parameters, x))

    def transform(self, features: Array) -> Array:
        """Raw features (rows, columns of the data set) as the model takes them."""
        return (features - self.samples.mean) / self.samples.scale

    def width(self) -> int:
        """Numbers a row needs on its way through the model, for the size of the blocks of ``value``."""
        return 4 + max(1, self.head.width)

    def name_components(self) -> tuple[str, ...]:
        """Axis labels, one a weight."""
        return tuple(name for variable in self.variables for name in element_names(variable))

    # the objective --------------------------------------------------------------------------------------------

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, as ``problem(name, **settings)`` takes them."""
        return {**self.options, **self.values}

    @property
    def identity(self) -> tuple[Any, ...]:
        content = hashlib.blake2b(digest_size=16)
        for array in (self.samples.train_x, self.samples.train_y):
            content.update(array.tobytes())
        options = tuple((key, str(value)) for key, value in self.options.items() if key != "data")
        return (type(self).__name__, content.digest(), options, tuple(self.values.items()))

    def with_values(self, **changes: Any) -> ModelObjective:
        keep = not set(changes) & set(self.choice.settings())
        return type(self)({**self.settings, **changes}, self.dataset if keep else None)

    def initial_weights(self, seed: int = 0) -> NDArray[np.float64]:
        """All zero; models that need to break symmetry override it."""
        return np.zeros(self.size, dtype=np.float64)

    def loss(self, *arguments: Any) -> Any:
        """Loss of ``(*variables, x, y, *extras)``; what is differentiated."""
        count = len(self.variables)
        parameters, (x, y), extras = arguments[:count], arguments[count : count + 2], arguments[count + 2 :]
        return self.penalise(self.head.cost(self.outputs(parameters, x, extras), y), parameters)

    def penalise(self, total: Any, parameters: Sequence[Any]) -> Any:
        """``total`` plus the penalty on the weights."""
        l2 = self.values["l2"]
        if l2:
            for variable, parameter in zip(self.variables, parameters, strict=True):
                if variable.role == "weight":
                    total = total + 0.5 * l2 * np.sum(np.square(parameter))
        return total

    def value_and_gradient(self, weights: NDArray[Any], step: int = 0, seed: int = 0) -> tuple[float, NDArray[Any]]:
        if self._differentiated is None:
            self._differentiated = Differentiated(self.loss, len(self.variables))
        return self._flat(self._differentiated, weights, *self.batch(step, seed, weights.dtype))

    def _flat(self, differentiated: Differentiated, weights: Array, *constants: Array) -> tuple[float, Array]:
        pieces = [weights[begin:end].reshape(shape) if shape else weights[begin] for begin, end, shape in self._places]
        value, parts = differentiated(*pieces, *constants)
        gradient = np.empty(len(weights), dtype=weights.dtype)
        for (begin, end, shape), part in zip(self._places, parts, strict=True):
            gradient[begin:end] = part.reshape(-1) if len(shape) > 1 else part
        return value, gradient

    def value(self, points: ArrayLike, step: int | None = None, seed: int = 0) -> NDArray[Any]:
        array = self.check_points(points)
        flat = array.reshape(-1, self.size)
        constants = self._constants(step, seed, array.dtype)
        result = np.empty(len(flat), dtype=array.dtype)
        block = self.block_size(len(constants[0]), array.dtype)
        with np.errstate(all="ignore"):
            for begin in range(0, len(flat), block):
                part = flat[begin : begin + block]
                result[begin : begin + len(part)] = self.batch_values(part, *constants)
        return result.reshape(array.shape[:-1])

    def block_size(self, rows: int, dtype: Any) -> int:
        """How many points ``value`` works on at once."""
        return max(1, BLOCK_BYTES // max(1, rows * self.width() * np.dtype(dtype).itemsize))

    def batch_values(self, points: Array, x: Array, y: Array, *extras: Array) -> Array:
        """Losses (count,) at ``points`` (count, size) on the rows ``x``, ``y``."""
        parts = list(self.split(points).values())
        return self.add_penalty(np.asarray(self.head.cost(self.batch_outputs(parts, x, extras), y)), parts)

    def add_penalty(self, losses: Array, parts: Sequence[Array]) -> Array:
        """``losses`` (count,) plus the penalty of many weights at once."""
        l2 = self.values["l2"]
        if l2:
            for variable, part in zip(self.variables, parts, strict=True):
                if variable.role == "weight":
                    losses = losses + 0.5 * l2 * np.sum(np.square(part.reshape(len(losses), -1)), axis=1)
        return losses

    def gradient(self, points: ArrayLike) -> NDArray[Any]:
        array = self.check_points(points)
        constants = self.rows("train", array.dtype)
        if self._whole is None:
            self._whole = Differentiated(self.loss, len(self.variables))
        result = np.empty_like(array.reshape(-1, self.size))
        for index, point in enumerate(array.reshape(-1, self.size)):
            _, result[index] = self._flat(self._whole, point, *constants)
        return result.reshape(array.shape)

    def hessian(self, point: ArrayLike) -> NDArray[Any]:
        array = self.check_points(point)
        if array.ndim != 1:
            raise ValueError(f"{self.name}: one point of shape ({self.size},) at a time, not {array.shape}")
        return vector_hessian(self._whole_loss(array.dtype), array)

    def hessian_vector(self, point: ArrayLike, vector: ArrayLike) -> NDArray[Any]:
        array = self.check_points(point)
        return as_array(hvp(self._whole_loss(array.dtype), array, np.asarray(vector, dtype=array.dtype)))

    def _whole_loss(self, dtype: Any) -> Callable[[Any], Any]:
        """Loss on all training rows as a function of the flat weights."""
        constants = self.rows("train", dtype)

        def at(weights: Any) -> Any:
            parts, begin = [], 0
            for variable in self.variables:
                parts.append(np.reshape(weights[begin : begin + variable.size], variable.shape))
                begin += variable.size
            return self.loss(*parts, *constants)

        return at

    def metrics(self, weights: NDArray[Any]) -> dict[str, float]:
        """Loss (with the penalty) on the training rows and figures of merit on training and test rows."""
        weights = np.asarray(weights)
        parts = list(self.split(weights).values())
        found: dict[str, float] = {"train loss": float(self.value(weights))}
        with np.errstate(all="ignore"):
            for part in ("train", "test"):
                targets = getattr(self.samples, f"{part}_y")
                if len(targets):
                    x, y = self.rows(part, weights.dtype)
                    outputs = self.evaluation_outputs(parts, x)
                    if part == "test":
                        found["test loss"] = float(self.head.cost(outputs, y))
                    found |= {f"{part} {key}": value for key, value in self.head.metrics(outputs, targets).items()}
        return found

    def predict(self, weights: NDArray[Any], features: ArrayLike) -> NDArray[np.float64]:
        """For raw ``features`` (rows, columns): the number (rows,), or the probability of every class."""
        x = self.transform(np.asarray(features, dtype=np.float64)).astype(weights.dtype)
        with np.errstate(all="ignore"):
            return self.head.predict(self.evaluation_outputs(list(self.split(weights).values()), x))

    # rows -----------------------------------------------------------------------------------------------------

    def rows(self, part: str, dtype: Any) -> tuple[Array, Array]:
        """All features and (encoded) targets of 'train' or 'test' in ``dtype``."""
        return self._in_dtype(f"{part}_x", dtype), self._in_dtype(f"{part}_y", dtype)

    def batch(self, step: int, seed: int, dtype: Any) -> tuple[Array, ...]:
        """Features, targets and extras of the batch that ``(seed, step)`` selects."""
        x, y = self.rows("train", dtype)
        rows = self.batches.rows(step, seed)
        if rows is not None:
            x, y = x[rows], y[rows]
        return (x, y, *self.extras(step, seed, len(x), dtype))

    def _constants(self, step: int | None, seed: int, dtype: Any) -> tuple[Array, ...]:
        return self.rows("train", dtype) if step is None else self.batch(step, seed, dtype)

    def _in_dtype(self, name: str, dtype: Any) -> Array:
        key = (name, np.dtype(dtype))
        if key not in self._converted:
            array = getattr(self.samples, name)
            if name.endswith("_y"):
                array = self.head.encode(array)
            self._converted[key] = np.ascontiguousarray(array, dtype=dtype)
        return self._converted[key]


def element_names(variable: VariableSpec) -> list[str]:
    """'b' for a scalar, 'w[3]' for a vector, 'W[0,2]' for a matrix."""
    if not variable.shape:
        return [variable.name]
    return [f"{variable.name}[{','.join(map(str, index))}]" for index in np.ndindex(*variable.shape)]
