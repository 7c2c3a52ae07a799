"""Building blocks of networks: activations, softmax, normalisation, dropout, losses; for tensors and plain arrays."""

from core.autodiff.nn.activations import elu as elu
from core.autodiff.nn.activations import erf as erf
from core.autodiff.nn.activations import gelu as gelu
from core.autodiff.nn.activations import leaky_relu as leaky_relu
from core.autodiff.nn.activations import relu as relu
from core.autodiff.nn.activations import sigmoid as sigmoid
from core.autodiff.nn.activations import silu as silu
from core.autodiff.nn.activations import softplus as softplus
from core.autodiff.nn.softmax import log_softmax as log_softmax
from core.autodiff.nn.softmax import logsumexp as logsumexp
from core.autodiff.nn.softmax import softmax as softmax
