"""Sums of outer products against plain arrays."""

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn.data import gram
from skimlearn.data._tiles import BLOCK, narrow_gram
from skimlearn.data.inspection import as_rows
from skimlearn.data.rows import Dense


def example(n, d, kept=0.5):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < kept)
    c = rng.random(n) * (rng.random(n) < 0.9)
    wide = np.hstack([X, np.ones((n, 1))])
    return X, c, np.tril(wide.T @ (c[:, None] * wide))


@pytest.mark.parametrize("d", [1, 3, 7, 60, 100])  # in tiles, the last in blocks
def test_sums_of_squares_of_rows_in_blocks_and_one_by_one(d):
    X, c, expected = example(5000, d)
    for rows in (as_rows(X), as_rows(X.astype(np.float32)), as_rows(sp.csr_array(X))):
        out = np.ones((d + 1, d + 1), order="F")
        gram.gram(rows, c, out)
        np.testing.assert_allclose(
            np.tril(out) - np.tril(np.ones((d + 1, d + 1))), expected,
            atol=1e-2 if rows.values.itemsize == 4 else 1e-8,
        )  # fmt: skip
    out = np.zeros((d + 1, d + 1))
    gram._sparse_gram(as_rows(sp.csr_array(X)), c, d + 1, out.reshape(-1), c[:0], c[:0], True)
    np.testing.assert_allclose(np.triu(out), expected.T, rtol=1e-9, atol=1e-9)
    for rows in (as_rows(X), as_rows(sp.csr_array(X * (np.arange(d) % 9 == 0)))):
        out, again = np.zeros((2, d + 1, d + 1)).transpose(0, 2, 1)
        gram.gram(rows, c, out, ones=False)
        gram.gram(rows, c, again)
        np.testing.assert_allclose(np.tril(out)[:d, :d], np.tril(again)[:d, :d], atol=1e-9)


@pytest.mark.pure_python
@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, BLOCK + 1])
def test_tiles_at_the_end_of_a_block(n):
    X, c, expected = example(n, 3)
    for rows in (as_rows(X), as_rows(sp.csr_array(X))):
        out, total = np.zeros((4, 4), order="F"), np.ones(3)
        narrow_gram(rows, c, out, 2.0 * c, total)
        np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(total, 1.0 + 2.0 * c @ X, rtol=1e-10)


def test_a_combination_of_the_rows_beside_the_sum_of_squares():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 30)) * (rng.random((3000, 30)) < 0.1)
    c, a = rng.random(3000), rng.normal(size=3000)
    c[::7] = a[::5] = 0.0
    expected = np.zeros((31, 31), order="F")
    gram.gram(as_rows(X), c, expected)
    for rows in (as_rows(X), as_rows(sp.csr_array(X))):
        out, total = np.zeros((31, 31), order="F"), np.ones(30)
        gram.gram(rows, c, out, a, total)
        np.testing.assert_allclose(np.tril(out), np.tril(expected), rtol=1e-10)
        np.testing.assert_allclose(total, 1.0 + a @ X, rtol=1e-10)


def test_rows_that_do_not_count_are_not_multiplied():
    """Of a loss with kinks most rows have no weight: they must not cost what the others do."""
    rng = np.random.default_rng(2)
    X, c = rng.normal(size=(5000, 9)), np.zeros(5000)
    c[::50] = rng.random(100)
    wide = np.hstack([X, np.ones((5000, 1))])[::50]
    X[1::2] = np.nan  # what is multiplied, if by zero, is seen
    out = np.zeros((10, 10), order="F")
    gram.gram(Dense(X), c, out)
    np.testing.assert_allclose(np.tril(out), np.tril(wide.T @ (c[::50, None] * wide)), rtol=1e-10)
    out, total = np.zeros((10, 10), order="F"), np.zeros(9)
    a = np.zeros(5000)
    a[10] = 1.0
    X[1::2] = 0.0  # these are added, times zero
    gram.gram(Dense(X), np.zeros(5000), out, a, total)
    assert not out.any()
    np.testing.assert_array_equal(total, X[10])
