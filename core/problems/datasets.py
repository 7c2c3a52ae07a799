"""Data sets: the ones that come with the program, each as features, targets and names."""

from __future__ import annotations

import csv
import functools
import gzip
import io
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from core.problems.objective import ProblemError


@dataclass(frozen=True, eq=False)
class Dataset:
    """``features`` (rows, columns) float64 and ``targets`` (rows,): numbers, or class indices into ``classes``.

    ``classes`` is empty when the target is a number.
    """

    name: str
    features: NDArray[np.float64]
    targets: NDArray[np.float64]
    feature_names: tuple[str, ...]
    target_name: str
    classes: tuple[str, ...] = ()
    source: str = ""

    def __len__(self) -> int:
        return len(self.targets)


# name -> (file, whether the target is a class, class names in the order of their indices, where it comes from)
_BUILT_IN: dict[str, tuple[str, tuple[str, ...] | None, str]] = {
    "breast_cancer": (
        "breast_cancer.csv",
        ("benign", "malignant"),
        "Breast Cancer Wisconsin (Diagnostic), Wolberg, Street, Mangasarian 1995, UCI repository, CC BY 4.0",
    ),
    "iris": ("iris.csv", ("setosa", "versicolor", "virginica"), "R. A. Fisher 1936"),
    "diabetes": ("diabetes.csv", None, "Efron, Hastie, Johnstone, Tibshirani 2004, Least Angle Regression"),
    "digits": (
        "digits.csv.gz",
        tuple("0123456789"),
        "Optical Recognition of Handwritten Digits, Alpaydin, Kaynak 1998, UCI repository, CC BY 4.0",
    ),
}


def dataset_names() -> list[str]:
    """Names of the data sets that ``load_dataset`` knows."""
    return list(_BUILT_IN)


@functools.lru_cache(maxsize=8)
def load_dataset(name: str) -> Dataset:
    """The data set of that name; ProblemError when there is none."""
    if name not in _BUILT_IN:
        raise ProblemError(f"no data set {name!r}; there are: {', '.join(dataset_names())}")
    file, classes, source = _BUILT_IN[name]
    content = (resources.files("resources") / "data" / file).read_bytes()
    if file.endswith(".gz"):
        content = gzip.decompress(content)
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8")))
    features = np.array([row[:-1] for row in rows], dtype=np.float64)
    if classes is None:
        targets = np.array([row[-1] for row in rows], dtype=np.float64)
    else:
        targets = np.array([classes.index(row[-1]) for row in rows], dtype=np.float64)
    features.setflags(write=False)
    targets.setflags(write=False)
    return Dataset(name, features, targets, tuple(header[:-1]), header[-1], classes or (), source)
