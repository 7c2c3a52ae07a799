"""Finds a data set by what a user or an experiment file calls it: built in, made up, or a file."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from core.problems.array_files import dataset_from_arrays
from core.problems.dataset import Dataset
from core.problems.from_table import dataset_from_table
from core.problems.generated import generate, generated_names
from core.problems.objective import ProblemError
from core.problems.tables import Progress, Table, read_table

__all__ = ["Dataset", "dataset_names", "load_dataset", "table_at"]

TABLES_KEPT = 2
# a restart with another seed must not read 100 MB again; what a file held belongs to its date and size
_tables: dict[tuple[str, int, int, str], Table] = {}

# name -> (file, where it comes from); the last column of each is the target
_BUILT_IN: dict[str, tuple[str, str]] = {
    "breast_cancer": (
        "breast_cancer.csv",
        "Breast Cancer Wisconsin (Diagnostic), Wolberg, Street, Mangasarian 1995, UCI repository, CC BY 4.0",
    ),
    "iris": ("iris.csv", "R. A. Fisher 1936"),
    "diabetes": ("diabetes.csv", "Efron, Hastie, Johnstone, Tibshirani 2004, Least Angle Regression"),
    "digits": (
        "digits.csv.gz",
        "Optical Recognition of Handwritten Digits, Alpaydin, Kaynak 1998, UCI repository, CC BY 4.0",
    ),
}
_CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)


def dataset_names() -> list[str]:
    """Names that ``load_dataset`` knows: the built-in and the made-up ones."""
    return [*_BUILT_IN, *generated_names()]


def load_dataset(
    data: str | Path,
    target: str | None = None,
    features: Sequence[str] | None = None,
    missing: str = "drop",
    progress: Progress | None = None,
    delimiter: str = "",
) -> Dataset:
    """The data set called ``data``.

    A built-in name ('iris'), a made-up one with its settings ('moons', 'moons(rows=500, noise=0.2, seed=1)'), or the
    path of a CSV, TSV, npz or npy file. ``target``, ``features`` and ``missing`` choose columns of a text file, and
    ``delimiter`` says how its cells are separated ('': found out).
    Raises ProblemError (TableError for what is wrong inside a file).
    """
    name = str(data).strip()
    call = _CALL.fullmatch(name)
    if name in _BUILT_IN:
        return _built_in(name, target, tuple(features) if features is not None else None, missing)
    if name in generated_names():
        return generate(name)
    if call and call[1] in generated_names():
        return _made_up(call[1], call[2])
    path = Path(name)
    if not path.suffix and not path.exists():
        raise ProblemError(
            f"no data set {name!r}; there are: {', '.join(dataset_names())}, or give the path of a CSV or npz file"
        )
    if path.suffix.lower() in (".npz", ".npy"):
        return dataset_from_arrays(path)
    return dataset_from_table(table_at(path, progress, delimiter), target, features, missing)


def table_at(path: Path, progress: Progress | None = None, delimiter: str = "") -> Table:
    """The table in a text file; the last few read are kept as long as date and size of the file stay the same."""
    try:
        found = path.stat()
    except OSError:
        return read_table(path, delimiter=delimiter or None, progress=progress)  # which says what is wrong with it
    stamp = (str(path.resolve()), found.st_mtime_ns, found.st_size, delimiter)
    table = _tables.get(stamp)
    if table is None:
        table = read_table(path, delimiter=delimiter or None, progress=progress)
        _tables[stamp] = table
        while len(_tables) > TABLES_KEPT:
            _tables.pop(next(iter(_tables)), None)
    return table


@functools.lru_cache(maxsize=8)
def _built_in(name: str, target: str | None, features: tuple[str, ...] | None, missing: str) -> Dataset:
    file, source = _BUILT_IN[name]
    with resources.as_file(resources.files("resources") / "data" / file) as path:
        table = read_table(path)
    made = dataset_from_table(table, target, features, missing)
    if name == "digits" and target is None:
        made = made.as_classes()
    return Dataset(
        name, made.features, made.targets, made.feature_names, made.target_name, made.classes, source, made.notes
    )


def _made_up(name: str, text: str) -> Dataset:
    settings: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, _, value = (piece.strip() for piece in part.partition("="))
        if key not in ("rows", "noise", "seed"):
            raise ProblemError(f"{name} has the settings rows, noise and seed, not {key!r}")
        try:
            settings[key] = float(value) if key == "noise" else int(value)
        except ValueError:
            kind = "number" if key == "noise" else "whole number"
            raise ProblemError(f"{name}: {key} must be a {kind}, not {value!r}; for example {name}(rows=500)") from None
    return generate(name, int(settings.get("rows", 256)), settings.get("noise"), int(settings.get("seed", 0)))
