"""Reverse-mode differentiation of plain numpy code: tensors, tapes, rules, compiled programs (imports only numpy)."""

from core.autodiff import nn as nn
from core.autodiff.custom import custom_gradient as custom_gradient
from core.autodiff.custom import stop_gradient as stop_gradient
from core.autodiff.derivatives import hessian as hessian
from core.autodiff.derivatives import hvp as hvp
from core.autodiff.derivatives import jacobian as jacobian
from core.autodiff.dispatch import install as _install
from core.autodiff.explain import why_none as why_none
from core.autodiff.functions import gradients_function as gradients_function
from core.autodiff.functions import implicit_gradients as implicit_gradients
from core.autodiff.functions import implicit_value_and_gradients as implicit_value_and_gradients
from core.autodiff.functions import value_and_gradients_function as value_and_gradients_function
from core.autodiff.nonfinite import NonFinite as NonFinite
from core.autodiff.nonfinite import trace_nonfinite as trace_nonfinite
from core.autodiff.points import at_points as at_points
from core.autodiff.program.compiled import compile_gradient as compile_gradient
from core.autodiff.program.compiled import program_source as program_source
from core.autodiff.program.trace import TraceError as TraceError
from core.autodiff.tape import GradientTape as GradientTape
from core.autodiff.tensor import Tensor as Tensor
from core.autodiff.variable import Variable as Variable

_install()
