"""What travels from the workers to the client: a vector and some numbers, to be added up.

A vector with few entries is sent as these entries where that is shorter by half; finding them
takes time, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Parcel", "added"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Parcel:
    """A sum in the making.

    Attributes
    ----------
    width : int
        The length of the vector; 0 if there is none.
    values : ndarray
        All entries of the vector or, if there are ``places``, those that are not zero.
    places : ndarray or None
        Where the values belong.
    numbers : ndarray
        Numbers that are added up as well.
    moved : int
        Bytes of all parcels in the sum.

    Examples
    --------
    >>> parcel = Parcel.of(np.array([0.0, 0.0, 0.0, 5.0]), [1.0])
    >>> parcel.places, parcel.values
    (array([3], dtype=int32), array([5.]))
    >>> added([parcel, parcel]).vector
    array([ 0.,  0.,  0., 10.])
    """

    width: int
    values: Vector
    places: NDArray[Any] | None
    numbers: Vector
    moved: int = field(default=0)

    @classmethod
    def of(cls, vector: Vector | None, numbers: Any = ()) -> Parcel:
        """A parcel with this vector, in the shorter of the two forms, and these numbers."""
        sums = np.atleast_1d(np.asarray(numbers, dtype=np.float64))
        if vector is None:
            return cls(0, np.zeros(0), None, sums, sums.nbytes)
        kind = np.dtype(np.int32 if len(vector) < 2**31 else np.int64)
        count = int(np.count_nonzero(vector))
        if 2 * count * (8 + kind.itemsize) < 8 * len(vector):
            places = np.flatnonzero(vector).astype(kind)
            values = vector[places]
            moved = values.nbytes + places.nbytes + sums.nbytes
            return cls(len(vector), values, places, sums, moved)
        return cls(len(vector), vector, None, sums, vector.nbytes + sums.nbytes)

    @property
    def vector(self) -> Vector:
        """The vector, with its zeros."""
        if self.places is None:
            return self.values
        whole = np.zeros(self.width)
        whole[self.places] = self.values
        return whole


def added(parcels: Sequence[Parcel]) -> Parcel:
    """The sum of parcels, in their order, so that it is the same to the last bit everywhere."""
    first = parcels[0]
    numbers = np.zeros_like(first.numbers)
    vector = np.zeros(first.width) if first.width else None
    for parcel in parcels:
        numbers += parcel.numbers
        if vector is not None:
            if parcel.places is None:
                vector += parcel.values
            else:
                vector[parcel.places] += parcel.values
    total = Parcel.of(vector, numbers)
    moved = sum(parcel.moved for parcel in parcels)
    return Parcel(total.width, total.values, total.places, total.numbers, moved)
