"""Estimates of kernel values: means and second moments against theory, with fixed seeds."""

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn.data.columns import as_matrix
from skimlearn.formulas.kernels import Gaussian, Kernel, Linear, Polynomial
from skimlearn.sampling.kernel_values import KernelEstimator

X = np.random.default_rng(0).normal(size=(12, 6))
X /= np.linalg.norm(X, axis=1, keepdims=True)
X[:4] *= np.linspace(0.3, 0.9, 4)[:, None]  # rows of different lengths, too
DRAWS = 20_000
KERNELS = [
    Linear(),
    Polynomial(1.0, 0.5, 0.5),
    Polynomial(2.0, 1.0, 0.0),
    Polynomial(3.0, 0.8, 0.3),
    Gaussian(0.2),
    Gaussian(0.6),
]


def estimator_of(kernel, data=X):
    dense = data.toarray() if sp.issparse(data) else data
    return KernelEstimator(as_matrix(data), kernel, (dense**2).sum(axis=1))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("i", [1, 7])
def test_mean_and_second_moment(kernel, i):
    estimator, rng = estimator_of(kernel), np.random.default_rng(1)
    draws = np.array([estimator.draw(i, rng) for _ in range(DRAWS)])
    exact = X @ X[i]
    kernel.fill(exact[:, None], (X**2).sum(axis=1), (X[i] @ X[i])[None])
    error = draws.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(draws.mean(axis=0) - exact) <= 4.5 * error + 1e-12).all()
    moments, bound = (draws**2).mean(axis=0), estimator.moments(float(X[i] @ X[i]))
    noise = (draws**2).std(axis=0) / np.sqrt(DRAWS)
    assert (moments <= bound + 4.5 * noise + 1e-12).all()
    columns = estimator.columns / DRAWS
    assert columns == pytest.approx(estimator.expected_columns(float(X[i] @ X[i])), rel=0.03)


def test_the_second_moment_of_a_product_is_attained():
    """E e^2 = ||v||^2 times the squares of u where v is not zero, summed over all draws."""
    v, squares = X[7], (X**2).sum(axis=1)
    law = v * v / (v @ v)
    moments = (law * (X * (v @ v) / v) ** 2).sum(axis=1)
    np.testing.assert_allclose(moments, squares * (v @ v))
    estimator = estimator_of(Polynomial(2.0))
    np.testing.assert_allclose(estimator.moments(float(v @ v)), moments**2)


def test_rows_of_one_length_have_second_moments_of_at_most_one():
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for gamma in (0.1, 1.0, 5.0):
        assert (estimator_of(Gaussian(gamma), unit).moments(1.0) <= 1.0 + 1e-12).all()


def test_sparse_rows_give_the_same_draws():
    sparse = X * (np.random.default_rng(3).random(X.shape) < 0.5)
    for kernel in (Polynomial(2.0), Gaussian(0.5)):
        dense, csr = estimator_of(kernel, sparse), estimator_of(kernel, sp.csr_array(sparse))
        for i in range(12):
            first = dense.draw(i, np.random.default_rng(i))
            np.testing.assert_allclose(csr.draw(i, np.random.default_rng(i)), first)
        assert csr.stored < dense.stored
        assert csr.columns == dense.columns


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2.0, 1.0, 0.5), Gaussian(0.5)])
def test_a_row_of_zeros_is_known_exactly(kernel):
    data = X.copy()
    data[3] = 0.0
    estimator = estimator_of(kernel, data)
    exact = [kernel.similarity(0.0, x @ x, 0.0) for x in data]
    np.testing.assert_allclose(estimator.draw(3, np.random.default_rng(0)), exact)
    assert estimator.columns == 0


def test_which_kernels_have_an_estimator():
    assert KernelEstimator.can(Gaussian())
    assert not KernelEstimator.can(Kernel())
