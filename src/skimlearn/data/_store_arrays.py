"""The arrays of a store: opened, viewed as rows and columns, and checked before they are used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._store_check import differences, fingerprint, is_known, remember, wrong_files
from skimlearn.data._store_folder import former
from skimlearn.data._store_format import Manifest, StoreError, open_array
from skimlearn.data.inspection import Indexed, inspected
from skimlearn.data.rows import Csr, Dense, Rows, frozen

__all__ = ["StoreArrays"]

MOST_OF_TEXT = 0x10FFFF  # the last character of Unicode


class StoreArrays(Indexed):
    """A store as its arrays; `skimlearn.data.store.Store` makes it and gives its rows."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not os.path.lexists(self.path) and former(self.path).is_dir():
            self.path = former(self.path)  # where a replacement was cut off, the old one is whole
        self._manifest = manifest = Manifest.read(self.path)
        self.shape, self.sparse = manifest.shape, manifest.sparse
        self.entries = manifest.entries
        self._arrays: dict[str, NDArray[Any]] = {}
        self._files: dict[str, os.stat_result] = {}
        for name, entry in manifest.arrays.items():
            array, self._files[name] = open_array(self.path, name, entry)
            self._arrays[name] = frozen(array)
        self.dtype = self._arrays["row_values"].dtype
        self._sound: set[str] = set()
        self._y: NDArray[Any] | None = None
        for side in ("row", "column") if self.sparse else ():
            starts = self._arrays[f"{side}_starts"]
            if starts[0] != 0 or starts[-1] != self.entries:
                raise StoreError(
                    self.path, f"{side}_starts.npy goes from {starts[0]} to {starts[-1]}, not from "
                    f"0 to {self.entries}: it was changed; make the store anew",
                )  # fmt: skip

    # --------------------------------------------------------------------------------- the arrays

    @property
    def y(self) -> NDArray[Any] | None:
        """The labels, if there are any; strings if that is what they were."""
        if "classes" not in self._arrays:
            return self._arrays.get("labels")
        if self._y is None:
            if fault := self._fault_of_labels():
                raise StoreError(self.path, f"{fault}; make the store anew")
            self._y = frozen(self._words("classes")[self._arrays["labels"]])
        return self._y

    @property
    def names(self) -> NDArray[np.str_] | None:
        """The names of the columns, if they have any."""
        return self._words("names") if "names" in self._arrays else None

    def _words(self, name: str) -> NDArray[np.str_]:
        """Names or classes, once they are known to be text: NumPy does not look."""
        words = self._arrays[name]
        if name not in self._sound:
            if fault := _fault_of_words(name, words):
                raise StoreError(self.path, f"{fault}; make the store anew")
            self._sound.add(name)
        return words

    @property
    def norms(self) -> NDArray[np.float64]:
        """The Euclidean norms of the rows."""
        return self._arrays["norms"]

    @property
    def means(self) -> NDArray[np.float64]:
        """The means of the columns."""
        return self._arrays["means"]

    def view(self, side: Literal["row", "column"], *, inspect: bool = True) -> Rows:
        """The rows or the columns as kernels read them, inspected unless they are known.

        Parameters
        ----------
        side : {"row", "column"}
            Which of them.
        inspect : bool
            Whether dense data are read once, if need be, to check that they are finite. Sparse data
            are in any case: kernels index memory by them.
        """
        lines = self._lines(side)
        if (inspect or self.sparse) and side not in self._sound:
            if not is_known(self._key(side)) and (fault := inspected(lines)):
                raise StoreError(self.path, f"the {side}s are damaged: {fault}; make it anew")
            self._remember(side)
        return lines

    def _lines(self, side: str) -> Rows:
        values = self._arrays[f"{side}_values"]
        if not self.sparse:
            return Dense(values)
        other, width = ("columns", 1) if side == "row" else ("rows", 0)
        indices = self._arrays[f"{side}_{other}"]
        starts = self._arrays[f"{side}_starts"].view(np.uint64)
        unsigned = indices.view(np.uint32 if indices.itemsize == 4 else np.uint64)
        return Csr(values, unsigned, starts, self.shape[width])

    def _key(self, side: str) -> str:
        names = sorted(name for name in self._files if name.startswith(f"{side}_"))
        return fingerprint((side, *self.shape), (self._files[name] for name in names))

    def _remember(self, *sides: str) -> None:
        for side in sides:
            self._sound.add(side)
            remember(self._key(side))

    # ------------------------------------------------------------------------------------- checks

    def verify(self) -> None:
        """Read everything and compare it with what was written.

        All digests; offsets and indices in order and in range; finite values; the columns against
        the rows, entry by entry; norms and means.

        Raises
        ------
        StoreError
            With all that was found in its ``problems``.
        """
        problems = wrong_files(self.path, self._manifest)
        sides = self._lines("row"), self._lines("column")
        problems += differences(*sides, self.norms, self.means)
        faults = [self._fault_of_labels()]
        for name in {"names", "classes"} & set(self._arrays):
            faults.append(_fault_of_words(name, self._arrays[name]))
        problems += filter(None, faults)
        if problems:
            raise StoreError(self.path, *problems)
        self._remember("row", "column")

    def _fault_of_labels(self) -> str:
        labels, classes = self._arrays.get("labels"), self._arrays.get("classes")
        if labels is not None and not np.isfinite(labels).all():
            return "the labels are not finite"
        if labels is not None and classes is not None:
            least, most = int(labels.min()), int(labels.max())
            if least < 0 or most >= len(classes):
                return f"labels go from {least} to {most}, but there are {len(classes)} classes"
        return ""


def _fault_of_words(name: str, words: NDArray[np.str_]) -> str:
    text = (words.view(np.uint32) <= MOST_OF_TEXT).all()
    return "" if text else f"{name}.npy holds numbers that stand for no character"
