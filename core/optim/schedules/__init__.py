"""The table of learning-rate schedules."""

from core.optim.schedules.base import Schedule as Schedule

_ALL: tuple[type[Schedule], ...] = ()

SCHEDULES: dict[str, type[Schedule]] = {schedule.name: schedule for schedule in _ALL}
