"""TensorFlow code that trains some variables only: the remark says that all of the problem's move here."""

from __future__ import annotations

import pytest

from core.optim import parse_optimizer

TF1 = "opt = tf.compat.v1.train.AdamOptimizer(0.01)\n"
KERAS = "opt = tf.keras.optimizers.SGD(0.1)\nwith tf.GradientTape() as tape:\n    loss = f()\n"
PARTS = {
    TF1 + "opt.minimize(loss, var_list=d_vars)": "d_vars",
    TF1 + "opt.minimize(loss, step, theta_D)": "theta_D",
    TF1 + "opt.minimize(loss, var_list=tf.trainable_variables('gen'))": "tf.trainable_variables('gen')",
    TF1 + "gv = opt.compute_gradients(loss, var_list=tf.get_collection(KEY, scope='gen'))\nopt.apply_gradients(gv)": (
        "tf.get_collection(KEY, scope='gen')"
    ),
    TF1 + "d = [v for v in tf.trainable_variables() if 'd_' in v.name]\nopt.minimize(loss, var_list=d)": (
        "[v for v in tf.trainable_variables() if 'd_' in v.name]"
    ),
    KERAS + "g = tape.gradient(loss, net.layers[-1].trainable_variables)\n"
    "opt.apply_gradients(zip(g, net.layers[-1].trainable_variables))": "net.layers[-1].trainable_variables",
    KERAS
    + "v = net.trainable_variables\ng = tape.gradient(loss, v)\nopt.apply_gradients(zip(g[:-1], v[:-1]))": "[:-1]",
}
ALL = (
    TF1 + "opt.minimize(loss)",
    TF1 + "opt.minimize(loss, global_step)",
    TF1 + "opt.minimize(loss, global_step=step, var_list=tf.compat.v1.trainable_variables())",
    TF1 + "opt.minimize(loss, var_list=[w, b])",
    TF1 + "opt.minimize(loss, var_list=train_vars)",
    KERAS + "g = tape.gradient(loss, net.trainable_variables)\nopt.apply_gradients(zip(g, net.trainable_variables))",
    KERAS + "g = tape.gradient(loss, [w, b])\nopt.apply_gradients(zip(g, [w, b]))",
    "opt = tf.keras.optimizers.SGD(0.1)\nopt.minimize(loss, [w])",
)


@pytest.mark.parametrize("lines", PARTS)
def test_a_part_is_told(lines: str) -> None:
    remarks = [remark for remark in parse_optimizer(lines).remarks if "moves all variables" in remark]
    assert len(remarks) == 1
    assert PARTS[lines] in remarks[0]


@pytest.mark.parametrize("lines", ALL)
def test_nothing_is_said_of_all(lines: str) -> None:
    assert not [remark for remark in parse_optimizer(lines).remarks if "moves all variables" in remark]
