"""What is read from quadratic programs: shortest vectors, margins, support vector machines."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from simplex_reference import exact_qp
from skimlearn import Oracle, Status
from skimlearn.solvers.reductions import hard_margin, l2_svm, shortest_vector


def classes(seed, n=60, d=5):
    """Two classes that can be parted, with room between them."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, d))
    X += np.outer(np.sign(X @ w) * 0.3, w)
    return X, np.sign(X @ w)


def forms(X):
    return (
        X,
        sp.csr_array(X),
        X.astype(np.float32),
        Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j]),
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_shortest_vector(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(30, 4)) + rng.normal(size=4)
    p = exact_qp(A, np.zeros(30))
    result = shortest_vector(A, eps=1e-7, random_state=seed)
    np.testing.assert_allclose(result.x, A.T @ p, atol=1e-3)
    assert result.certificate.primal == pytest.approx(((A.T @ p) ** 2).sum(), abs=1e-6)


@pytest.mark.parametrize("beta", [0.0, 0.8])
@pytest.mark.parametrize("seed", range(10))
def test_the_hard_margin(seed, beta):
    X, y = classes(seed)
    A = y[:, None] * (np.c_[X, np.full(len(X), beta)] if beta else X)
    margin = np.linalg.norm(A.T @ exact_qp(A, np.zeros(len(A))))
    result = hard_margin(X, y, eps=1e-7, beta=beta, random_state=seed)
    certificate = result.certificate
    assert certificate.primal - 1e-9 <= margin <= certificate.dual + 1e-9
    assert certificate.gap < 1e-5
    # the direction has at least the margin of the certificate, and unit length
    reached = (y * (X @ result.x + result.bias)).min()
    assert certificate.primal - 1e-9 <= reached <= margin + 1e-9
    length = np.hypot(np.linalg.norm(result.x), result.bias / beta if beta else 0.0)
    assert length == pytest.approx(1.0)


def test_a_loose_margin_is_still_one_that_the_direction_has():
    X, y = classes(3)
    for form in forms(X):
        result = hard_margin(form, y, eps=0.05, beta=0.5, random_state=0)
        reached = (y * (X @ result.x + result.bias)).min()
        assert result.certificate.primal <= reached + 1e-6 <= result.certificate.dual + 1e-5


def test_classes_that_cannot_be_parted_have_no_margin():
    X = np.array([[1.0], [-1.0], [2.0]])
    result = hard_margin(X, [1, 1, -1], eps=1e-6, random_state=0)
    assert result.certificate.primal == 0.0
    assert result.certificate.dual < 1e-2


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_l2_svm(seed, bias):
    rng = np.random.default_rng(seed)
    n, d, C = 50, 5, 10.0 ** rng.integers(-1, 2)
    X = rng.normal(size=(n, d))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))

    def objective(v):
        slack = np.maximum(0.0, 1.0 - y * (X @ v[:d] + (v[d] if bias else 0.0)))
        return 0.5 * (v @ v) + 0.5 * C * (slack @ slack)

    best = minimize(objective, np.zeros(d + bias), method="BFGS", options={"gtol": 1e-7})
    result = l2_svm(X, y, C=C, bias=bias, eps=1e-7, random_state=seed)
    certificate = result.certificate
    v = np.r_[result.x, result.bias] if bias else result.x
    np.testing.assert_allclose(v, best.x, atol=2e-4 * np.abs(best.x).max())
    assert objective(v) == pytest.approx(certificate.primal)
    assert certificate.dual <= best.fun * (1 + 1e-9) <= certificate.primal * (1 + 2e-9)
    assert certificate.gap <= 1e-4 * best.fun
    # p are the multipliers: slack is alpha / C
    slack = np.maximum(0.0, 1.0 - y * (X @ result.x + result.bias))
    np.testing.assert_allclose(result.p / C, slack, atol=1e-3)


def test_the_l2_svm_of_all_kinds_of_data():
    X, y = classes(1)
    for form in forms(X):
        result = l2_svm(form, y, C=0.1, eps=0.5, random_state=0)
        assert result.status is Status.CONVERGED
        slack = np.maximum(0.0, 1.0 - y * (X @ result.x + result.bias))
        value = 0.5 * (result.x @ result.x + result.bias**2) + 0.05 * (slack @ slack)
        assert result.certificate.primal == pytest.approx(value, rel=1e-5)
        assert result.certificate.dual <= value
        assert result.reads.certificate > 0 or isinstance(form, Oracle)  # which may know all
    free = l2_svm(X, y, C=0.1, eps=0.5, mode="monte-carlo", random_state=0)
    assert free.certificate.primal == np.inf
    assert free.reads.certificate == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: hard_margin(X, [0, 1]), "labels must be"),
        (lambda X: hard_margin(X, [1]), r"y has shape \(1,\)"),
        (lambda X: hard_margin(X, [1, -1], beta=-1.0), "beta=-1.0"),
        (lambda X: l2_svm(X, [1, -1], C=0.0), "C=0.0"),
        (lambda X: l2_svm(Oracle((2, 2), entry=lambda i, j: 1.0), [1, 2]), "labels must be"),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call([[0.0, 1.0], [1.0, 0.0]])
