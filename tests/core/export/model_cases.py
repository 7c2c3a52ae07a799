"""Models on data for the scripts: every kind of model, head, activation, normalisation and way of making batches."""

from core.simulation import Experiment, ProblemSettings
from core.simulation.experiment import Event

ALL = {"torch", "keras", "optax", "numpy"}
_SGD = "torch.optim.SGD(params, lr=0.05, momentum=0.9)"
_ADAM = "torch.optim.Adam(params, lr=0.01)"
_KERAS = "keras.optimizers.Adam(learning_rate=0.01, clipnorm=0.2)"
_CLIPPED = "optax.chain(optax.clip_by_global_norm(0.3), optax.adam(0.01))"
# batch normalisation takes the gradient of the biases before it, and standardised columns that of a bias: what is left
# is rounding, which Adam would make steps of; so these have a method that does not divide
_CLIPPED_SGD = "optax.chain(optax.clip_by_global_norm(0.3), optax.sgd(0.05, momentum=0.9))"


def _model(name, optimizer, events=(), seed=0, **values):
    return Experiment(
        problem=ProblemSettings(name=name, values=values), optimizer=optimizer, events=list(events), seed=seed
    )


MODEL_CASES = {
    "linear": (_model("linear_regression", _SGD, batch_size=16), ALL),
    "ridge": (_model("ridge_regression", "torch.optim.SGD(params, lr=0.05)", seed=7), ALL),
    "polynomial": (_model("polynomial_regression", _CLIPPED_SGD, batch_size=0), {"keras", "optax", "numpy"}),
    "logistic": (_model("logistic_regression", _KERAS, l2=0.01), {"keras", "numpy"}),
    "softmax": (_model("softmax_regression", "torch.optim.AdamW(params, lr=0.05)", replacement=True), ALL - {"keras"}),
    "mlp": (
        _model("mlp", _ADAM, [Event(20, "problem", "batch_size", 50), Event(60, "problem", "l2", 0.01)], layers=[8, 6]),
        ALL - {"keras"},
    ),
    "mlp_clipped_by_variable": (_model("mlp", _KERAS, layers=[6], init="torch_default"), {"keras", "numpy"}),
    "mlp_dropout": (_model("mlp", _SGD, layers=[12, 8], dropout=0.3, activation="relu"), ALL),
    "mlp_batch_norm": (
        _model("mlp", "torch.optim.SGD(params, lr=0.05)", data="iris", layers=[10, 7], norm="batch", activation="relu"),
        ALL,
    ),
    "mlp_layer_norm": (
        _model("mlp", "torch.optim.SGD(params, lr=0.02)", data="diabetes", layers=[6], norm="layer", activation="silu"),
        ALL,
    ),
    "mlp_decay_of_some": (
        _model(
            "mlp",
            "optax.adamw(0.01, weight_decay=0.1, mask={'W1': True, 'b1': False, 'W2': True, 'b2': False})",
            layers=[4],
        ),
        {"optax"},
    ),
    "mlp_partitioned": (
        _model(
            "mlp",
            "optax.multi_transform({'a': optax.sgd(0.1), 'b': optax.adam(0.01)}, "
            "{'W1': 'a', 'b1': 'b', 'W2': 'a', 'b2': 'b'})",
            layers=[4],
        ),
        {"optax"},
    ),
    "digits": (_model("digits_mlp", _SGD, batch_size=64), ALL),
    "rnn_adding": (
        _model("rnn_adding", _CLIPPED, hidden=8, length=12, sequences=128),
        {"optax", "numpy"},
    ),
    "rnn_echo": (
        _model("rnn_echo", "torch.optim.SGD(params, lr=0.05)", hidden=6, length=8, delay=3, activation="leaky_relu"),
        ALL,
    ),
    "perceptron_without_hidden_layers": (_model("mlp", _SGD, layers=[], data="circles"), ALL),
    **{
        f"activation_{name}": (
            _model("mlp", "torch.optim.SGD(params, lr=0.1)", layers=[5, 4], activation=name, data="moons"),
            ALL,
        )
        for name in ("leaky_relu", "elu", "gelu", "sigmoid", "softplus", "sin", "identity")
    },
}
