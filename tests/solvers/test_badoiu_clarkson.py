"""Badoiu and Clarkson's ball: against its rule and the exact ball, with exact reads."""

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import Status
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.badoiu_clarkson import badoiu_clarkson
from skimlearn.solvers.frank_wolfe import pairwise_frank_wolfe


@pytest.mark.parametrize("seed", range(30))
def test_bounds_bracket_the_ball_and_close(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 30, size=2)
    A = (rng.normal(size=(n, d)) + 3 * rng.normal(size=d)) * 10.0 ** rng.integers(-2, 3)
    scale = np.sum(A * A, axis=1).max()
    exact = -pairwise_frank_wolfe(A, -np.sum(A * A, axis=1), eps=1e-11 * scale).certificate.primal
    result = badoiu_clarkson(sp.csr_array(A) if seed % 2 else A, limits=Limits(eps=0.01))
    certificate = result.certificate
    assert result.status is Status.CONVERGED
    assert certificate.dual - 1e-9 * scale <= exact <= certificate.primal + 1e-9 * scale
    assert certificate.gap <= 0.01 * certificate.primal
    farthest = np.sum((A - result.x) ** 2, axis=1).max()
    assert farthest == pytest.approx(certificate.primal, abs=1e-12 * scale)
    assert result.p.sum() == pytest.approx(1.0)
    spread = result.p @ np.sum((A - A.T @ result.p) ** 2, axis=1)
    assert spread == pytest.approx(certificate.dual, abs=1e-12 * scale)


def test_each_step_follows_the_rule():
    A = np.random.default_rng(0).normal(size=(20, 3))
    c, radii = A[0].copy(), []
    for k in range(1, 31):
        squares = np.sum((A - c) ** 2, axis=1)
        radii.append(squares.max())
        c += (A[np.argmax(squares)] - c) / (k + 1)
    seen = []
    result = badoiu_clarkson(A, limits=Limits(eps=1e-9, max_steps=30), callback=seen.append)
    np.testing.assert_allclose([r.primal for r in seen[:30]], np.minimum.accumulate(radii))
    assert result.status is Status.STEPS
    assert result.reads.nnz == 31 * A.size + 30 * 3  # the norms, and steps with a row each


@pytest.mark.parametrize("limit", [0, 59, 60, 122, 123, 500])
def test_the_limit_of_reads_holds_to_the_pass(limit):
    A = np.random.default_rng(0).normal(size=(20, 3))
    result = badoiu_clarkson(A, limits=Limits(eps=1e-9, max_reads=limit))
    assert result.status is Status.READS
    assert result.reads.nnz == (60 + (limit - 60) // 63 * 63 if limit >= 60 else 0)


@pytest.mark.parametrize("A", [[[3.0, 4.0]], np.ones((5, 2)), np.zeros((2, 1))])
def test_one_point_is_its_own_ball(A):
    result = badoiu_clarkson(A, limits=Limits(eps=1e-3, max_steps=5))
    assert result.certificate.primal == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(result.x, np.asarray(A)[0])


def test_nan_is_named():
    with pytest.raises(ValueError, match="NaN"):
        badoiu_clarkson([[np.nan, 1.0]], limits=Limits(eps=0.1))


@pytest.mark.pure_python
def test_a_ball_in_plain_python():
    result = badoiu_clarkson([[0.0], [2.0]], limits=Limits(eps=1e-3))
    assert result.certificate.primal == pytest.approx(1.0)
