"""Building blocks of networks: activations, softmax, normalisation, dropout, losses; for tensors and plain arrays."""

from core.autodiff.nn.activations import elu as elu
from core.autodiff.nn.activations import erf as erf
from core.autodiff.nn.activations import gelu as gelu
from core.autodiff.nn.activations import leaky_relu as leaky_relu
from core.autodiff.nn.activations import relu as relu
from core.autodiff.nn.activations import sigmoid as sigmoid
from core.autodiff.nn.activations import silu as silu
from core.autodiff.nn.activations import softplus as softplus
from core.autodiff.nn.dropout import dropout as dropout
from core.autodiff.nn.losses import huber as huber
from core.autodiff.nn.losses import mean_squared_error as mean_squared_error
from core.autodiff.nn.losses import sigmoid_cross_entropy as sigmoid_cross_entropy
from core.autodiff.nn.losses import softmax_cross_entropy as softmax_cross_entropy
from core.autodiff.nn.normalisation import SplitGradient as SplitGradient
from core.autodiff.nn.normalisation import batch_norm as batch_norm
from core.autodiff.nn.normalisation import hold_statistics as hold_statistics
from core.autodiff.nn.normalisation import layer_norm as layer_norm
from core.autodiff.nn.normalisation import moving_statistics as moving_statistics
from core.autodiff.nn.normalisation import split_gradient as split_gradient
from core.autodiff.nn.normalisation import statistics_held_constant as statistics_held_constant
from core.autodiff.nn.softmax import log_softmax as log_softmax
from core.autodiff.nn.softmax import logsumexp as logsumexp
from core.autodiff.nn.softmax import softmax as softmax
