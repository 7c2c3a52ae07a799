"""The loop of a Keras script (TensorFlow or JAX behind it): gradients, optimizer.apply, floats as float64."""

from __future__ import annotations

import ast
import itertools

from core.export.scripts.data import data_lines
from core.export.scripts.lines import Statement, differing, right_side, statements
from core.export.scripts.network import network_lines
from core.export.scripts.pieces import has_noise, loss_functions, noise_function
from core.export.scripts.plan import Plan, ScriptError, indented
from core.optim import emit_optimizer

_ALTERABLE = frozenset(
    {"learning_rate", "momentum", "beta_1", "beta_2", "rho", "epsilon", "weight_decay", "clipnorm", "clipvalue"}
    | {"global_clipnorm"}
)
"""Settings Keras reads anew at every step."""

_GRADIENTS = """
def value_and_gradient(step):
    if keras.backend.backend() == "jax":
        import jax

        return jax.value_and_grad(lambda q: {loss})({values})
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            q = {values}
            tape.watch(q)
            value = {loss}
        return value, tape.gradient(value, q)
    raise SystemExit("this script differentiates with TensorFlow or JAX: set KERAS_BACKEND")
"""


def body(plan: Plan) -> list[str]:
    """The lines of the script; ScriptError or NotRepresentable says what Keras cannot do."""
    parsed = []
    for stretch in plan.stretches:
        found, comments = statements(emit_optimizer(stretch.optimizer, "keras"))
        plan.note(comments)
        penalties = [s for s in found if s.path.startswith("keras.regularizers.")]
        optimizers = [s for s in found if s.path.startswith("keras.optimizers.")]
        others = [s for s in found if s not in penalties and s not in optimizers]
        if others or len(optimizers) != 1:
            text = others[0].text if others else "no optimizer"
            raise ScriptError(f"keras: {text!r} has no place in a plain training loop")
        parsed.append((stretch.step, penalties, optimizers[0]))
    _, penalties, optimizer = parsed[0]
    if optimizer.path.endswith(".Adafactor"):
        raise ScriptError(
            "keras: its Adafactor computes the rates of its averages in float32, so the steps would differ"
        )
    if "LossScaleOptimizer" in optimizer.text:
        raise ScriptError("keras: loss scaling has no place in a plain training loop")
    lines = [
        "import math",
        "import os",
        "from pathlib import Path",
        "",
        'os.environ.setdefault("KERAS_BACKEND", "tensorflow")',
        "",
        "import keras",
    ]
    lines += ["import numpy as np", "from keras import ops", "", 'if keras.backend.backend() == "jax":']
    lines += [
        "    import jax",
        "    import jax.numpy as exact",
        "",
        '    jax.config.update("jax_enable_x64", True)',
        "else:",
        "    import tensorflow.experimental.numpy as exact",
        "",
        'keras.config.set_floatx("float64")',
    ]
    # a Python float would become float32 on its way into some of Keras' formulas
    lines.append("f64 = np.float64")
    if plan.is_model:
        lines += [*data_lines(plan), *network_lines(plan, "keras")]
        loss, values = "loss(q, *map(ops.convert_to_tensor, inputs(step)))", "[variable.value for variable in params]"
        made = [
            'params = [keras.Variable(part, dtype="float64", name=f"v{k}") for k, part in enumerate(unpack(start))]'
        ]
        weights = "*(w for q in params for w in np.ravel(ops.convert_to_numpy(q)).tolist())"
    else:
        lines += [*loss_functions(plan, "keras"), *noise_function(plan)]
        loss, values = "loss(q[0], step)", "[p.value]"
        made = [f'p = keras.Variable(np.array({plan.start!r}), dtype="float64", name="p")', "params = [p]"]
        weights = "*map(float, ops.convert_to_numpy(p))"
    lines += [*_GRADIENTS.format(loss=loss, values=values).splitlines(), "", *made]
    lines += [f"optimizer = {_exact(right_side(optimizer))}", "for key, number in list(vars(optimizer).items()):"]
    # the settings that were not written too
    lines += [
        "    if type(number) is float:",
        "        setattr(optimizer, key, f64(number))",
        "optimizer.build(params)",
    ]
    loop = _changes(parsed)
    loop += ["value, gradients = value_and_gradient(step)"]
    if has_noise(plan):
        loop.append("gradients = [gradients[0] + ops.convert_to_tensor(noise(step))]")
    loop += [f"print(step, float(value), {weights})"]
    for penalty in penalties:
        strength = ast.unparse(ast.parse(penalty.text).body[0].value.args[0])  # type: ignore[attr-defined]
        kind = penalty.path.rsplit(".", 1)[1]
        slope = f"2.0 * f64({strength}) * q.value" if kind == "L2" else f"f64({strength}) * ops.sign(q.value)"
        loop.append(f"gradients = [g + {slope} for g, q in zip(gradients, params)]  # {penalty.text}")
    loop += ["optimizer.apply(gradients, params)"]
    return [*lines, "", f"for step in range({plan.steps}):", *indented(loop)]


def _changes(parsed: list[tuple[int, list[Statement], Statement]]) -> list[str]:
    lines: list[str] = []
    for (_, old_penalties, before), (step, penalties, after) in itertools.pairwise(parsed):
        if [penalty.text for penalty in old_penalties] != [penalty.text for penalty in penalties]:
            raise ScriptError(f"keras: at step {step} a regularizer was changed, which belongs to the layer")
        if before.path != after.path:
            raise ScriptError(f"keras: at step {step} {before.path} would have to become {after.path}")
        changed = differing(before, after)
        lines += [f"if step == {step}:"] if changed else []
        for key, (old, new) in changed.items():
            if key not in _ALTERABLE:
                raise ScriptError(f"keras: at step {step} {key} was changed, which a Keras optimizer does not follow")
            if old is None or new is None:
                raise ScriptError(f"keras: at step {step} {key} was switched on, off or to its default")
            if "schedules" in old or "schedules" in new:
                raise ScriptError(f"keras: at step {step} the schedule was changed, which a Keras optimizer refuses")
            lines.append(f"    optimizer.{key} = {_exact(new)}")
    return lines


class _Exact(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, float):
            return node
        return ast.Call(ast.Name("f64", ast.Load()), [node], [])


def _exact(text: str) -> str:
    """The code with every float as f64(...)."""
    return ast.unparse(ast.fix_missing_locations(_Exact().visit(ast.parse(text, mode="eval"))))
