"""What the pipeline shows of an optimizer: cards of causes, their settings and which rows a setting reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.declare import Declared, Parameter
from core.optim.optimizer import Optimizer
from core.optim.schedules import Schedule
from core.optim.transform import Transform
from core.optim.transforms.rate import LearningRate
from core.optim.transforms.store import Store
from gui.widgets.readable import with_hats

FOLLOWERS = ("bias correction",)
"""Transforms of these causes repeat the settings of the average they belong to, whether grouped with it or not."""
NEVER_SHARED = ("weight_decay",)


@dataclass(frozen=True, slots=True)
class Setting:
    """One control: the declared parameter, the target of its changes (see core.simulation.Event), its value now.

    ``minor`` settings (conventions, switches, numbers that are off) are shown on demand.
    """

    parameter: Parameter
    target: str
    value: Any
    minor: bool = False

    @property
    def place(self) -> tuple[str, str]:
        """Target and key: what tells settings apart."""
        return self.target, self.parameter.key


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """The schedule of a learning rate: its name ('' for none), its label, settings of itself and of its parts."""

    target: str
    name: str
    label: str
    about: str
    settings: tuple[Setting, ...] = ()
    parts: tuple[SchedulePlan, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """One transform of the chain."""

    row: str
    label: str
    cause: str
    enabled: bool
    switchable: bool
    about: str
    settings: tuple[Setting, ...]
    schedule: SchedulePlan | None = None


@dataclass(frozen=True, slots=True)
class CardPlan:
    """One card: consecutive transforms of one group; the learning rate always has a card of its own."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """The ledger rows in it."""
        return tuple(block.row for block in self.blocks)


def cards_of(optimizer: Optimizer) -> list[CardPlan]:
    """The cards of an optimizer's chain, in order."""
    chain = optimizer.chain
    blocks: list[Block] = []
    groups: list[str] = []
    shown: list[tuple[str, int, Setting]] = []
    for row, transform in zip(chain.row_names, chain.transforms, strict=True):
        own: list[Setting] = []
        for setting in _settings(transform, row):
            found = _shared_with(setting, transform, shown)
            if found is None:
                shown.append((transform.group, len(blocks), setting))
                own.append(setting)
            else:
                _extend(blocks, shown, found, row)
        groups.append(transform.group if not isinstance(transform, LearningRate | Store) else "")
        blocks.append(
            Block(
                row,
                _label(transform),
                transform.cause,
                transform.enabled,
                not isinstance(transform, LearningRate | Store),
                about_of(transform),
                tuple(own),
                schedule_plan(transform, row) if isinstance(transform, LearningRate) else None,
            )
        )
    return _grouped(blocks, groups)


def _label(transform: Transform) -> str:
    if isinstance(transform, Store) and transform.storage != "variable":
        return f"{transform.label} to {transform.storage}"
    return transform.label


def _grouped(blocks: Sequence[Block], groups: Sequence[str]) -> list[CardPlan]:
    cards: list[CardPlan] = []
    previous = ""
    for block, group in zip(blocks, groups, strict=True):
        if group and group == previous:
            cards[-1] = CardPlan(group, (*cards[-1].blocks, block))
        else:
            cards.append(CardPlan(block.label, (block,)))
        previous = group
    return cards


def _settings(transform: Transform, row: str) -> list[Setting]:
    if isinstance(transform, Store):
        # the storage type belongs to the experiment: it is chosen beside the problem
        return []
    return settings_of(transform, row)


def settings_of(owner: Declared, target: str) -> list[Setting]:
    """The settings of anything declared."""
    return [
        Setting(parameter, target, getattr(owner, parameter.key), is_minor(parameter, getattr(owner, parameter.key)))
        for parameter in owner.parameters
    ]


def is_minor(parameter: Parameter, value: Any) -> bool:
    """True for conventions and switches, and for numbers and lists that are off unless somebody wants them."""
    if parameter.rare or parameter.scale in ("choice", "switch"):
        return True
    if isinstance(value, list):
        return not value and not parameter.default
    return parameter.default in (0, None) and value in (0, None)


def _shared_with(
    setting: Setting, transform: Transform, shown: Sequence[tuple[str, int, Setting]]
) -> tuple[int, Setting] | None:
    """The setting shown already that this one repeats: same key, symbol, kind and value, in the same group."""
    parameter = setting.parameter
    if parameter.key in NEVER_SHARED:
        return None
    for group, place, other in reversed(shown):
        related = (group and group == transform.group) or (not transform.group and transform.cause in FOLLOWERS)
        same = (
            other.parameter.key == parameter.key
            and other.parameter.symbol == parameter.symbol
            and other.parameter.scale == parameter.scale
            and other.parameter.choices == parameter.choices
        )
        if related and same and other.value == setting.value:
            return place, other
    return None


def _extend(blocks: list[Block], shown: list[tuple[str, int, Setting]], found: tuple[int, Setting], row: str) -> None:
    """Let a setting that is shown already reach one more row."""
    place, old = found
    new = replace(old, target=f"{old.target} {row}")
    for k, (group, index, setting) in enumerate(shown):
        if setting is old:
            shown[k] = (group, index, new)
    if place < len(blocks):
        block = blocks[place]
        blocks[place] = replace(block, settings=tuple(new if s is old else s for s in block.settings))


def schedule_plan(rate: LearningRate, row: str) -> SchedulePlan:
    """The schedule of a learning rate, its parts below it."""
    if rate.schedule is None:
        return SchedulePlan(row, "", "", "")
    return _schedule(rate.schedule, f"{row}.schedule")


def _schedule(schedule: Schedule, target: str) -> SchedulePlan:
    parts = tuple(_schedule(part, f"{target}.{k}") for k, part in enumerate(schedule.parts))
    return SchedulePlan(
        target,
        schedule.name,
        schedule.label or schedule.name,
        about_of(schedule),
        tuple(settings_of(schedule, target)),
        parts,
    )


def about_of(owner: Declared) -> str:
    """Formula and source, for tool tips."""
    return with_hats("\n".join(text for text in (owner.formula, owner.source) if text))


def structure(cards: Sequence[CardPlan]) -> tuple[Any, ...]:
    """All but the values: as long as it is equal, the widgets stay and only take over values."""
    return tuple(
        (
            card.title,
            tuple(
                (block.row, block.label, block.cause, _places(block.settings), _schedule_structure(block.schedule))
                for block in card.blocks
            ),
        )
        for card in cards
    )


def _places(settings: Sequence[Setting]) -> tuple[tuple[str, str, bool], ...]:
    return tuple((setting.target, setting.parameter.key, setting.minor) for setting in settings)


def _schedule_structure(plan: SchedulePlan | None) -> tuple[Any, ...]:
    if plan is None:
        return ()
    return (plan.name, _places(plan.settings), tuple(_schedule_structure(part) for part in plan.parts))


def values_of(cards: Sequence[CardPlan]) -> dict[tuple[str, str], Any]:
    """Every value by target and key."""
    found: dict[tuple[str, str], Any] = {}
    for card in cards:
        for block in card.blocks:
            found.update({setting.place: setting.value for setting in block.settings})
            if block.schedule is not None:
                _collect(block.schedule, found)
    return found


def _collect(plan: SchedulePlan, found: dict[tuple[str, str], Any]) -> None:
    found.update({setting.place: setting.value for setting in plan.settings})
    for part in plan.parts:
        _collect(part, found)


def moved(order: Sequence[str], rows: Sequence[str], place: int) -> list[str]:
    """``order`` with ``rows`` taken out and put back so that they begin at index ``place`` of the rest."""
    rest = [name for name in order if name not in rows]
    place = min(max(place, 0), len(rest))
    return [*rest[:place], *rows, *rest[place:]]


def stepped(cards: Sequence[CardPlan], index: int, direction: int) -> list[str] | None:
    """The order with card ``index`` one place further up (-1) or down (1); None when there is no such place."""
    other = index + direction
    last = len(cards) - 1
    # the store is last for good
    if not 0 <= index < last or not 0 <= other < last:
        return None
    order = [row for card in cards for row in card.rows]
    rows = cards[index].rows
    before = [card for k, card in enumerate(cards) if k != index][:other]
    return moved(order, rows, sum(len(card.rows) for card in before))


def row_stepped(order: Sequence[str], row: str, direction: int) -> list[str] | None:
    """The order with one row a place further up (-1) or down (1); None when there is no such place."""
    index = order.index(row)
    other = index + direction
    # the store is last for good
    if index == len(order) - 1 or not 0 <= other < len(order) - 1:
        return None
    return moved(order, [row], other)


def figure_of(block: Block, figures: Mapping[str, float], share: float, rate: float, clips: int) -> tuple[str, bool]:
    """The number that matters at the right of a title, and whether the cause did anything in the step shown.

    ``clips`` counts the clipping rows (with several of them the one clip factor noted cannot be told apart).
    """
    active = share >= 0.005
    if block.cause == "clipping" and clips == 1 and "clip_factor" in figures:
        return f"×{figures['clip_factor']:.3g}", active
    if block.schedule is not None and block.schedule.name and rate == rate:
        return f"lr {rate:.3g}", active
    return (f"{100.0 * share:.0f} %" if active else ""), active
