"""What one step did, in sentences: how long and how turned it is next to -lr*g, which cause did what, what was lost.

``story`` gives plain text, ``story_html`` the same with causes in their colours. Everything said is worked out from
the recorded numbers of the step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.simulation.contrast import Contrast
from core.simulation.history import History
from core.simulation.step_facts import Deed, StepFacts
from core.simulation.story_clauses import SAME_DIRECTION, SAME_LENGTH
from core.simulation.story_remarks import Remarks
from core.simulation.wording import Translate, capital, degrees, factor, mark, number, plain, rich

WORTH_TELLING = 0.2
"""Besides the largest cause, those with this share of its length, or of the step they acted on."""


def story(history: History, step: int, *, storage: str = "", arithmetic: str = "", translate: Translate = str) -> str:
    """The sentences about step ``step`` as plain text.

    ``storage`` names the type weights are stored in ('float16'), ``arithmetic`` that of the computation, where known;
    ``translate`` turns each template into another language. IndexError for a step the history does not hold.
    """
    return plain(" ".join(sentences(history, step, storage, translate, arithmetic)))


def story_html(
    history: History,
    step: int,
    color_of: Callable[[str], str],
    *,
    storage: str = "",
    arithmetic: str = "",
    translate: Translate = str,
) -> str:
    """The same as rich text. ``color_of`` gives a colour for 'computed', 'applied', 'warning' and for each cause."""

    return rich(" ".join(sentences(history, step, storage, translate, arithmetic)), color_of)


def sentences(
    history: History, step: int, storage: str = "", translate: Translate = str, arithmetic: str = ""
) -> list[str]:
    """The sentences with their marked pieces, most important first."""
    return _Teller(StepFacts.of(history, step), storage, translate, arithmetic).tell()


class _Teller(Remarks):
    """Tells one step. Templates pass through ``self.say`` so that they can be translated."""

    def tell(self) -> list[str]:
        facts = self.facts
        told = [self.say("Step {0}:", facts.step)]
        if facts.skipped:
            return [*told, *self._skipped()]
        if not facts.finite:
            return [*told, *self._broken(), *self.no_loss()]
        difference = facts.contrast
        if difference.expected_norm == 0.0:
            told += self._nothing_expected(difference)
        elif difference.applied_norm == 0.0:
            told += self._nothing_applied()
        else:
            told += self._opening(difference)
            told += self._deeds()
            told += self.even()
            told += self.variable()
            told += self.flips()
        told += self.no_loss()
        told += self.lost_updates()
        told += self.runaway()
        return told

    # steps that are no steps -------------------------------------------------------------------------------------

    def _skipped(self) -> list[str]:
        facts = self.facts
        guard = facts.causes.index("guard") if "guard" in facts.causes else None
        who = self.name(guard) if guard is not None else self.translate("a guard")
        bad = _bad_count(facts.gradient)
        why = (
            self.say(
                "{0} of {1} components of the scaled gradient are inf or nan"
                if "loss_scale" in facts.figures
                else "{0} of {1} components of the gradient are inf or nan",
                bad,
                facts.size,
            )
            if bad
            else self.translate("it found a value it does not let through")
        )
        told = [self.translate("No weight changed, and neither averages nor the schedule moved on.")]
        scale = facts.figures.get("loss_scale")
        if bad and scale is not None and np.isfinite(facts.loss) and not np.isnan(facts.gradient).any():
            told.append(self.say("The loss was scaled by {0}, which was too much here.", f"{scale:,.10g}"))
        return [
            self.say(
                "this step was {0}. {1} stopped it: {2}.", mark("warning", self.translate("skipped")), capital(who), why
            ),
            *told,
        ]

    def _broken(self) -> list[str]:
        facts = self.facts
        diverged = mark("warning", self.translate("the run has diverged"))
        bad = _bad_count(facts.gradient)
        if bad and (np.isfinite(facts.loss) or not facts.step):
            return self._no_gradient(bad)
        if bad:
            first = self.say(
                "{0}: {1} of {2} components of the gradient are inf or nan (loss {3}).",
                diverged,
                bad,
                facts.size,
                number(facts.loss),
            )
        elif _bad_count(facts.expected):
            rate = number(facts.base_rate)
            first = self.say("{0}: the gradient is finite, but times a learning rate of {1} it is not.", diverged, rate)
        elif _bad_count(facts.applied):
            first = self.say("{0}: the gradient is finite, but the step left the range of numbers.", diverged)
        else:
            return self._broken_inside()
        told = [first]
        if facts.first_broken_row is not None:
            told.append(self.say("The first to go wrong was {0}.", self.name(facts.first_broken_row)))
        told.append(self.translate("Go back before it and lower the learning rate, or clip the gradient."))
        return told

    def _no_gradient(self, bad: int) -> list[str]:
        """There is no slope at these weights: no fault of the steps before, and no smaller one would mend it."""
        facts = self.facts
        nothing = mark("warning", self.translate("there is no step to take here"))
        template = "{0}: {1} of {2} components of the gradient are inf or nan."
        if not np.isfinite(facts.loss):  # told by ``no_loss`` where it is finite
            template = "{0}: {1} of {2} components of the gradient are inf or nan, and the loss is {3}."
        told = [self.say(template, nothing, bad, facts.size, f"{facts.loss:g}")]
        if self.arithmetic == "float16" and np.isinf(facts.gradient).any():
            told.append(self.say("Computed in {0}, what is beyond {1} becomes inf.", self.arithmetic, "65,504"))
        elif facts.step:
            told.append(self.translate("Go back before it: another step, or another start, leads past this place."))
        else:
            told.append(self.translate("Another start, or a loss written otherwise, has a slope."))
        return told

    def _broken_inside(self) -> list[str]:
        """inf or nan somewhere in the chain, of which nothing reached the weights."""
        row = self.facts.first_broken_row
        who = capital(self.name(row)) if row is not None else self.translate("The chain")
        ratio = self._as_long(self.facts.contrast.ratio)
        return [
            self.say("{0} came to a value that is inf or nan, but what was applied is finite:", who),
            self.say("{0} is {1} as {2}.", self.applied, ratio, self.expected),
        ]

    def _nothing_expected(self, difference: Contrast) -> list[str]:
        facts = self.facts
        if facts.base_rate == 0.0 and facts.gradient.any():
            start = self.say("the learning rate is 0, so {0} is {1}.", self.expected, mark("strong", "0"))
        else:
            start = self.say(
                "the gradient is {0} here, so nothing is expected.", mark("strong", self.translate("zero"))
            )
        if difference.applied_norm == 0.0:
            told = [start, self.translate("Nothing moved.")]
            return [*told, self._underflow()] if self._may_underflow() else told
        told = [start, self.say("Yet the weights moved by {0}.", mark("strong", number(difference.applied_norm)))]
        if facts.deeds:
            told += self._out_of_nothing()
        return told

    def _out_of_nothing(self) -> list[str]:
        """The deed that made a step where there was none, and what was done to that step afterwards."""
        facts = self.facts
        inside = sorted(facts.deeds, key=lambda deed: deed.first)
        made = next((deed for deed in inside if not facts.sums[deed.first].any()), facts.deeds[0])
        told = [self.say("That is {0}.", self._deed(made))]
        later = [deed for deed in inside if deed.first > made.last and deed.effect >= WORTH_TELLING][:2]
        for place, deed in zip(("After it, {0} {1}.", "Then {0} {1}."), later, strict=False):
            told.append(self.say(place, *self._parts(deed)))
        return told

    def _may_underflow(self) -> bool:
        """A gradient of zero in a type in which small gradients become zero."""
        return self.arithmetic == "float16" and not self.facts.gradient.any()

    def _underflow(self) -> str:
        return self.say(
            "Computed in {0}, a gradient below {1} becomes zero; if this is no minimum, scaling the loss would "
            "keep it.",
            self.arithmetic,
            number(2.0**-25),
        )

    def _nothing_applied(self) -> list[str]:
        facts = self.facts
        told = [
            self.say(
                "{0} has length {1}, yet {2}.",
                self.expected,
                number(facts.contrast.expected_norm),
                mark("strong", self.translate("nothing moved")),
            )
        ]
        if facts.lost.any() and not facts.stopped:
            return told
        zeroing = facts.zeroing_row
        if zeroing is None:
            return told
        who = capital(self.name(zeroing))
        if facts.causes[zeroing] == "accumulation":
            told.append(self.say("{0} put the gradient aside until enough of them are collected.", who))
        elif facts.causes[zeroing] == "learning rate" and facts.rate == 0.0:
            template = "{0} took all of it away: the schedule gives 0 here, not {1}."
            told.append(self.say(template, who, number(facts.base_rate)))
        elif facts.causes[zeroing] == "frozen variables":
            told.append(self.say("{0} took all of it away: these weights are not trained.", who))
        else:
            told.append(self.say("{0} took all of it away.", who))
        return told

    # an ordinary step --------------------------------------------------------------------------------------------

    def _opening(self, difference: Contrast) -> list[str]:
        facts = self.facts
        if not facts.deeds:
            same = np.array_equal(facts.expected, facts.applied)
            exact = self.translate("exactly") if same else self.translate("up to the rounding of the last digits")
            if facts.pairs:
                return [self.say("in the end the step is {0} {1}.", self.expected, exact)]
            told = [self.say("nothing happened on the way: the step is {0} {1}.", self.expected, exact)]
            length = facts.figures.get("gradient_norm")
            if length is not None and facts.causes.count("clipping") == 1 and facts.figures.get("clip_factor") == 1.0:
                who = capital(self.name(facts.causes.index("clipping")))
                told.append(
                    self.say("{0} let the gradient pass: its norm of {1} is within the limit.", who, number(length))
                )
            return told
        if facts.size == 1:
            return self._scalar_opening()
        ratio, angle = difference.ratio, difference.angle
        same_length = abs(ratio - 1.0) < SAME_LENGTH
        if angle < SAME_DIRECTION:
            if same_length:
                return [self.say("{0} is very nearly {1}: same length, same direction.", self.applied, self.expected)]
            template = "{0} points where {1} points, and is {2}."
            return [self.say(template, self.applied, self.expected, self._as_long(ratio))]
        turned = mark("strong", self.say("{0} degrees", degrees(angle)))
        if same_length:
            told = [self.say("{0} is as long as {1}, but turned by {2}.", self.applied, self.expected, turned)]
        else:
            template = "{0} is {1} as {2}, and turned by {3}."
            told = [self.say(template, self.applied, self._as_long(ratio), self.expected, turned)]
        if angle > 90.5:
            told.append(self.translate("It goes uphill, as far as this gradient can tell."))
        elif angle >= 89.5:
            told.append(
                self.translate("It runs across the slope: neither up nor down, as far as this gradient can tell.")
            )
        return told

    def _as_long(self, ratio: float) -> str:
        """'0.12 times as long' or '1/340 as long'."""
        text = mark("strong", factor(ratio))
        return self.say("{0} as long" if "/" in factor(ratio) else "{0} times as long", text)

    def _scalar_opening(self) -> list[str]:
        """One weight: the numbers themselves say more than lengths and angles, also in multiples of lr."""
        facts = self.facts
        expected, applied = float(facts.expected[0]), float(facts.applied[0])
        shown = number(expected), number(applied)
        if shown[0] == shown[1]:
            shown = f"{expected:.10g}", f"{applied:.10g}"
        strong = [mark("strong", text) for text in shown]
        told = [self.say("{0} is {1}, but {2} is {3}.", self.expected, strong[0], self.applied, strong[1])]
        rate = facts.base_rate
        if rate > 0.0 and rate != 1.0:
            parts = [self.say("expected {0} lr", number(expected / rate))]
            for deed in sorted(facts.deeds, key=lambda deed: deed.first):
                amount = float(facts.rows[list(deed.rows), 0].sum())
                parts.append(f"{self.names(deed.rows)} {amount / rate:+.4g} lr")
            parts.append(self.say("applied {0} lr", number(applied / rate)))
            told.append(self.say("In learning rates: {0}.", ", ".join(parts)))
        if expected * applied < 0.0:
            told.append(self.translate("It goes uphill, as far as this gradient can tell."))
        return told

    def _deeds(self) -> list[str]:
        facts = self.facts
        return [*self._main_deeds(), *self._pairs(WORTH_TELLING * facts.deeds[0].size if facts.deeds else 0.0)]

    def _main_deeds(self) -> list[str]:
        deeds = self.facts.deeds
        if not deeds:
            return []
        largest = deeds[0]
        if len(deeds) == 1:
            template = (
                "All of the difference is the work of {0}."
                if self.facts.alone
                else ("Nearly all of the difference is the work of {0}.")
            )
            told = [self.say(template, self._deed(largest, self._opening_says_it()))]
        elif largest.share > 0.5:
            told = [self.say("Most of the difference is the work of {0}.", self._deed(largest))]
        else:
            told = [self.say("The largest cause is {0}.", self._deed(largest))]

        def weight(deed: Deed) -> float:
            return max(deed.size / largest.size, deed.effect)

        others = sorted((d for d in deeds[1:] if weight(d) >= WORTH_TELLING), key=weight, reverse=True)[:2]
        others.sort(key=lambda deed: deed.first)
        place = ""
        for deed in others:
            before, place = place, "Before it, {0} {1}." if deed.last < largest.first else "After it, {0} {1}."
            told.append(self.say(place if place != before else "Then {0} {1}.", *self._parts(deed)))
        return told

    def _pairs(self, least: float) -> list[str]:
        """Rows that undo each other, if their contributions are at least this long."""
        return [
            self.say("{0} cancel each other in this step.", capital(self.names(rows)))
            for rows in self.facts.pairs
            if self.facts.sizes[rows[0]] >= least
        ]

    def _opening_says_it(self) -> bool:
        """True when the opening has just told length and angle of what a single deed did."""
        found = self.facts.contrast
        nearly = found.angle < SAME_DIRECTION and abs(found.ratio - 1.0) < SAME_LENGTH
        return self.facts.size > 1 and not nearly

    def _deed(self, deed: Deed, told_already: bool = False) -> str:
        """'momentum: it turned the step by 50 degrees and made it 2.3 times as long (it mixes in ...)'; only the
        reason where the effect has been ``told_already``.
        """
        name, effect = self._parts(deed)
        reason = self.clauses.reason(deed)
        if told_already and reason:
            return f"{name}: {reason}"
        told = self.say("{0}: together they {1}" if len(deed.rows) > 1 else "{0}: it {1}", name, effect)
        return f"{told} ({reason})" if reason else told

    def _parts(self, deed: Deed) -> tuple[str, str]:
        return self.names(deed.rows), self.clauses.effect(deed)


def _bad_count(vector: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    return int(np.count_nonzero(~np.isfinite(vector)))
