"""From a table to a data set: choosing target and features, missing values, text as 0/1 columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.problems.dataset import Dataset
from core.problems.tables import Column, Table, TableError

MISSING_RULES = ("drop", "mean", "refuse")
MAX_CATEGORIES = 50


def dataset_from_table(
    table: Table, target: str | None = None, features: Sequence[str] | None = None, missing: str = "drop"
) -> Dataset:
    """Features and target out of a table; by default the last column is the target and all others are features.

    A text column becomes one 0/1 feature a category ('colour=red'), the target's categories become the classes.
    ``missing`` values: 'drop' leaves their rows out, 'mean' fills features with the column's mean (rows without a
    target are always left out), 'refuse' raises. Raises TableError with line and column.
    """
    if missing not in MISSING_RULES:
        raise TableError(f"missing must be one of {', '.join(MISSING_RULES)}, not {missing!r}", table.name)
    if len(table.columns) < 2 and features is None:
        raise TableError("one column is not enough: a target and at least one feature are needed", table.name)
    wanted = table.column(target) if target is not None else table.columns[-1]
    chosen = _features(table, wanted, features)
    notes = list(table.notes)
    keep = _rows_to_keep(table, wanted, chosen, missing, notes)
    arrays: list[NDArray[np.float64]] = []
    names: list[str] = []
    for column in chosen:
        made, labels = _encode(table, column, keep)
        arrays.extend(made)
        names.extend(labels)
    targets = wanted.values[keep].astype(np.float64)
    classes: tuple[str, ...] = ()
    if wanted.is_category:
        used, positions = np.unique(wanted.values[keep], return_inverse=True)
        classes = tuple(wanted.categories[index] for index in used)
        targets = positions.astype(np.float64)
        if len(classes) > max(2, len(targets) // 2):
            raise TableError(
                f"the target {wanted.name!r} is text with {len(classes)} different values in {len(targets)} rows; "
                "choose another column as the target",
                table.name, 0, table.names.index(wanted.name) + 1,
            )  # fmt: skip
    return Dataset(table.name, np.column_stack(arrays), targets, tuple(names), wanted.name, classes, notes=tuple(notes))


def _features(table: Table, target: Column, features: Sequence[str] | None) -> list[Column]:
    if features is not None:
        if not features:
            raise TableError("choose at least one feature", table.name)
        if target.name in features:
            raise TableError(f"{target.name!r} cannot be target and feature at once", table.name)
        return [table.column(name) for name in features]
    chosen = [column for column in table.columns if column.name != target.name and not column.missing.all()]
    if not chosen:
        raise TableError("no column has values besides the target", table.name)
    return chosen


def _rows_to_keep(
    table: Table, target: Column, features: Sequence[Column], missing: str, notes: list[str]
) -> NDArray[np.intp]:
    holes = [(column, column.missing) for column in (*features, target)]
    for column, where in holes:
        if missing == "refuse" and where.any():
            line = int(table.lines[int(where.argmax())])
            raise TableError(
                f"the value of {column.name!r} is missing ({int(where.sum())} of {len(table)} rows); fill it, "
                "leave such rows out, or let the mean stand for it",
                table.name, line, table.names.index(column.name) + 1,
            )  # fmt: skip
    gone = target.missing.copy()
    if missing == "drop":
        for _, where in holes:
            gone |= where
    keep = np.flatnonzero(~gone)
    if gone.any():
        notes.append(f"{int(gone.sum())} of {len(table)} rows with missing values were left out")
    if not len(keep):
        worst, where = max(holes, key=lambda item: int(item[1].sum()))
        raise TableError(
            f"every row misses some value ({worst.name!r} in {int(where.sum())} rows); leave that column out, or let "
            "the mean stand for missing values",
            table.name, int(table.lines[int(where.argmax())]), table.names.index(worst.name) + 1,
        )  # fmt: skip
    return keep


def _encode(table: Table, column: Column, keep: NDArray[np.intp]) -> tuple[list[NDArray[np.float64]], list[str]]:
    place = table.names.index(column.name) + 1
    if not column.is_category:
        values = column.values[keep].astype(np.float64)
        holes = np.isnan(values)
        if holes.any():
            if holes.all():
                raise TableError(f"the feature {column.name!r} has no value at all; leave it out", table.name, 0, place)
            values[holes] = values[~holes].mean()
        return [values], [column.name]
    if len(column.categories) > MAX_CATEGORIES:
        raise TableError(
            f"the text column {column.name!r} has {len(column.categories)} different values, more than "
            f"{MAX_CATEGORIES}; leave it out of the features",
            table.name, int(table.lines[0]), place,
        )  # fmt: skip
    codes = column.values[keep]
    arrays = [(codes == index).astype(np.float64) for index in range(len(column.categories))]
    return arrays, [f"{column.name}={category}" for category in column.categories]
