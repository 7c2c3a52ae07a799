"""Opens the pipeline on an experiment and finds its controls, for the tests that drive it."""

from core.simulation import Experiment
from gui.session import Session
from gui.views.pipeline import PipelineView

ADAM = (
    "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\n"
    "opt = torch.optim.Adam(params, lr=0.06, weight_decay=0.02)\n"
    "torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.995)"
)
ORDER = [
    "frozen_mask",
    "clip_by_global_norm",
    "l2",
    "first_moment",
    "bias_correction_1",
    "second_moment",
    "bias_correction_2",
    "learning_rate",
    "rounding",
]


def opener(screen):
    """For a fixture: what opens the view on an experiment after some steps."""

    def make(lines=ADAM, steps=0, size=(270, 900), **settings):
        session = Session(Experiment(optimizer=lines, **settings))
        session.current.simulation.advance(steps)
        session.show_step(steps - 1)
        return session, screen.view(PipelineView, session, size)

    return make


def optimizer(session):
    return session.current.simulation.optimizer


def control(view, target, key):
    row = target.split()[0].split(".")[0]
    return view.chain.blocks[row].sliders()[target, key]
