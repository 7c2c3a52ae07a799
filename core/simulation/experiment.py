"""The experiment: everything a run is a function of, as plain frozen data that is saved and checked."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from core.simulation.migrations import VersionError, upgraded
from core.simulation.plain import read_spelled, spelled
from core.simulation.reading import DocumentError, document_of, readable

VERSION = 1
TEXTS = ("lines", "order")
"""Keys of live changes whose values are texts: 'inf' in them is no number."""
StorageType = Literal["float64", "float32", "float16", "bfloat16"]
MissingRule = Literal["drop", "mean", "refuse"]
Side = tuple[float, float]


class ExperimentError(ValueError):
    """An experiment that cannot be used: the message says what, where, and how to mend it."""


class ProblemSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which problem: ``name`` from ``problem_names()``, an own ``expression``, or a function in an own Python file.

    ``values`` are its numbers, those that can change while it runs; ``options`` those of its build (layers,
    activation, init, norm, test_fraction, standardise ...). ``data`` is what a model trains on: a built-in name, a
    made-up set ('moons(rows=500, noise=0.2, seed=1)') or the path of a csv, tsv, npz or npy file; for tables with the
    ``target`` column ('': the last), the ``features`` (none named: all others) and what happens to ``missing`` values.
    ``variables`` are the coordinates of an expression in their order (none: sorted), ``bounds`` the part of the plane
    it is shown on, ((low, high), (low, high)). ``python`` is a path; its code runs only when the user has allowed it.
    """

    name: str = "rosenbrock"
    values: dict[str, Any] = {}
    expression: str = ""
    data: str = ""
    target: str = ""
    features: list[str] = []
    missing: MissingRule = "drop"
    options: dict[str, Any] = {}
    variables: list[str] = []
    bounds: tuple[Side, Side] | None = None
    python: str = ""

    def replace(self, **changes: Any) -> ProblemSettings:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A live change that acts from ``step`` on.

    ``target`` is a ledger row's name ('clip_by_global_norm'), several that share a setting, separated by spaces
    ('first_moment bias_correction_1'), 'ROW.schedule', 'ROW.schedule.0' (a part of it), 'problem', 'optimizer' or
    'weights' (key 'value': all weights, flat, put there by hand before the step; the optimizer's state stays).
    ``key`` is a parameter's key, 'enabled' (a cause switched on or off), 'schedule' (another one for the learning
    rate: its settings, or None), or for 'optimizer' 'lines' (other code pasted) or 'order' (row names in their new
    order, separated by spaces).
    """

    step: int
    target: str
    key: str
    value: Any
    old: Any = None

    @property
    def acts(self) -> tuple[int, str, str, Any]:
        """All that decides what the change does (``old`` only tells)."""
        return self.step, self.target, self.key, self.value

    def replace(self, **changes: Any) -> Event:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def _read(self) -> Event:
        """The event of a file, with the numbers that JSON cannot hold."""
        if self.key in TEXTS:
            return self
        return self.replace(value=read_spelled(self.value), old=read_spelled(self.old))


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run had come to when it was saved: ``digest`` of its first ``steps`` steps, and with what it was made."""

    steps: int
    digest: str
    numpy: str
    machine: str


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Settings, seed and live changes: replaying one gives the same bits.

    ``optimizer`` is the code as pasted; ``start`` the starting weights (flat; None: the problem's own);
    ``storage`` and ``arithmetic`` the number types of weights and computation.
    ``recorded`` says how far a saved run had come and what its trajectory was (see Simulation.check_replay).
    """

    version: int = VERSION
    problem: ProblemSettings = ProblemSettings()
    optimizer: str = "torch.optim.Adam(params, lr=0.05)"
    start: list[float] | None = None
    seed: int = 0
    storage: StorageType = "float64"
    arithmetic: StorageType = "float64"
    events: list[Event] = []
    comment: str = ""
    recorded: Recorded | None = None

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Experiment:
        """Read an experiment file; ExperimentError names the field that is wrong and why."""
        file = Path(path)
        try:
            text = file.read_bytes()
        except FileNotFoundError:
            raise ExperimentError(f"{file}: there is no such file; check the name, or 'new -o {file.name}'") from None
        except OSError as error:
            raise ExperimentError(f"{file}: cannot be read: {error.strerror or error}") from None
        return Experiment.from_bytes(text, str(file))._with_files_beside(file.parent)

    @staticmethod
    def from_bytes(text: bytes, where: str = "experiment") -> Experiment:
        """Decode an experiment from JSON bytes; ``where`` names the source in messages."""
        try:
            raw = document_of(text)
        except DocumentError as error:
            raise ExperimentError(f"{where}: {error}") from None
        if not isinstance(raw, dict):
            raise ExperimentError(f"{where}: an experiment is a JSON object {{...}}, not {type(raw).__name__}")
        try:
            found = msgspec.convert(upgraded(raw, VERSION), Experiment)
        except VersionError as error:
            raise ExperimentError(f"{where}: {error}") from None
        except msgspec.ValidationError as error:
            raise ExperimentError(f"{where}: {readable(error, _FIELDS, _CHOICES)}") from None
        found = msgspec.structs.replace(found, events=[event._read() for event in found.events])
        values = read_spelled(found.problem.values)
        if values == found.problem.values:
            return found
        return msgspec.structs.replace(found, problem=found.problem.replace(values=values))

    def to_bytes(self) -> bytes:
        """The experiment as indented JSON; what JSON has no number for stands there as 'inf' or '-inf'."""
        document = spelled({"version": self.version, **msgspec.to_builtins(self)})
        return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file atomically: at any moment it is the old one or the new one."""
        write_atomically(Path(path), self.to_bytes())

    def _with_files_beside(self, folder: Path) -> Experiment:
        """Relative paths of data and Python files are looked for beside the experiment file first."""
        problem = self.problem
        for field in ("data", "python"):
            name = getattr(problem, field)
            if name and Path(name).suffix and not Path(name).is_absolute() and (folder / name).is_file():
                problem = problem.replace(**{field: str((folder / name).resolve())})
        return self if problem is self.problem else self.replace(problem=problem, recorded=self.recorded)

    def replace(self, **changes: Any) -> Experiment:
        """A copy with some fields changed. What was recorded of the run goes when its steps will be others."""
        if self.recorded is not None and "recorded" not in changes and self._steps_differ(changes, self.recorded):
            changes = {**changes, "recorded": None}
        return msgspec.structs.replace(self, **changes)

    def _steps_differ(self, changes: dict[str, Any], recorded: Recorded) -> bool:
        """Whether ``changes`` reach into the recorded steps."""
        events = changes.get("events", self.events)
        lists = [[event.acts for event in part if event.step < recorded.steps] for part in (events, self.events)]
        if lists[0] != lists[1]:
            return True
        others = (name for name in changes if name not in ("events", "comment", "version"))
        return any(changes[name] != getattr(self, name) for name in others)


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, flush to disk, rename: never a half-written file. OSError passes through to the caller.

    A link stays a link (the file it points to is written), and a file keeps who may read it.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(beside, target.stat().st_mode & 0o777)
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            # the name of the file asked for, not that of the one beside it
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise


_FIELDS = {
    "": Experiment.__struct_fields__,
    "problem": ProblemSettings.__struct_fields__,
    "events": Event.__struct_fields__,
    "recorded": Recorded.__struct_fields__,
}
_CHOICES = {
    "storage": get_args(StorageType),
    "arithmetic": get_args(StorageType),
    "problem.missing": get_args(MissingRule),
}
