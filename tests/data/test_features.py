"""Random features on demand: their means, rows against columns, linear solvers over them."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from skimlearn import SublinearSVC, fourier_features, sketch_features

X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("count", [2, 10, 600])
def test_rows_and_columns_of_fourier_features_agree(count):
    features = fourier_features(X, count, gamma=0.4, cache_bytes=0)
    table = np.array([features.row(i) for i in range(40)])
    np.testing.assert_allclose(np.linalg.norm(table, axis=1), 1.0)
    for j in {0, 1, count // 2, count - 1}:
        np.testing.assert_allclose(features.column(j), table[:, j], atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("coef0", [0.0, 0.5])
def test_rows_and_columns_of_sketches_agree(degree, coef0):
    features = sketch_features(X, 11, degree=degree, gamma=0.5, coef0=coef0, cache_bytes=0)
    table = np.array([features.row(i) for i in range(40)])
    for j in range(11):
        np.testing.assert_allclose(features.column(j), table[:, j], atol=1e-12)


def test_products_have_the_kernel_as_their_mean():
    features = fourier_features(X, 20_000, gamma=0.4)
    table = np.array([features.row(i) for i in range(10)])
    np.testing.assert_allclose(table @ table.T, rbf_kernel(X[:10], gamma=0.4), atol=0.04)
    mean = 0.0
    for seed in range(400):
        features = sketch_features(X[:6], 64, degree=2, coef0=1.0, seed=seed)
        table = np.array([features.row(i) for i in range(6)])
        mean = mean + table @ table.T / 400
    exact = polynomial_kernel(X[:6], degree=2, gamma=1.0, coef0=1.0)
    size = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert (np.abs(mean - exact) <= 4.0 * np.sqrt(3.0 / (64 * 400)) * size).all()


def test_a_linear_solver_over_lazy_features():
    y = np.where((X**2).sum(axis=1) < 2.5, 1, -1)
    features = fourier_features(X, 6000, gamma=0.5)
    model = SublinearSVC(
        kappa=0.3, eps=0.1, mode="monte-carlo", bias="none", max_steps=150, random_state=0
    )
    with pytest.warns(UserWarning, match="after max_steps=150"):
        model.fit(features, y)
    scores = np.array([features.row(i) for i in range(40)]) @ model.coef_[0]
    assert (np.sign(scores) == y).mean() >= 0.8
    assert features.reads <= 150 * 40 + 40 * 6000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fourier_features(X, 3, gamma=1.0), "count=3 must be even"),
        (lambda: fourier_features(X, 0, gamma=1.0), "count=0 must be positive"),
        (lambda: fourier_features(X, 2, gamma=-1.0), r"gamma=-1.0 must be positive"),
        (lambda: fourier_features(X[0], 2, gamma=1.0), "must have two dimensions"),
        (lambda: fourier_features(X * np.nan, 2, gamma=1.0), "finite entries"),
        (lambda: sketch_features(np.ones((2, 2000)), 8, degree=3), "lower the degree"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()
