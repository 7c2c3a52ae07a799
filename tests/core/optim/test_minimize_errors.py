"""What minimize says about losses and variables that it cannot use, and the unusual ones that it can."""

from typing import Any

import numpy as np
import pytest

from core.autodiff import Variable
from core.optim import Optimizer, parse_optimizer


def sgd() -> Optimizer:
    return parse_optimizer("torch.optim.SGD(params, lr=0.1)")


def without_return(w: Any) -> Any:
    w * w


@pytest.mark.parametrize("line", ["torch.optim.SGD(params, lr=0.1)", "torch.optim.LBFGS(params)"])
def test_a_loss_that_returns_nothing(line: str) -> None:
    w = Variable(2.0, name="w")

    def loss() -> Any:
        without_return(w)

    for variables in ([w], None):
        with pytest.raises(TypeError, match="the loss function loss returned None"):
            parse_optimizer(line).minimize(loss, variables)
    assert w.item() == 2


@pytest.mark.parametrize("value", ["text", {"loss": 1.0}, (1.0, "aux")])
def test_a_loss_that_is_no_number(value: Any) -> None:
    with pytest.raises(TypeError, match="has to return a number or tensor"):
        sgd().minimize(lambda: value, [Variable(2.0)])


def test_a_variable_as_the_loss_has_slope_one() -> None:
    w = Variable(2.0)
    sgd().minimize(lambda: w, [w])
    assert w.item() == 2 - 0.1
    sgd().minimize(lambda: w)
    assert w.item() == 2 - 0.1 - 0.1


def test_several_losses_count_as_their_sum() -> None:
    w, v = Variable(2.0), Variable([1.0, 2.0])
    ledger = sgd().minimize(lambda: [v * v, w], [v, w])
    np.testing.assert_array_equal(ledger[v].applied, v.numpy() - [1.0, 2.0])
    np.testing.assert_allclose(v.numpy(), [0.8, 1.6], rtol=1e-15)
    assert w.item() == 1.9


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (lambda w, k, frozen: k * k, "'k' is of integer type"),
        (lambda w, k, frozen: float(w * w), "converted to plain numpy by float"),
        (lambda w, k, frozen: w > 0, "passes through greater"),
        (lambda w, k, frozen: 3.0, "was not used while the tape was recording"),
    ],
)
def test_the_reason_why_there_is_no_gradient(loss: Any, reason: str) -> None:
    w, k, frozen = Variable(2.0, name="w"), Variable(3, name="k"), Variable(1.0, name="frozen", trainable=False)
    with pytest.raises(ValueError, match=f"no gradients for any variable: .*{reason}"):
        sgd().minimize(lambda: loss(w, k, frozen), [k] if "integer" in reason else [w])
    with pytest.raises(ValueError, match="'frozen' is not watched: it is not trainable"):
        sgd().minimize(lambda: frozen * frozen, [frozen])


def test_an_integer_variable_beside_others_takes_no_part() -> None:
    for name_them in (True, False):
        w, k = Variable(2.0), Variable(3)
        sgd().minimize(lambda w=w, k=k: w * w * k, [w, k] if name_them else None)
        assert w.item() == pytest.approx(2 - 0.1 * 2 * 2 * 3) and k.item() == 3


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (lambda w: w, "list of Variables, such as .w., not the variable 'w'"),
        (lambda w: {"w": w}, "not dict"),
        (lambda w: "w", "not str"),
        (lambda w: ["w"], r"variables\[0\] has to be a Variable, not 'w'"),
        (lambda w: [w, np.ones(2)], r"variables\[1\] has to be a Variable"),
    ],
)
def test_variables_have_to_be_a_list_of_variables(variables: Any, message: str) -> None:
    w = Variable(2.0, name="w")
    with pytest.raises(TypeError, match=message):
        sgd().minimize(lambda: w * w, variables(w))


def test_a_generator_of_variables() -> None:
    w = Variable(2.0)
    sgd().minimize(lambda: w * w, (v for v in [w]))  # type: ignore[arg-type]
    assert w.item() == 2 - 0.1 * 4
