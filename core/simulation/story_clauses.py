"""Clauses of the story: what ledger rows did to the step as it came to them, and why."""

from __future__ import annotations

from core.simulation.contrast import angle_between, norm
from core.simulation.step_facts import Deed, StepFacts
from core.simulation.wording import OWN_REASONS, REASONS, Translate, degrees, factor, number

SAME_LENGTH = 0.005
SAME_DIRECTION = 0.5
"""Ratios this close to 1, and angles below so many degrees, are told as 'the same'."""


class Clauses:
    """``storage`` names the type weights are stored in, '' where it is not known."""

    def __init__(self, facts: StepFacts, storage: str, translate: Translate) -> None:
        self.facts = facts
        self.storage = storage
        self.translate = translate

    def say(self, template: str, *values: object) -> str:
        """A template in the user's language, filled in."""
        return self.translate(template).format(*values)

    def effect(self, deed: Deed) -> str:
        """What happened to the step as it came to these rows."""
        before, after = self.facts.sums[deed.first], self.facts.sums[deed.last + 1]
        length_before, length_after = norm(before), norm(after)
        if length_before == 0.0:
            return self.say("made a step of length {0} where there was none", number(length_after))
        if length_after == 0.0:
            return self.translate("took all of the step away")
        ratio, turn = length_after / length_before, angle_between(before, after)
        if turn < SAME_DIRECTION:
            return self._scaling(ratio, deed.size / length_before)
        if turn > 179.5:
            turned = self.translate("turned the step round")
        else:
            turned = self.say("turned the step by {0} degrees", degrees(turn))
        if abs(ratio - 1.0) < 0.02:
            return turned
        if ratio < 1.0:
            return self.say("{0} and shortened it to {1} of its length", turned, factor(ratio))
        return self.say("{0} and made it {1} times as long", turned, factor(ratio))

    def _scaling(self, ratio: float, change: float) -> str:
        """The effect of a row that (almost) keeps the direction."""
        if abs(ratio - 1.0) < SAME_LENGTH:
            return self.say("changed the step by {0} of its length", factor(change))
        if ratio < 1.0:
            told = self.say("shortened the step to {0} of its length", factor(ratio))
        else:
            told = self.say("made the step {0} times as long", factor(ratio))
        return told if self.facts.size == 1 else self.say("{0}, its direction kept", told)

    def reason(self, deed: Deed) -> str:
        """Why, in one clause, for one row or for two that are told together."""
        if len(deed.rows) == 1:
            return self._of_row(deed.first)
        if self.facts.causes[deed.last] != "bias correction" or len(deed.rows) > 2:
            return ""
        if self.facts.names[deed.first] in OWN_REASONS:
            return self.translate(OWN_REASONS[self.facts.names[deed.first]])
        return {
            "momentum": self.translate("an average of the gradients so far, made up for its start at zero"),
            "adaptive scaling": self.translate("each weight's gradient is divided by how large it has been"),
        }.get(self.facts.causes[deed.first], "")

    def _of_row(self, row: int) -> str:
        """Why, in one clause."""
        facts = self.facts
        cause = facts.causes[row]
        if facts.names[row] in OWN_REASONS:
            return self.translate(OWN_REASONS[facts.names[row]])
        if cause == "momentum":
            return self._momentum_reason(row)
        if cause == "clipping":
            return self._clipping_reason()
        if cause == "weight decay" and facts.weights is not None and facts.rows[row] @ facts.weights > 0.0:
            return self.translate("it pushes the weights away from zero")
        if cause == "learning rate":
            if facts.rate == facts.base_rate or facts.causes.count(cause) > 1:
                return ""
            return self.say("the schedule gives {0} here, not {1}", number(facts.rate), number(facts.base_rate))
        if cause == "rounding":
            if self.storage:
                return self.say("the weights are stored as {0}", self.storage)
            return self.translate("the stored numbers are no finer than that")
        return self.translate(REASONS.get(cause, ""))

    def _momentum_reason(self, row: int) -> str:
        """Of the velocity, of an average, or of a look ahead."""
        facts = self.facts
        if facts.names[row].startswith(("nesterov", "scheduled_nesterov")):
            return self.translate("it goes ahead by one more step of the velocity")
        if facts.step == 0:
            return self.translate("its average starts at zero")
        before, after = facts.sums[row], facts.sums[row + 1]
        if before @ after < 0.0:
            return self.translate("the earlier gradients it mixes in point the other way and outweigh this one")
        return self.translate(REASONS["momentum"])

    def _clipping_reason(self) -> str:
        facts = self.facts
        length, shrink = facts.figures.get("gradient_norm"), facts.figures.get("clip_factor")
        alone = facts.causes.count("clipping") == 1
        if alone and length is not None and shrink is not None and 0.0 < shrink < 1.0:
            return self.say("a norm of {0} was over the limit of {1}", number(length), number(length * shrink))
        return self.translate("the gradient was over the limit")
