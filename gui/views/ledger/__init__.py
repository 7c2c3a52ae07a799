"""The ledger of the step shown: waterfall, table and story."""

from gui.views.ledger.view import LedgerView as LedgerView
