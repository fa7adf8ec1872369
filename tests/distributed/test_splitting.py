"""Rows dealt out to a folder of stores."""

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import StoreError
from skimlearn.distributed.splitting import write_partitions


@pytest.mark.parametrize("sparse", [False, True])
def test_every_row_is_in_one_store(tmp_path, sparse):
    X = np.random.default_rng(0).standard_normal((11, 3))
    X[:, 2] = 0.0
    y = np.array(["a", "b"] * 5 + ["c"])
    stores = write_partitions(
        tmp_path / "parts", sp.csr_matrix(X) if sparse else X, y, partitions=3
    )
    assert [store.path.name for store in stores] == ["part-0", "part-1", "part-2"]
    for k, store in enumerate(stores):
        rows = store[:]
        np.testing.assert_array_equal(rows.toarray() if sparse else rows, X[k::3])
        np.testing.assert_array_equal(store.y, y[k::3])
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]  # nothing else is left


def test_what_is_there_is_not_replaced_and_failures_leave_nothing(tmp_path):
    write_partitions(tmp_path / "parts", np.eye(4), partitions=2)
    with pytest.raises(StoreError, match="exists"):
        write_partitions(tmp_path / "parts", np.eye(4), partitions=2)
    with pytest.raises(ValueError, match="more than the 4 rows"):
        write_partitions(tmp_path / "others", np.eye(4), partitions=5)
    with pytest.raises(ValueError, match="partitions=0"):
        write_partitions(tmp_path / "others", np.eye(4), partitions=0)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
