"""The entry of all solvers: what is checked, and how errors read."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn.formulas.losses import Hinge, Huber, Loss
from skimlearn.formulas.regularizers import Entropic, SquaredL2, SquaredLp
from skimlearn.problem import make_problem

pytestmark = pytest.mark.pure_python

X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
LABELS = np.array([-1.0, 1.0, 1.0])
NUMBERS = np.array([0.5, 1.0, -3.0])


def make(X=X, y=LABELS, **changes):
    return make_problem(X, y, **{"loss": "hinge", "alpha": 0.1, **changes})


def test_parts_of_a_problem():
    problem = make()
    assert (problem.n, problem.d) == (3, 2)
    assert problem.loss == Hinge()
    assert problem.regularizer == SquaredL2()
    assert problem.bias == "free"
    assert problem.alpha == 0.1
    np.testing.assert_array_equal(problem.weights, 1.0)
    np.testing.assert_array_equal(problem.y, LABELS)


@pytest.mark.parametrize(
    ("p", "radius", "regularizer"),
    [(2.0, None, SquaredL2()), (1.5, 3, SquaredLp(1.5, 3.0)), (1, 2.0, Entropic(2.0))],
)
def test_regularizer_of_p_and_radius(p, radius, regularizer):
    assert make(p=p, radius=radius).regularizer == regularizer


def test_targets_of_any_kind_become_contiguous_floats():
    for y in ([-1, 1, 1], np.array([-1, 9, 1, 9, 1, 9], dtype=np.int8)[::2], LABELS.tolist()):
        problem = make(y=y)
        assert problem.y.dtype == np.float64
        assert problem.y.flags.c_contiguous
        np.testing.assert_array_equal(problem.y, LABELS)


def test_labels_are_fine_as_numbers():
    assert make(loss="squared").loss.curvature() == 1.0


def test_own_loss():
    loss = Huber(delta=0.25)
    assert make(y=NUMBERS, loss=loss).loss is loss


def test_with_alpha_shares_everything_else():
    problem = make()
    other = problem.with_alpha(2)
    assert other.alpha == 2.0
    assert other.rows is problem.rows
    assert problem.alpha == 0.1
    with pytest.raises(ValueError, match="alpha=0 must be a positive number"):
        problem.with_alpha(0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.alpha = 1.0


# ---------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize("alpha", [0, 0.0, -1.0, math.nan, math.inf, "1", None, True, [0.1]])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(ValueError, match=r"alpha=.* must be a positive number.*1e-4 is a common"):
        make(alpha=alpha)


@pytest.mark.parametrize("bias", ["Free", None, True, ""])
def test_bias_has_three_kinds(bias):
    with pytest.raises(ValueError, match=r"bias=.* must be one of \('free', 'regularized', 'none'"):
        make(bias=bias)


@pytest.mark.parametrize("p", [0.99, 2.01, math.nan, "2"])
def test_p_must_lie_in_its_range(p):
    with pytest.raises(ValueError, match=r"p=.* must be a number in \[1, 2\]"):
        make(p=p)


def test_unknown_loss():
    with pytest.raises(ValueError, match=r"loss='hing' is not known: use one of .*'hinge'"):
        make(loss="hing")


def test_loss_without_a_slope():
    class Half(Loss):
        def value(self, z, y):
            return 0.0

    with pytest.raises(TypeError, match=r"must define slope\(self, z, y\)"):
        make(loss=Half())


# ------------------------------------------------------------------------------------- targets


@pytest.mark.parametrize("y", [[0, 1, 1], [1, 2, 1], [-1, 1, 0.5]])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log", Hinge()])
def test_label_losses_want_labels_of_minus_and_plus_one(y, loss):
    found = ", ".join(str(float(v)) for v in sorted(set(y)))
    with pytest.raises(ValueError, match=f"-1 or [+]1, but y has the values {found}: recode"):
        make(y=y, loss=loss)


def test_message_about_labels_stays_short():
    with pytest.raises(ValueError, match=r"0.0, 1.0, 2.0, 3.0, 4.0, ...: recode"):
        make(X=np.eye(100), y=np.arange(100.0))


@pytest.mark.parametrize(("bad", "name"), [(math.nan, "NaN"), (-math.inf, "infinity")])
def test_target_that_is_not_finite(bad, name):
    with pytest.raises(ValueError, match=rf"y contains {name} \(row 2\): drop or impute"):
        make(y=[1.0, -1.0, bad], loss="squared")


@pytest.mark.parametrize("y", [LABELS[:2], LABELS[:, None], np.ones((1, 3)), 1.0])
def test_shape_of_the_target(y):
    with pytest.raises(ValueError, match=r"y has shape .*, but X has 3 rows") as caught:
        make(y=y)
    assert str(np.shape(y)) in str(caught.value)


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
@pytest.mark.parametrize("kind", [np.zeros, sp.csr_array])
def test_no_rows_or_no_columns(shape, kind):
    with pytest.raises(ValueError, match=r"at least one row and one column are needed"):
        make(X=kind(shape), y=np.ones(shape[0]))


def test_the_matrix_is_checked():
    with pytest.raises(ValueError, match=r"contains NaN \(row 1, column 0\)"):
        make(X=[[0.0, 1.0], [math.nan, 1.0], [0.0, 0.0]])


# ------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("weights", [[1, 2, 3], [0.0, 5e-324, 5e-324], [1e308, 1e308, 1e308]])
def test_weights_get_the_mean_1(weights):
    found = make(sample_weight=weights).weights
    assert found.mean() == pytest.approx(1.0, rel=1e-15)
    scaled = np.array(weights) / max(weights)
    np.testing.assert_allclose(found, scaled / scaled.mean(), rtol=1e-15)


def test_weights_of_the_caller_stay_as_they_are():
    weights = np.array([1.0, 2.0, 3.0])
    make(sample_weight=weights)
    assert weights.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("weights", [[1.0, 2.0], np.ones((3, 1)), 1.0])
def test_shape_of_the_weights(weights):
    with pytest.raises(ValueError, match=r"sample_weight has shape .*, but X has 3 rows"):
        make(sample_weight=weights)


@pytest.mark.parametrize(("bad", "name"), [(math.nan, "NaN"), (math.inf, "infinity")])
def test_weight_that_is_not_finite(bad, name):
    with pytest.raises(ValueError, match=rf"sample_weight contains {name} \(row 1\)"):
        make(sample_weight=[1.0, bad, 1.0])


def test_negative_weight():
    with pytest.raises(ValueError, match=r"sample_weight\[2\]=-0.5 is negative: weights must be"):
        make(sample_weight=[1.0, 1.0, -0.5])


def test_all_weights_zero():
    with pytest.raises(ValueError, match="zero for all rows: at least one must be positive"):
        make(sample_weight=[0.0, 0.0, 0.0])
