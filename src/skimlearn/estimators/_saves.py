"""What makes an estimator one that can be saved."""

from __future__ import annotations

from typing import Any

__all__ = ["Saves"]


class Saves:
    """The method `save`; the format is that of `saving`."""

    def save(self, path: Any) -> None:
        """Write the fitted model to a file that `skimlearn.load` reads, a safetensors file.

        It holds the parameters, the fitted attributes and the results with their certificates, as
        numbers and texts: no code, and no data but the support rows of a kernel. The dual variables
        of the rows are stored if ``warm_start`` is set. The file replaces a former one of that name
        when it is complete.

        Parameters
        ----------
        path : str or PathLike
            Where to; ``.safetensors`` is the usual end of the name.
        """
        from skimlearn.estimators.saving import save  # which knows the classes that can be saved

        save(self, path)
