"""Batches of a table as rows of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._table_files import TableError, told
from skimlearn.data._table_plan import Plan

__all__ = ["Encoder"]

NO_VALUE = "a value is missing: drop the row, or set missing to a number to put there"


class Encoder:
    """Turns batches into dense rows or CSR rows, as planned.

    Parameters
    ----------
    path : str
        The file, for errors.
    missing : float or None
        What is put where a number is missing; None: nothing may be missing.
    """

    def __init__(self, path: str, missing: float | None) -> None:
        self.path, self.missing = path, missing

    def rows(self, batch: Any, plan: Plan, done: int) -> Any:
        """The rows of a batch behind so many others."""
        dense = self._dense(batch, plan, done)
        if not plan.sparse:
            return dense
        import scipy.sparse as sp

        blocks = [sp.csr_matrix(dense)] if plan.numbers else []
        if plan.choices:
            blocks.append(self._one_hot(batch, plan, done))
        for name, buckets in plan.hashed.items():
            blocks.append(self._hashed(batch, name, buckets, plan.dtype, done))
        for name, buckets in plan.texts.items():
            blocks.append(self._text(batch, name, buckets, plan.dtype, done))
        return sp.csr_matrix(sp.hstack(blocks, format="csr", dtype=plan.dtype))

    # ------------------------------------------------------------------------------------- numbers

    def _dense(self, batch: Any, plan: Plan, done: int) -> NDArray[Any]:
        found = np.empty((batch.num_rows, len(plan.numbers)), plan.dtype)
        for j, name in enumerate(plan.numbers):
            values = self.numbers(batch.column(name), name, done)
            empty = np.isnan(values)
            if empty.any():
                self._may_lack(name, done, empty)
                values = np.where(empty, float(self.missing or 0.0), values)
            with np.errstate(over="ignore"):
                found[:, j] = values
            fine = np.isfinite(found[:, j])
            if not fine.all():
                i = int(np.argmin(fine))
                raise TableError(
                    f"it holds {values[i]}: scale, clip or drop it", self.path, name, done + i
                )
        return found

    def numbers(self, array: Any, name: str, done: int) -> NDArray[Any]:
        """A column as floats, nan where there is no value."""
        import pyarrow as pa

        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        wanted = pa.float32() if array.type == pa.float32() else pa.float64()
        try:
            array = array.cast(wanted, safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            for i, value in enumerate(array):
                try:
                    value.cast(wanted)
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                    problem = f"{str(value)[:40]!r} is no number"
                    raise TableError(problem, self.path, name, done + i) from error
            raise TableError(f"{array.type} are no numbers", self.path, name) from error
        return np.asarray(array.to_numpy(zero_copy_only=False))

    def _may_lack(self, name: str, done: int, empty: NDArray[np.bool_]) -> None:
        if self.missing is None and empty.any():
            raise TableError(NO_VALUE, self.path, name, done + int(np.argmax(empty)))

    # ---------------------------------------------------------------------------------- categories

    def words(self, batch: Any, name: str, done: int) -> tuple[list[str | None], NDArray[Any]]:
        """The different values of a column as text, and which each row has; -1: none."""
        import pyarrow as pa

        array = batch.column(name)
        with told(self.path):
            if not pa.types.is_dictionary(array.type):
                array = array.dictionary_encode()
            words = array.dictionary.cast(pa.large_string()).to_pylist()
            index = array.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        lacks = np.array([word is None for word in (*words, None)])  # the last: for -1
        empty = lacks[index]
        self._may_lack(name, done, empty)
        return words, np.where(empty, -1, index)

    def codes(
        self, batch: Any, name: str, done: int, places: dict[str | None, int]
    ) -> NDArray[np.int64]:
        """The place of the value of each row, or -1."""
        words, index = self.words(batch, name, done)
        known = np.array([*(places.get(word, -1) for word in words), -1], dtype=np.int64)
        return known[index]

    def _one_hot(self, batch: Any, plan: Plan, done: int) -> Any:
        codes = np.empty((batch.num_rows, len(plan.choices)), np.int64)
        width = 0
        for j, (name, values) in enumerate(plan.choices.items()):
            places: dict[str | None, int] = {value: width + k for k, value in enumerate(values)}
            codes[:, j] = self.codes(batch, name, done, places)
            width += len(values)
        there = codes >= 0
        starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        indices = codes[there].astype(np.int32)
        ones = np.ones(len(indices), plan.dtype)
        from scipy.sparse import csr_matrix

        return csr_matrix((ones, indices, starts), shape=(batch.num_rows, width))

    # -------------------------------------------------------------------------------------- hashes

    def _hashed(self, batch: Any, name: str, buckets: int, dtype: Any, done: int) -> Any:
        from sklearn.feature_extraction import FeatureHasher

        words, index = self.words(batch, name, done)
        hasher = FeatureHasher(buckets, input_type="string", dtype=dtype)
        rows = hasher.transform([[] if word is None else [word] for word in (*words, None)])
        return rows[index]  # the last is empty, for rows without a value

    def _text(self, batch: Any, name: str, buckets: int, dtype: Any, done: int) -> Any:
        import pyarrow as pa
        from sklearn.feature_extraction.text import HashingVectorizer

        array = batch.column(name)
        with told(self.path):
            if pa.types.is_dictionary(array.type):
                array = array.dictionary_decode()
            texts = array.cast(pa.large_string()).to_pylist()
        empty = np.array([text is None for text in texts], dtype=bool)
        self._may_lack(name, done, empty)
        hasher = HashingVectorizer(n_features=buckets, dtype=dtype)
        return hasher.transform([text or "" for text in texts])
