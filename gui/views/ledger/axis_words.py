"""What the axis under the waterfall measures, in words."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QCoreApplication

from gui.views.ledger.step import LedgerStep


def tr(text: str) -> str:
    """Translation of a text of the ledger view."""
    return QCoreApplication.translate("LedgerView", text)


def axis_words(step: LedgerStep, component: str, *, symlog: bool) -> str:
    """The words for the measure of ``step``; ``component`` is the name of the only weight, where there is one."""
    text = _measured(step, component)
    return text + tr(", symmetric log scale") if symlog else text


def _measured(step: LedgerStep, component: str) -> str:
    if step.measure == "value":
        return tr("change of {0}").format(component)
    if step.measure == "length":
        return tr("length of the step")
    if step.measure == "size":
        return tr("length of each contribution")
    along = step.measure == "along"
    if not step.fall.fallback:
        return tr("length along −lr·g") if along else tr("length across −lr·g")
    if np.isfinite(step.expected).all():
        return tr("along the applied step (−lr·g is zero)") if along else tr("across the applied step (−lr·g is zero)")
    # the applied step may be finite all the same, where a cause cuts off what is not
    if not np.isfinite(step.applied).all():
        return tr("no direction: −lr·g is not finite")
    if along:
        return tr("along the applied step (−lr·g is not finite)")
    return tr("across the applied step (−lr·g is not finite)")
