"""apply_gradients(zip(variables, gradients)): Keras 3.15 and TensorFlow stop there, the gradient comes first."""

from __future__ import annotations

import pytest

from core.optim import parse_optimizer
from core.optim.dialects import ParseError

TAPE = """opt = keras.optimizers.SGD(0.1)
for x, y in data:
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip({}))
"""
GRAPH = """opt = tf.train.GradientDescentOptimizer(0.1)
tvars = tf.trainable_variables()
grads = tf.gradients(loss, model.trainable_variables)
train_op = opt.apply_gradients(zip({}))
"""


@pytest.mark.parametrize(("lines", "line"), [(TAPE, 6), (GRAPH, 4)])
def test_variables_in_front_of_gradients_are_refused(lines: str, line: int) -> None:
    with pytest.raises(ParseError, match=r"write zip\(gradients, variables\)") as told:
        parse_optimizer(lines.format("model.trainable_variables, grads"))
    assert told.value.line == line


@pytest.mark.parametrize("lines", [TAPE, GRAPH])
def test_gradients_in_front_are_read(lines: str) -> None:
    assert parse_optimizer(lines.format("grads, model.trainable_variables")).chain.row_names[-1] == "rounding"
