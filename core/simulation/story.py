"""What one step did, in sentences: how long and how turned it is next to -lr*g, which cause did what, what was lost.

``story`` gives plain text, ``story_html`` the same with causes in their colours. Everything said is worked out from
the recorded numbers of the step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.simulation.contrast import Contrast, angle_between, norm
from core.simulation.history import History
from core.simulation.step_facts import Deed, StepFacts
from core.simulation.wording import EXPECTED, REASONS, Translate, capital, degrees, factor, mark, number, plain, rich

WORTH_TELLING = 0.2
"""Besides the largest cause, those with this share of its length, or of the step they acted on."""
_SAME_LENGTH = 0.005
_SAME_DIRECTION = 0.5


def story(history: History, step: int, *, storage: str = "", translate: Translate = str) -> str:
    """The sentences about step ``step`` as plain text.

    ``storage`` names the type weights are stored in ('float16'), where known; ``translate`` turns each template
    into another language. IndexError for a step the history does not hold.
    """
    return plain(" ".join(sentences(history, step, storage, translate)))


def story_html(
    history: History,
    step: int,
    color_of: Callable[[str], str],
    *,
    storage: str = "",
    translate: Translate = str,
) -> str:
    """The same as rich text. ``color_of`` gives a colour for 'computed', 'applied', 'warning' and for each cause."""

    return rich(" ".join(sentences(history, step, storage, translate)), color_of)


def sentences(history: History, step: int, storage: str = "", translate: Translate = str) -> list[str]:
    """The sentences with their marked pieces, most important first."""
    return _Teller(StepFacts.of(history, step), storage, translate).tell()


class _Teller:
    """Tells one step. Templates pass through ``self.say`` so that they can be translated."""

    def __init__(self, facts: StepFacts, storage: str, translate: Translate) -> None:
        self.facts = facts
        self.storage = storage if storage not in ("", "variable") else ""
        self.translate = translate
        self.expected = mark("computed", EXPECTED)
        self.applied = mark("applied", translate("the applied step"))

    def say(self, template: str, *values: object) -> str:
        return self.translate(template).format(*values)

    def tell(self) -> list[str]:
        facts = self.facts
        told = [self.say("Step {0}:", facts.step)]
        if facts.skipped:
            return [*told, *self._skipped()]
        if not facts.finite:
            return [*told, *self._broken()]
        difference = facts.contrast
        if difference.expected_norm == 0.0:
            told += self._nothing_expected(difference)
        elif difference.applied_norm == 0.0:
            told += self._nothing_applied()
        else:
            told += self._opening(difference)
            told += self._deeds()
            told += self._variable()
            told += self._flips()
        told += self._lost()
        told += self._runaway()
        return told

    # steps that are no steps -------------------------------------------------------------------------------------

    def _skipped(self) -> list[str]:
        facts = self.facts
        guard = facts.causes.index("guard") if "guard" in facts.causes else None
        who = self._name(guard) if guard is not None else self.translate("a guard")
        bad = _bad_count(facts.gradient)
        why = (
            self.say("{0} of {1} components of the gradient are inf or nan", bad, facts.size)
            if bad
            else self.translate("it found a value it does not let through")
        )
        return [
            self.say(
                "this step was {0}. {1} stopped it: {2}.", mark("warning", self.translate("skipped")), capital(who), why
            ),
            self.translate("No weight changed, and neither averages nor the schedule moved on."),
        ]

    def _broken(self) -> list[str]:
        facts = self.facts
        diverged = mark("warning", self.translate("the run has diverged"))
        bad = _bad_count(facts.gradient)
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
            told.append(self.say("The first to go wrong was {0}.", self._name(facts.first_broken_row)))
        told.append(self.translate("Go back before it and lower the learning rate, or clip the gradient."))
        return told

    def _broken_inside(self) -> list[str]:
        """inf or nan somewhere in the chain, of which nothing reached the weights."""
        row = self.facts.first_broken_row
        who = capital(self._name(row)) if row is not None else self.translate("The chain")
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
            return [start, self.translate("Nothing moved.")]
        told = [start, self.say("Yet the weights moved by {0}.", mark("strong", number(difference.applied_norm)))]
        if facts.deeds:
            told.append(self.say("That is {0}.", self._deed(facts.deeds[0])))
        return told

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
        who = capital(self._name(zeroing))
        if facts.causes[zeroing] == "accumulation":
            told.append(self.say("{0} put the gradient aside until enough of them are collected.", who))
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
            return [self.say("nothing happened on the way: the step is {0} {1}.", self.expected, exact)]
        if facts.size == 1:
            return self._scalar_opening()
        ratio, angle = difference.ratio, difference.angle
        same_length = abs(ratio - 1.0) < _SAME_LENGTH
        if angle < _SAME_DIRECTION:
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
        told = [
            self.say(
                "{0} is {1}, but {2} is {3}.",
                self.expected,
                mark("strong", number(expected)),
                self.applied,
                mark("strong", number(applied)),
            )
        ]
        rate = facts.base_rate
        if rate > 0.0 and rate != 1.0:
            parts = [self.say("expected {0} lr", number(expected / rate))]
            for deed in sorted(facts.deeds, key=lambda deed: deed.first):
                amount = float(facts.rows[list(deed.rows), 0].sum())
                parts.append(f"{self._names(deed.rows)} {amount / rate:+.4g} lr")
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
            told = [self.say("All of the difference is the work of {0}.", self._deed(largest))]
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
            self.say("{0} cancel each other in this step.", capital(self._names(rows)))
            for rows in self.facts.pairs
            if self.facts.sizes[rows[0]] >= least
        ]

    def _deed(self, deed: Deed) -> str:
        """'momentum: it turned the step by 50 degrees and made it 2.3 times as long (it mixes in ...)'."""
        name, effect = self._parts(deed)
        if len(deed.rows) > 1:
            return self.say("{0}: together they {1}", name, effect)
        reason = self._reason(deed.first)
        told = self.say("{0}: it {1}", name, effect)
        return f"{told} ({reason})" if reason else told

    def _parts(self, deed: Deed) -> tuple[str, str]:
        return self._names(deed.rows), self._effect(deed)

    def _names(self, rows: tuple[int, ...]) -> str:
        if len(rows) == 1:
            return self._name(rows[0])
        return self.say("{0} and {1}", self._name(rows[0]), self._name(rows[1]))

    def _name(self, row: int) -> str:
        return mark(f"cause:{self.facts.causes[row]}", self.facts.labels[row])

    def _effect(self, deed: Deed) -> str:
        """What happened to the step as it came to these rows."""
        before, after = self.facts.sums[deed.first], self.facts.sums[deed.last + 1]
        length_before, length_after = norm(before), norm(after)
        if length_before == 0.0:
            return self.say("made a step of length {0} where there was none", number(length_after))
        if length_after == 0.0:
            return self.translate("took all of the step away")
        ratio, turn = length_after / length_before, angle_between(before, after)
        if turn < _SAME_DIRECTION:
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
        if abs(ratio - 1.0) < _SAME_LENGTH:
            return self.say("changed the step by {0} of its length", factor(change))
        if ratio < 1.0:
            told = self.say("shortened the step to {0} of its length", factor(ratio))
        else:
            told = self.say("made the step {0} times as long", factor(ratio))
        return told if self.facts.size == 1 else self.say("{0}, its direction kept", told)

    def _reason(self, row: int) -> str:
        """Why, in one clause."""
        facts = self.facts
        cause = facts.causes[row]
        if cause == "clipping":
            return self._clipping_reason()
        if cause == "learning rate":
            if facts.rate == facts.base_rate or facts.causes.count(cause) > 1:
                return ""
            return self.say("the schedule gives {0} here, not {1}", number(facts.rate), number(facts.base_rate))
        if cause == "rounding":
            if self.storage:
                return self.say("the weights are stored as {0}", self.storage)
            return self.translate("the stored numbers are no finer than that")
        return self.translate(REASONS.get(cause, ""))

    def _clipping_reason(self) -> str:
        facts = self.facts
        length, shrink = facts.figures.get("gradient_norm"), facts.figures.get("clip_factor")
        alone = facts.causes.count("clipping") == 1
        if alone and length is not None and shrink is not None and 0.0 < shrink < 1.0:
            return self.say("a norm of {0} was over the limit of {1}", number(length), number(length * shrink))
        return self.translate("the gradient was over the limit")

    # what else is worth saying -----------------------------------------------------------------------------------

    def _variable(self) -> list[str]:
        """Where the difference lies, when one of several variables has most of it."""
        name, share = self.facts.main_variable()
        if not name or share < 0.7 or not self.facts.deeds:
            return []
        amount = self.translate("Nearly all") if share > 0.995 else f"{100.0 * share:.0f} %"
        return [self.say("{0} of the difference is in {1}.", amount, mark("strong", name))]

    def _flips(self) -> list[str]:
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
        return [self.say("{0}, mostly because of {1}.", told, self._name(guilty))]

    def _lost(self) -> list[str]:
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
                    "{0} swallowed the whole update of {1}: it is less than half the gap to the next number.", who, size
                )
            ]
        return [
            self.say(
                "{0} swallowed the updates of {1} of {2} weights (up to {3}): each is less than half the gap to the "
                "next number.",
                who,
                lost,
                facts.size,
                size,
            )
        ]

    def _runaway(self) -> list[str]:
        growth = self.facts.runaway
        if growth is None:
            return []
        first, steps = growth
        return [
            self.say(
                "{0}: in the last {1} steps the loss has grown from {2} to {3}.",
                mark("warning", self.translate("The run is diverging")),
                steps,
                number(first),
                number(self.facts.loss),
            )
        ]


def _bad_count(vector: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    return int(np.count_nonzero(~np.isfinite(vector)))
