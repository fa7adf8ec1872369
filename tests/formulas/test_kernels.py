"""Kernels: tables against plain formulas, names, and kernels of a user."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from skimlearn import kernels
from skimlearn.formulas.kernels import Gaussian, Kernel, Linear, Polynomial, resolve

X = np.random.default_rng(0).normal(size=(9, 4))
Z = np.random.default_rng(1).normal(size=(7, 4))
ALL = [Linear(), Polynomial(1.0, 0.5, 0.0), Polynomial(3.0, 0.5, 1.0), Gaussian(0.3)]


def table(kernel, dtype=np.float64):
    products = (X @ Z.T).astype(dtype)
    kernel.fill(products, (X * X).sum(1), (Z * Z).sum(1))
    return products


@dataclass(frozen=True)
class Cauchy(Kernel):
    width: float = 1.0

    def similarity(self, product, left, right):
        return 1.0 / (1.0 + max(left + right - 2.0 * product, 0.0) / self.width**2)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    def similarity(self, product, left, right):
        return math.tanh(product - 1.0)


@dataclass(frozen=True)
class Lopsided(Kernel):
    def similarity(self, product, left, right):
        return product + left


@dataclass(frozen=True)
class Infinite(Kernel):
    def similarity(self, product, left, right):
        return math.inf


@dataclass(frozen=True)
class Broken(Kernel):
    def similarity(self, product, left, right):
        return undefined_name  # noqa: F821


@pytest.mark.pure_python
@pytest.mark.parametrize("kernel", [*ALL, Cauchy(2.0)], ids=repr)
def test_a_table_is_the_formula_of_each_entry(kernel):
    expected = [[kernel.similarity(x @ z, x @ x, z @ z) for z in Z] for x in X]
    np.testing.assert_allclose(table(kernel), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", [*ALL, Cauchy(2.0)], ids=repr)
def test_float32_stays_float32(kernel):
    single = table(kernel, np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, table(kernel), rtol=1e-4, atol=1e-5)


def test_the_named_kernels_are_those_of_scikit_learn():
    np.testing.assert_allclose(table(resolve("linear")), linear_kernel(X, Z))
    poly = resolve("poly", gamma=0.5, degree=2, coef0=1.0)
    np.testing.assert_allclose(table(poly), polynomial_kernel(X, Z, gamma=0.5, degree=2, coef0=1.0))
    np.testing.assert_allclose(table(resolve("rbf", gamma=0.7)), rbf_kernel(X, Z, gamma=0.7))


def test_words_for_gamma():
    assert resolve("rbf", columns=4, variance=0.5) == Gaussian(gamma=0.5)
    assert resolve("rbf", columns=4, variance=0.0) == Gaussian(gamma=1.0)
    assert resolve("poly", gamma="auto", columns=4) == Polynomial(3.0, 0.25, 0.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel='sigmoid' is not known"),
        ({"kernel": "rbf", "gamma": "wide"}, "gamma='wide' must be a positive number"),
        ({"kernel": "rbf", "gamma": 0.0}, "gamma=0.0 must be positive"),
        ({"kernel": "rbf", "gamma": math.nan}, "gamma=nan must be positive"),
        ({"kernel": "poly", "degree": 2.5}, "degree=2.5 must be a whole number"),
        ({"kernel": "poly", "coef0": -1.0}, "coef0=-1.0 must be finite and not negative"),
        ({"kernel": "rbf", "degree": 2}, "degree=2 has no meaning for kernel='rbf'"),
        ({"kernel": "linear", "gamma": 2.0}, "gamma=2.0 has no meaning for kernel='linear'"),
        ({"kernel": Gaussian(), "gamma": 2.0}, "gamma=2.0 has no meaning"),
        ({"kernel": Sigmoid()}, "not positive semi-definite"),
        ({"kernel": Lopsided()}, "not symmetric"),
        ({"kernel": Infinite()}, "nan or infinite"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        resolve(**parameters)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian, "put parentheses after the class"),
        (3, "must be a name or an instance"),
        (Broken(), "can't be compiled"),
        (Kernel(), "can't be compiled"),
    ],
)
def test_what_is_no_kernel(kernel, message):
    with pytest.raises(TypeError, match=message):
        resolve(kernel)


def test_public_module():
    assert kernels.Gaussian is Gaussian
    assert kernels.resolve(Cauchy()) == Cauchy()
