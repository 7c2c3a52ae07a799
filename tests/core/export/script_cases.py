"""Experiments for the scripts, each with the frameworks that can take its steps."""

from core.simulation import Experiment, ProblemSettings
from core.simulation.experiment import Event

_TORCH = "torch.optim"


def _made(problem, optimizer, start, events=(), **settings):
    return Experiment(
        problem=ProblemSettings(name=problem, values=settings), optimizer=optimizer, start=start, events=list(events)
    )


CASES = {
    "sgd": (_made("rosenbrock", f"{_TORCH}.SGD(params, lr=1e-3)", [-1.2, 1.0]), {"torch", "keras", "optax", "numpy"}),
    "nesterov_l2": (
        _made(
            "beale",
            f"{_TORCH}.SGD(params, lr=1e-3, momentum=0.9, nesterov=True, weight_decay=0.01)",
            [1.0, 1.0],
            [Event(40, "learning_rate", "learning_rate", 5e-4)],
        ),
        {"torch", "optax", "numpy"},
    ),
    "clipped_adam": (
        _made(
            "rosenbrock",
            "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)",
            [-1.2, 1.0],
            [Event(50, "clip_by_global_norm", "max_norm", 1.0)],
        ),
        {"torch", "numpy"},
    ),
    "adamw_step": (
        _made(
            "rastrigin",
            "opt = torch.optim.AdamW(params, lr=0.05, weight_decay=0.1)\n"
            "sched = torch.optim.lr_scheduler.StepLR(opt, step_size=30, gamma=0.5)",
            [0.7, -0.4],
        ),
        {"torch", "optax", "numpy"},
    ),
    "amsgrad": (_made("himmelblau", f"{_TORCH}.Adam(params, lr=0.05, amsgrad=True)", [0.0, 1.0]), {"torch", "numpy"}),
    "centred_rmsprop": (
        _made(
            "ackley",
            "torch.nn.utils.clip_grad_value_(params, 0.5)\n"
            "torch.optim.RMSprop(params, lr=0.01, momentum=0.5, centered=True)",
            [1.5, -1.2],
        ),
        {"torch", "optax", "numpy"},
    ),
    "adagrad_changed_problem": (
        _made("quadratic", f"{_TORCH}.Adagrad(params, lr=0.5)", [2.0, 1.0], [Event(30, "problem", "condition", 3.0)]),
        {"torch", "numpy"},
    ),
    "keras_adam": (
        _made("levy", "keras.optimizers.Adam(learning_rate=0.05, clipnorm=1.0)", [2.0, -1.5]),
        {"keras", "numpy"},
    ),
    "keras_decay": (
        _made(
            "booth",
            "keras.optimizers.SGD(learning_rate=keras.optimizers.schedules.ExponentialDecay(0.02, 10, 0.9), "
            "momentum=0.9, weight_decay=0.01)",
            [1.0, -2.0],
        ),
        {"keras", "numpy"},
    ),
    "optax_adamw_cosine": (
        _made("griewank", "optax.adamw(optax.cosine_decay_schedule(0.05, 100))", [3.0, -2.0]),
        {"torch", "optax", "numpy"},
    ),
    "optax_clipped_adam": (
        _made(
            "goldstein_price",
            "optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))",
            [0.5, -0.5],
            [Event(20, "learning_rate", "learning_rate", 3e-2)],
        ),
        {"optax", "numpy"},
    ),
    "noisy_cosine": (
        _made(
            "matyas",
            "opt = torch.optim.SGD(params, lr=0.1, momentum=0.5, dampening=0.2)\n"
            "sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=40)",
            [4.0, 3.0],
            noise=0.05,
        ),
        {"torch", "numpy"},
    ),
    "nadam": (_made("sphere", f"{_TORCH}.NAdam(params, lr=0.05)", [2.0, 1.0]), {"torch"}),
    "keras_rmsprop": (
        _made("sphere", "keras.optimizers.RMSprop(learning_rate=0.01)", [2.0, 1.0]),
        {"keras", "optax", "numpy"},
    ),
    "optax_lion": (_made("zakharov", "optax.lion(1e-2)", [1.0, -0.5]), {"keras", "optax"}),
}

REFUSED = (
    ("clipped_adam", "keras", "1e-6"),
    ("clipped_adam", "optax", r"norm \+ 1e-6"),
    ("amsgrad", "keras", "no optimizer that does exactly this"),
    ("amsgrad", "optax", "amsgrad"),
    ("nadam", "numpy", "not written out"),
    ("optax_lion", "numpy", "not written out"),
    ("optax_lion", "torch", "no optimizer that does exactly this"),
    ("nesterov_l2", "keras", "as long as the learning rate is constant"),
    ("keras_adam", "torch", "no optimizer that does exactly this"),
)
"""What a framework does otherwise (issue trackers and section 7 of tests/reference/README.md), and what is said."""
