"""exp(-x) and log(1 + e) as kernels take them, against the library of mathematics."""

import math

import numpy as np
import pytest

from skimlearn._jit import kernel
from skimlearn.formulas._exponential import decay, log_of_one_and

pytestmark = pytest.mark.pure_python

NEAR = np.concatenate([np.linspace(0.0, 3.0, 601), 2.0 ** np.arange(-60.0, 5.0)])
FAR = np.linspace(40.0, 708.0, 300)  # to the least normal number


@kernel
def _fill(x, powers, logs):
    for i in range(len(x)):
        powers[i] = decay(x[i])
        logs[i] = log_of_one_and(powers[i])


def filled(x):
    powers, logs = np.empty(len(x)), np.empty(len(x))
    _fill(x, powers, logs)
    return powers, logs


@pytest.mark.parametrize("x", [NEAR, FAR])
def test_both_are_exact_to_the_last_digits_in_kernels_and_in_python(x):
    powers, logs = filled(x)
    np.testing.assert_allclose(powers, [math.exp(-t) for t in x], rtol=1e-15)
    np.testing.assert_allclose(logs, [math.log1p(e) for e in powers], rtol=2e-15)
    np.testing.assert_allclose([decay(t) for t in x], powers, rtol=1e-15)
    np.testing.assert_allclose([log_of_one_and(e) for e in powers], logs, rtol=2e-15)


def test_the_ends():
    powers, logs = filled(np.array([0.0, 746.0, math.inf, math.nan]))
    assert powers[:3].tolist() == [1.0, 0.0, 0.0]
    assert logs[1:3].tolist() == [0.0, 0.0]
    assert np.isnan([powers[3], logs[3]]).all()
    assert math.isnan(decay(math.nan))


def test_numbers_below_the_normal_ones():
    x = np.linspace(708.0, 745.0, 100)
    expected = np.array([math.exp(-t) for t in x])
    np.testing.assert_allclose(filled(x)[0], expected, rtol=1e-13, atol=5e-324)
    assert expected[-1] == filled(x)[0][-1] == decay(745.0) == 5e-324
