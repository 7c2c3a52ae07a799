"""Data sets from NumPy files (.npz, .npy): sizes checked before anything is allocated, never unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from core.problems.dataset import Dataset
from core.problems.tables import TableError

FEATURE_KEYS = ("x", "features", "data", "x_train", "inputs")
TARGET_KEYS = ("y", "targets", "target", "labels", "label", "y_train")
MAX_BYTES = 2 << 30


def dataset_from_arrays(path: str | Path) -> Dataset:
    """The data set in a NumPy file.

    An .npz needs features (rows, columns) under x, features or data and targets (rows,) under y, targets or labels
    (in any case); optional are feature_names and classes, arrays of text. An .npy needs (rows, columns), the last
    column being the target. Integer targets of an .npz are classes. Raises TableError.
    """
    path = Path(path)
    name = path.name
    try:
        if path.suffix.lower() == ".npy":
            with path.open("rb") as file:
                array = _read(file, "the array", name, path.stat().st_size)
            return _from_one(array, name)
        with zipfile.ZipFile(path) as archive:
            arrays = {}
            for info in archive.infolist():
                key = info.filename.removesuffix(".npy")
                with archive.open(info) as member:
                    arrays[key] = _read(member, f"the array {key!r}", name, info.file_size)
    except FileNotFoundError:
        raise TableError(f"there is no such file in {path.parent}", name) from None
    except OSError as error:
        raise TableError(f"the file cannot be opened ({error.strerror or error})", name) from None
    except (zipfile.BadZipFile, EOFError):
        raise TableError("this is not an .npz file, or it is damaged; write it with numpy.savez", name) from None
    return _from_many(arrays, name)


def _read(file: IO[bytes], what: str, name: str, available: int) -> NDArray[Any]:
    try:
        version = npy.read_magic(file)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = header(file)
    except ValueError as error:
        raise TableError(f"{what} has no proper NumPy header ({error}); write it with numpy.save", name) from None
    if dtype.hasobject:
        raise TableError(
            f"{what} holds Python objects, which are never loaded; convert it with .astype(float) or .astype(str)",
            name,
        )
    if dtype.kind not in "fiubUS":
        raise TableError(f"{what} has the type {dtype}; numbers or text are needed", name)
    needed = int(np.prod([int(length) for length in shape], dtype=object)) * dtype.itemsize
    if needed > MAX_BYTES:
        raise TableError(f"{what} would need {needed / 2**30:.1f} GiB; at most {MAX_BYTES >> 30} are loaded", name)
    if needed > available:
        raise TableError(f"{what} promises {needed} bytes, but only {available} are there; the file is cut off", name)
    content = file.read(needed)
    if len(content) < needed:
        raise TableError(f"{what} is cut off after {len(content)} of {needed} bytes", name)
    array = np.frombuffer(content, dtype=dtype).reshape(shape[::-1] if fortran else shape)
    return array.T if fortran else array


def _from_one(array: NDArray[Any], name: str) -> Dataset:
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "fiub":
        raise TableError(
            f"the array has shape {array.shape} and type {array.dtype}; numbers of shape (rows, columns) are needed, "
            "the last column being the target",
            name,
        )
    numbers = _finite(array, "the array", name)
    names = tuple(f"x{index}" for index in range(array.shape[1] - 1))
    return Dataset(name, numbers[:, :-1].copy(), numbers[:, -1].copy(), names, "target")


def _from_many(arrays: dict[str, NDArray[Any]], name: str) -> Dataset:
    lower = {key.lower(): key for key in arrays}
    found = [next((lower[k] for k in keys if k in lower), None) for keys in (FEATURE_KEYS, TARGET_KEYS)]
    feature_key, target_key = found
    if feature_key is None or target_key is None:
        lacking = "features (x)" if feature_key is None else "targets (y)"
        raise TableError(
            f"there is no array of {lacking}; it holds {', '.join(sorted(arrays)) or 'nothing'}. "
            "Write it with numpy.savez(file, x=features, y=targets)",
            name,
        )
    x, y = arrays[feature_key], arrays[target_key]
    if x.dtype.kind not in "fiub":
        raise TableError(f"the array {feature_key!r} has the type {x.dtype}; numbers are needed", name)
    if x.ndim < 2 or y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] != 1) or len(x) != len(y):
        raise TableError(
            f"{feature_key!r} has shape {x.shape} and {target_key!r} {y.shape}; (rows, columns) and (rows,) are needed",
            name,
        )
    features = _finite(x.reshape(len(x), -1), f"the array {feature_key!r}", name)
    y = y.reshape(-1)
    labels: tuple[str, ...] = ()
    if y.dtype.kind in "US" or "classes" in lower:
        if y.dtype.kind in "US":
            values, positions = np.unique(y.astype(str), return_inverse=True)
            labels, targets = tuple(str(value) for value in values), positions.astype(np.float64)
        else:
            labels = tuple(str(value) for value in arrays[lower["classes"]].reshape(-1))
            targets = y.astype(np.float64)
            if targets.size and not (targets.min() >= 0 and targets.max() < len(labels)):
                raise TableError(f"{target_key!r} has class numbers outside 0 to {len(labels) - 1}", name)
    else:
        targets = _finite(y, f"the array {target_key!r}", name)
    given = arrays.get(lower.get("feature_names", ""))
    names = (
        tuple(str(value) for value in given.reshape(-1))
        if given is not None and given.size == features.shape[1]
        else tuple(f"x{index}" for index in range(features.shape[1]))
    )
    data = Dataset(name, features, targets, names, target_key, labels)
    return data.as_classes() if not labels and y.dtype.kind in "iub" and len(np.unique(y)) <= 20 else data


def _finite(array: NDArray[Any], what: str, name: str) -> NDArray[np.float64]:
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        place = np.argwhere(~np.isfinite(numbers))[0].tolist()
        raise TableError(f"{what} is not finite at index {place}; take such rows out or fill them", name)
    return numbers
