"""What transforms and schedules declare is complete: ledger, sliders and documents show nothing else of them."""

import pytest

from core.declare import SCALES, Parameter
from core.optim.schedules import SCHEDULES
from core.optim.transform import CAUSES
from core.optim.transforms import TRANSFORMS


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_declaration_is_complete(name: str) -> None:
    kind = TRANSFORMS[name]
    assert kind.name == name and kind.cause in CAUSES
    assert kind.label and kind.formula and kind.source
    check_parameters(kind.parameters)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_say_what_their_parameters_are(name: str) -> None:
    check_parameters(SCHEDULES[name].parameters)


def check_parameters(parameters: tuple[Parameter, ...]) -> None:
    assert len({parameter.key for parameter in parameters}) == len(parameters)
    for parameter in parameters:
        assert parameter.scale in SCALES and parameter.symbol and parameter.tooltip, parameter.key
        assert parameter.minimum < parameter.maximum, parameter.key
