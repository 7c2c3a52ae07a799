"""The same lines run by optax itself (extra 'bench'): 100 steps agree, from the line and from its emitted form."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from core.optim import Optimizer, emit_optimizer, parse_optimizer
from core.optim.layout import Array, Layout

jax = pytest.importorskip("jax", reason="needs the extra 'bench': jax and optax are not installed")
optax = pytest.importorskip("optax", reason="needs the extra 'bench': optax is not installed")

SHAPES: dict[str, tuple[int, ...]] = {"b": (2,), "k": (2, 3, 2), "s": (), "w": (3, 2)}
LAYOUT = Layout(list(SHAPES), list(SHAPES.values()))
STEPS = 100
LINES = [
    "optax.sgd(0.05, momentum=0.9, nesterov=True)",
    "optax.adam(0.01, eps_root=1e-8, nesterov=True)",
    "optax.nadamw(optax.warmup_constant_schedule(0.0, 0.01, 10), weight_decay=0.01)",
    "optax.adabelief(0.01, nesterov=True)",
    "optax.adadelta(0.5, weight_decay=0.01)",
    "optax.adafactor(0.01, min_dim_size_to_factor=2)",
    "optax.adafactor(0.01, min_dim_size_to_factor=2, momentum=0.9, weight_decay_rate=1e-3, clipping_threshold=None)",
    "optax.adafactor(min_dim_size_to_factor=2, multiply_by_parameter_scale=False, decay_offset=-3)",
    "optax.adagrad(0.1, initial_accumulator_value=0.0)",
    "optax.adamax(0.01)",
    "optax.adamaxw(0.01, weight_decay=0.01, mask={'b': False, 'k': True, 's': False, 'w': True})",
    "optax.adan(0.01, weight_decay=0.01)",
    "optax.amsgrad(0.01, b2=0.9, bias_correction_mu=False)",
    "optax.fromage(0.01)",
    "optax.fromage(optax.exponential_decay(0.01, 10, 0.9))",
    "optax.lamb(0.01, weight_decay=0.01)",
    "optax.lars(0.1, weight_decay=0.01, trust_coefficient=0.01, nesterov=True)",
    "optax.lion(0.01, weight_decay=0.1, mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p))",
    "optax.novograd(0.01, weight_decay=0.01)",
    "optax.optimistic_gradient_descent(0.01, alpha=0.8, beta=0.5)",
    "optax.optimistic_adam_v2(0.01, beta=0.5)",
    "optax.radam(0.01, b2=0.9, threshold=4.5, nesterov=True)",
    "optax.rmsprop(0.01, centered=True, eps_in_sqrt=False, momentum=0.5, nesterov=True)",
    "optax.rmsprop(0.01, bias_correction=True, eps_in_sqrt=False)",
    "optax.rmsprop(0.01, initial_scale=1.0)",
    "optax.rprop(0.01)",
    "optax.sign_sgd(0.01)",
    "optax.signum(0.01, beta=0.8)",
    "optax.chain(optax.masked(optax.scale_by_sm3(b2=0.99), {'b': True, 'k': True, 's': False, 'w': True}), "
    "optax.scale(-0.05))",
    "optax.yogi(0.01)",
    "optax.polyak_sgd(0.5, f_min=0.1, variant='sps+')",
    "optax.noisy_sgd(0.01, eta=0.1, key=42)",
    "optax.contrib.sophia(0.01, update_interval=3, hessian_diagonal_fn="
    "optax.contrib.hutchinson_estimator_diag_hessian())",
    "optax.contrib.muon(0.01, weight_decay=0.01)",
    "optax.contrib.muon(0.01, adam_learning_rate=0.003, consistent_rms=0.2, ns_coeffs='dion')",
    "optax.contrib.schedule_free_sgd(0.05, weight_decay=0.01)",
    "optax.contrib.schedule_free_adamw(0.01, weight_decay=0.01, weight_lr_power=1.5)",
    "optax.contrib.schedule_free(optax.adam(0.01, b1=0.0), learning_rate=0.02, b1=0.8)",
    "optax.contrib.sam(optax.adam(0.01), optax.chain(optax.contrib.normalize(), optax.sgd(0.05)))",
    "optax.contrib.sam(optax.rmsprop(0.01, momentum=0.5), optax.adam(0.02), sync_period=3, reset_state=False)",
    "optax.contrib.sam(optax.sgd(0.05), optax.sgd(0.02, momentum=0.5), sync_period=3, opaque_mode=True)",
    "optax.MultiSteps(optax.adamw(optax.exponential_decay(0.05, 5, 0.9)), every_k_schedule=3, "
    "accumulator_dtype=jnp.float64)",
    "optax.MultiSteps(optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.05, momentum=0.9)), 4, "
    "use_grad_mean=False)",
    "optax.MultiSteps(optax.adam(0.01), 2, should_skip_update_fn=functools.partial("
    "optax.skip_large_updates, max_squared_norm=9.0), accumulator_dtype=jnp.float64)",
    "optax.apply_if_finite(optax.adam(0.01), max_consecutive_errors=3)",
    "optax.chain(optax.clip(0.5), optax.apply_if_finite(optax.sgd(0.05), 2))",
    "optax.chain(optax.zero_nans(), optax.clip_by_block_rms(0.5), optax.scale_by_adam(), optax.scale(-0.01))",
    "optax.chain(optax.adaptive_grad_clip(0.1), optax.centralize(), optax.trace(0.9), optax.scale(-0.01))",
    "optax.chain(optax.scale_by_adam(), optax.scale_by_schedule(optax.cosine_decay_schedule(0.01, 80)), "
    "optax.scale(-1.0))",
    "optax.chain(optax.scale_by_schedule(lambda c: 0.01 / (1 + 0.1 * c)), optax.trace(0.5), optax.scale(-1.0))",
    "optax.chain(optax.add_decayed_weights(0.01), optax.sgd(0.05), optax.add_decayed_weights(-0.001), "
    "optax.scale(0.5))",
    "optax.chain(optax.scale_by_adam(), optax.add_decayed_weights(optax.linear_schedule(0.1, 0.0, 50)), "
    "optax.scale_by_learning_rate(0.01))",
    "optax.chain(optax.ema(0.9), optax.scale_by_rms(), optax.scale_by_param_block_rms(), optax.scale(-0.01))",
    "optax.chain(optax.normalize_by_update_norm(2.0), optax.scale_by_param_block_norm(), optax.sgd(0.01))",
    "optax.chain(optax.adam(0.01), optax.trace(0.5), optax.keep_params_nonnegative())",
    "optax.masked(optax.chain(optax.clip_by_global_norm(0.1), optax.scale_by_adam()), "
    "{'b': True, 'k': False, 's': True, 'w': True})",
    "optax.chain(optax.masked(optax.scale_by_trust_ratio(), {'b': False, 'k': True, 's': False, 'w': True}), "
    "optax.sgd(0.01, momentum=0.9))",
    "optax.partition({'a': optax.adam(0.01), 'f': optax.set_to_zero(), 's': optax.rmsprop(0.02, momentum=0.5)}, "
    "{'b': 'a', 'k': 's', 's': 'f', 'w': 's'})",
    "optax.chain(optax.clip_by_global_norm(1.0), optax.multi_transform({'m': optax.lion(0.01), 'v': optax.sgd(0.1)}, "
    "lambda p: jax.tree.map(lambda x: 'm' if x.ndim >= 2 else 'v', p)))",
    "optax.chain(optax.adam(0.01), optax.partition({'a': optax.sgd(0.5), 'z': optax.chain(optax.trace(0.5), "
    "optax.scale(-0.7))}, {'b': 'a', 'k': 'z', 's': 'z', 'w': 'a'}))",
    "optax.chain(optax.sgd(0.01), optax.transforms.freeze({'b': True, 'k': False, 's': False, 'w': False}))",
]


def targets() -> dict[str, Any]:
    generator = np.random.default_rng(3)
    return {name: generator.normal(size=shape) for name, shape in SHAPES.items()}


def value_and_gradient(parameters: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A bent bowl around the targets, and its gradient by hand: the same bits go to both optimizers."""
    goal = targets()
    loss, gradient = 0.0, {}
    for name in SHAPES:
        off = np.asarray(parameters[name]) - goal[name]
        loss += float(np.sum(0.5 * off**2 + 0.25 * off**4))
        gradient[name] = off + off**3
    return loss, gradient


def bowl(parameters: dict[str, Any]) -> Any:
    """The same loss for JAX to differentiate twice."""
    off = {name: parameters[name] - goal for name, goal in targets().items()}
    return sum(jax.numpy.sum(0.5 * o**2 + 0.25 * o**4) for o in off.values())


def flat(tree: dict[str, Any]) -> Array:
    return LAYOUT.join([np.asarray(tree[name]) for name in SHAPES], np.float64)


def tree(vector: Array) -> dict[str, Any]:
    return dict(zip(SHAPES, LAYOUT.split(vector), strict=True))


def poisoned(line: str, k: int, gradient: dict[str, Any]) -> dict[str, Any]:
    """Now and then a nan, where the line is about that."""
    if ("finite" in line or "nans" in line) and k in (5, 20, 21, 22, 23, 40):
        return {**gradient, "w": np.full((3, 2), np.nan if k != 20 or "nans" in line else np.inf)}
    return gradient


def ours(line: str, optimizer: Optimizer, start: Array) -> list[Array]:
    weights, path = start, []
    for k in range(STEPS):
        loss, gradient = value_and_gradient(tree(weights))
        _, weights = optimizer.step_flat(
            weights,
            flat(poisoned(line, k, gradient)),
            LAYOUT,
            loss=loss,
            evaluate=lambda at: (value_and_gradient(tree(at))[0], flat(value_and_gradient(tree(at))[1])),
        )
        path.append(weights)
    return path


def theirs(line: str, start: Array, steps: int) -> list[Array]:
    transformation = reading(line)
    with jax.enable_x64(True):
        parameters = arrays(tree(start))
        state = transformation.init(parameters)
        fixed: dict[str, Any] = {"obj_fn": bowl} if "sophia" in line else {}
        if "opaque" in line:
            fixed = {"grad_fn": lambda p, _: jax.grad(bowl)(p)}
        compiled = jax.jit(functools.partial(transformation.update, **fixed))
        path = []
        for k in range(steps):
            loss, gradient = value_and_gradient(parameters)
            given = arrays(poisoned(line, k, gradient))
            if "polyak" in line:
                updates, state = compiled(given, state, parameters, value=loss)
            else:
                updates, state = compiled(given, state, parameters)
            parameters = {name: parameters[name] + updates[name] for name in SHAPES}
            path.append(flat(parameters))
    return path


def same_program(line: str, other: str, start: Array) -> bool:
    """True when JAX makes the same operations of both lines (comparing them is faster than running them)."""
    with jax.enable_x64(True):
        texts = []
        for text in (line, other):
            transformation = reading(text)
            parameters = arrays(tree(start))
            state = transformation.init(parameters)
            if "opaque" in text or "polyak" in text or "sophia" in text:
                return False
            texts.append(str(jax.make_jaxpr(transformation.update)(parameters, state, parameters)))
        return texts[0] == texts[1]


def reading(line: str) -> Any:
    """What optax makes of the line: its own reading is what ours is compared with."""
    return eval(line, {"optax": optax, "jax": jax, "jnp": jax.numpy, "functools": functools})


def arrays(values: dict[str, Any]) -> dict[str, Any]:
    return {name: jax.numpy.asarray(value) for name, value in values.items()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", LINES)
def test_same_steps_as_optax(line: str) -> None:
    start = np.random.default_rng(11).normal(size=LAYOUT.size)
    first = parse_optimizer(line)
    emitted = emit_optimizer(first, "optax")
    again = parse_optimizer(emitted)
    assert again.settings() == first.settings(), emitted
    # with an int32 count optax works these schedules out in float32
    single = any(name in line for name in ("warmup", "linear_schedule", "exponential_decay", "lambda c"))
    # hutchinson's curvature is exact there, here it comes from differences of gradients
    single = single or "sophia" in line
    single = single or ("adafactor" in line and "momentum" in line)  # its momentum is kept in float32
    near = {"rtol": 1e-5, "atol": 1e-6} if single else {"rtol": 1e-9, "atol": 1e-11}
    expected = theirs(line, start, STEPS)
    for k, (own, other) in enumerate(zip(ours(line, first, start), expected, strict=True)):
        np.testing.assert_allclose(own, other, **near, err_msg=f"step {k + 1} of {line}")
    if same_program(line, emitted, start):
        return
    for k, (own, other) in enumerate(zip(theirs(emitted, start, 12), expected, strict=False)):
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-14, err_msg=f"step {k + 1} of {emitted}")
