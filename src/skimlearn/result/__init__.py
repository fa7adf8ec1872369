"""What a solver is given (`Budget`) and what it returns (`Result`)."""

from __future__ import annotations

from skimlearn.result._answer import Result, StreamResult
from skimlearn.result._budget import Budget, Status
from skimlearn.result._certificate import Certificate
from skimlearn.result._history import Progressive, Record

__all__ = ["Budget", "Certificate", "Progressive", "Record", "Result", "Status", "StreamResult"]
