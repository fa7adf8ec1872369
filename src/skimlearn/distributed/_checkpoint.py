"""Checkpoints of a distributed fit: all that the client needs to go on, in one file.

A safetensors file (`skimlearn.data.tensors`) that takes its name when all of it is on the disk. It
fits a fit with the same problem and the same partitions; anything else is refused.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._replacing import as_path, replacing
from skimlearn.data.tensors import ModelError, parse_json, read_tensors, version, write_tensors
from skimlearn.distributed._pieces import Spec

__all__ = ["Checkpoint"]

KEY = "skimlearn.cluster"
FORMAT = 2


class Checkpoint:
    """A file that holds the state of one fit.

    Examples
    --------
    >>> Checkpoint("state", resume=True, settings={}).resumes  # there is no such file
    False
    """

    def __init__(self, path: Any, *, resume: bool, settings: dict[str, str]) -> None:
        self.path, self.resume, self.settings = as_path(path), resume, settings

    @property
    def resumes(self) -> bool:
        """Whether there is a state to go on from."""
        return self.resume and os.path.exists(self.path)

    def part(self, k: int) -> Checkpoint:
        """That of the k-th problem of several."""
        return Checkpoint(f"{self.path}.{k}", resume=self.resume, settings=self.settings)

    def write(self, spec: Spec, partitions: int, arrays: dict[str, NDArray[Any]]) -> None:
        """Put the state into the place of the former one."""
        text = json.dumps(self._description(spec, partitions) | {"version": version()})
        with replacing(self.path) as file:
            write_tensors(file, arrays, {KEY: text})

    def read(self, spec: Spec, partitions: int, numbers: int) -> dict[str, NDArray[Any]]:
        """The state, with so many numbers; a `ModelError` if it is that of another fit."""
        arrays, metadata = read_tensors(self.path)
        if KEY not in metadata:
            raise ModelError(f"{self.path}: the file has arrays, but no checkpoint of a cluster")
        found = parse_json(metadata[KEY], "the description")
        for name, value in self._description(spec, partitions).items():
            if found.get(name) != value:
                raise ModelError(
                    f"{self.path}: the checkpoint has {name}={found.get(name)!r}, and this fit has "
                    f"{value!r}: resume with the same, or remove the file"
                )
        sizes = [len(arrays.get(f"a.{k}", ())) for k in range(partitions)]
        right = len(arrays.get("theta", ())) == spec.d and sum(sizes) == spec.n
        right = right and len(arrays.get("numbers", ())) == numbers
        # before the first round there is no value yet: it is infinite
        finite = [np.isfinite(array).all() for name, array in arrays.items() if name != "numbers"]
        if not right or not all(finite) or np.isnan(arrays["numbers"]).any():
            raise ModelError(f"{self.path}: the arrays are not those of this fit: remove the file")
        return arrays

    def _description(self, spec: Spec, partitions: int) -> dict[str, Any]:
        return {
            "format": FORMAT, "rows": spec.n, "columns": spec.d, "partitions": partitions,
            "loss": repr(spec.loss), "regularizer": repr(spec.regularizer), "alpha": spec.alpha,
            "bias": spec.bias, "positive": repr(spec.positive), "column": spec.column,
            "mean_weight": spec.mean_weight,
            **self.settings,
        }  # fmt: skip
