"""Pictures for matplotlib, after the pattern of scikit-learn's displays.

A display is made by one of its functions ``from_...``, which also draws it; ``plot`` draws it
again, into other axes or in another style. What was drawn is at hand in ``ax_``, ``figure_`` and
``lines_``.
"""

from skimlearn.report._convergence import ConvergenceDisplay
from skimlearn.report._margins import MarginDisplay
from skimlearn.report._paths import PathDisplay

__all__ = ["ConvergenceDisplay", "MarginDisplay", "PathDisplay"]
