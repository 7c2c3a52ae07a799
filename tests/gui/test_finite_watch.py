"""A loss that is no number is told in the log, once, with the operation that made it, and again after going back."""

from core.simulation import Experiment, ProblemSettings
from gui.session import Session

LOGARITHM = Experiment(
    problem=ProblemSettings(expression="log(x)"), optimizer="torch.optim.SGD(params, lr=0.75)", start=[1.0]
)


def test_told_once_and_again_after_going_back(qtbot):
    session = Session(LOGARITHM)
    said = []
    session.message.connect(lambda sentence, details: said.append(sentence))
    try:
        for steps in (2, 2, 1):
            session.engine.advance(session.current, steps)
            session.engine.settle()
        assert len(said) == 1
        assert said[0].startswith("step 2: The loss is nan although its gradient is finite: log(-2.75) is nan.")
        session.rewind(1)
        session.engine.settle()
        session.engine.advance(session.current, 2)
        session.engine.settle()
        assert len(said) == 2
    finally:
        session.close()
