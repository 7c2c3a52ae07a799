"""Problems to optimize: functions of a few numbers and models on data, with exact derivatives."""

from core.problems.catalogue import problem, problem_names
from core.problems.objective import Minimum, Objective, ProblemError, ProblemParameter, VariableSpec

__all__ = [
    "Minimum",
    "Objective",
    "ProblemError",
    "ProblemParameter",
    "VariableSpec",
    "problem",
    "problem_names",
]
