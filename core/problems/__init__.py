"""Problems to optimize: functions of a few numbers and models on data, with exact derivatives."""

from core.problems.catalogue import problem, problem_names
from core.problems.expression import expression, suggest_parameters
from core.problems.grammar import ExpressionError
from core.problems.objective import (
    Minimum,
    Objective,
    ProblemError,
    ProblemParameter,
    SettingError,
    VariableSpec,
)

__all__ = [
    "ExpressionError",
    "Minimum",
    "Objective",
    "ProblemError",
    "ProblemParameter",
    "SettingError",
    "VariableSpec",
    "expression",
    "problem",
    "problem_names",
    "suggest_parameters",
]
