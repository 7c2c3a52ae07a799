"""Settings that several models share, declared once; and the choice of data, which is a name or a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.problems.cells import DELIMITER_NAMES, DELIMITERS
from core.problems.dataset import Dataset
from core.problems.datasets import load_dataset
from core.problems.from_table import MISSING_RULES
from core.problems.objective import ProblemParameter, SettingError

BATCH_SIZE = ProblemParameter(
    "batch_size", "B", 32, 0, 512, "integer", minimum=0, tooltip="Rows a step sees; 0 means all of them"
)
L2 = ProblemParameter(
    "l2", "λ", 0.0, 1e-6, 1.0, "log", minimum=0.0,
    tooltip="Adds λ/2 times the squared weights (not the biases) to the loss",
)  # fmt: skip
REPLACEMENT = ProblemParameter(
    "replacement", "replacement", False, scale="switch", tooltip="Draw every batch anew instead of by epochs"
)
TEST_FRACTION = ProblemParameter(
    "test_fraction", "test", 0.2, 0.0, 0.5, minimum=0.0, maximum=1.0, open_maximum=True,
    tooltip="Part of the rows that is set aside for the test metrics",
)  # fmt: skip
SPLIT_SEED = ProblemParameter(
    "split_seed", "split", 0, 0, 100, "integer", minimum=0,
    tooltip="Which rows are set aside for the test: another number shuffles them otherwise",
)  # fmt: skip
STANDARDISE = ProblemParameter(
    "standardise", "standardise", True, scale="switch", tooltip="Give every feature mean 0 and deviation 1"
)
STANDARDISE_TARGET = ProblemParameter(
    "standardise_target", "standardise target", True, scale="switch",
    tooltip="Give a numeric target mean 0 and deviation 1; predictions are shown in its own unit all the same",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class DataChoice:
    """Which data: a name or path, or a Dataset already at hand; for files also target, features, missing rule and the
    ``delimiter`` ('': found out).
    """

    data: str | Dataset
    target: str | None = None
    features: tuple[str, ...] | None = None
    missing: str = "drop"
    delimiter: str = ""

    @classmethod
    def take(cls, settings: dict[str, Any], default: str) -> tuple[DataChoice, dict[str, Any]]:
        """The choice in ``settings``, and the settings without it; SettingError for a wrong type."""
        rest = dict(settings)
        data = rest.pop("data", None) or default
        if not isinstance(data, str | Dataset):
            raise SettingError(f"data must be the name of a data set or the path of a file, not {data!r}")
        target = rest.pop("target", None)
        if not isinstance(target, str | None):
            raise SettingError(f"target must be the name of a column, not {target!r}")
        features = rest.pop("features", None)
        if features is not None and (
            isinstance(features, str)
            or not isinstance(features, Sequence)
            or not all(isinstance(name, str) for name in features)
        ):
            raise SettingError(f"features must be a list of names of columns, not {features!r}")
        missing = rest.pop("missing", "drop")
        if missing not in MISSING_RULES:
            raise SettingError(f"missing must be one of {', '.join(MISSING_RULES)}, not {missing!r}")
        delimiter = rest.pop("delimiter", "")
        if delimiter and delimiter not in DELIMITERS:
            known = ", ".join(DELIMITER_NAMES.values())
            raise SettingError(f"delimiter must be one sign ({known}), or '' to find it out, not {delimiter!r}")
        return cls(data, target, tuple(features) if features is not None else None, missing, delimiter), rest

    def settings(self) -> dict[str, Any]:
        """As plain data; what is at its default is left out, except the data itself."""
        found: dict[str, Any] = {"data": self.data}
        if self.target is not None:
            found["target"] = self.target
        if self.features is not None:
            found["features"] = list(self.features)
        if self.missing != "drop":
            found["missing"] = self.missing
        if self.delimiter:
            found["delimiter"] = self.delimiter
        return found

    def load(self) -> Dataset:
        """Read or make the data; ProblemError says what is wrong."""
        if isinstance(self.data, Dataset):
            return self.data
        return load_dataset(self.data, self.target, self.features, self.missing, delimiter=self.delimiter)
