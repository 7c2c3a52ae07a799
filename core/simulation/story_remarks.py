"""What else is worth saying of a step: where the difference lies, flips, lost updates, a run on its way to diverge."""

from __future__ import annotations

import numpy as np

from core.simulation.step_facts import StepFacts
from core.simulation.story_clauses import Clauses
from core.simulation.wording import EXPECTED, Translate, capital, mark, number


class Remarks:
    """Base of the teller: the facts of a step, how rows are called, and remarks, each a list of sentences."""

    def __init__(self, facts: StepFacts, storage: str, translate: Translate, arithmetic: str) -> None:
        self.facts = facts
        self.arithmetic = arithmetic
        self.storage = storage if storage not in ("", "variable") else ""
        self.translate = translate
        self.clauses = Clauses(facts, self.storage, translate)
        self.expected = mark("computed", EXPECTED)
        self.applied = mark("applied", translate("the applied step"))

    def say(self, template: str, *values: object) -> str:
        """A template in the user's language, filled in."""
        return self.translate(template).format(*values)

    def names(self, rows: tuple[int, ...]) -> str:
        """What rows that are told together are called."""
        called = [self.name(row) for row in rows]
        return called[0] if len(called) == 1 else self.say("{0} and {1}", ", ".join(called[:-1]), called[-1])

    def name(self, row: int) -> str:
        """The marked label of a row."""
        return mark(f"cause:{self.facts.causes[row]}", self.facts.labels[row])

    def even(self) -> list[str]:
        """What adaptive methods do at first, and signs always: size no longer counts."""
        amount, rate = self.facts.even_amount, self.facts.rate
        if amount is None:
            return []
        same = self.translate("one learning rate") if abs(amount - rate) < 0.01 * rate else number(amount)
        return [self.say("Every weight moves by the same amount, {0}: of the gradient only the signs are left.", same)]

    # what else is worth saying -----------------------------------------------------------------------------------

    def no_loss(self) -> list[str]:
        """The loss is no number although the gradient is one, or the other way round."""
        facts = self.facts
        fine = bool(np.isfinite(facts.gradient).all())
        # losses that were never recorded (a trace without them) are all nan
        if bool(np.isfinite(facts.loss)) == fine or (fine and np.isnan(facts.recent_losses).all()):
            return []
        if fine:
            said = self.say("the loss is {0} here although its gradient is finite", f"{facts.loss:g}")
            return [self.say("Mind that {0}.", mark("warning", said))]
        return [self.say("The loss itself is finite ({0}): only its gradient went wrong.", number(facts.loss))]

    def variable(self) -> list[str]:
        """Where the difference lies, when one of several variables has most of it."""
        name, share = self.facts.main_variable()
        if not name or share < 0.7 or not self.facts.deeds:
            return []
        amount = self.translate("Nearly all") if share > 0.995 else f"{100.0 * share:.0f} %"
        return [self.say("{0} of the difference is in {1}.", amount, mark("strong", name))]

    def flips(self) -> list[str]:
        """How many weights went the other way, and which row turned most of them."""
        facts = self.facts
        if facts.size == 1 or not facts.contrast.flipped:
            return []
        if facts.contrast.flipped == facts.size:
            told = self.say("Every weight moved against {0}", self.expected)
        else:
            told = self.say("{0} of {1} weights moved against {2}", facts.contrast.flipped, facts.size, self.expected)
        guilty = facts.flipping_row
        if guilty is None:
            return [told + "."]
        return [self.say("{0}, mostly because of {1}.", told, self.name(guilty))]

    def lost_updates(self) -> list[str]:
        """Weights that stayed because their updates were rounded away."""
        facts = self.facts
        lost = int(np.count_nonzero(facts.lost))
        if not lost:
            return []
        rounding = self.say("rounding to {0}", self.storage) if self.storage else self.translate("rounding")
        who = capital(mark("cause:rounding", rounding))
        size = number(float(np.abs(facts.rows[-1][facts.lost]).max()))
        if facts.size == 1:
            return [
                self.say(
                    "{0} swallowed the whole update of {1}: it is no more than half the gap to the next number.",
                    who,
                    size,
                )
            ]
        return [
            self.say(
                "{0} swallowed the updates of {1} (up to {2}): none is more than half the gap to the next number.",
                who,
                self._all_weights() if lost == facts.size else self.say("{0} of {1} weights", lost, facts.size),
                size,
            )
        ]

    def _all_weights(self) -> str:
        size = self.facts.size
        return self.translate("both weights") if size == 2 else self.say("all {0} weights", size)

    def runaway(self) -> list[str]:
        """The loss has grown for several steps on end."""
        growth = self.facts.runaway
        if growth is None:
            return []
        first, steps = growth
        if self.facts.loss <= self.facts.first_loss:
            # a bounce of a run that came close, not its end
            return [
                self.say(
                    "In each of the last {0} steps the loss has grown, from {1} to {2}; at the start it was {3}.",
                    steps,
                    number(first),
                    number(self.facts.loss),
                    number(self.facts.first_loss),
                )
            ]
        return [
            self.say(
                "{0}: in the last {1} steps the loss has grown from {2} to {3}.",
                mark("warning", self.translate("The run is diverging")),
                steps,
                number(first),
                number(self.facts.loss),
            )
        ]
