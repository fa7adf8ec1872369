"""The least and the largest number of a vector, in one look, and whether there are no others."""

import numpy as np
import pytest

from skimlearn.data.inspection import ends

pytestmark = pytest.mark.pure_python


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0], (3.0, 3.0, True)),
        ([1.0, -1.0, -1.0, 1.0], (-1.0, 1.0, True)),
        ([1.0, 0.0, -1.0], (-1.0, 1.0, False)),
        ([0.5, -np.inf, np.inf], (-np.inf, np.inf, False)),
        ([-0.0, 0.0], (0.0, 0.0, True)),
    ],
)
def test_ends(values, expected):
    assert ends(np.array(values)) == expected


def test_of_many_numbers():
    values = np.random.default_rng(0).normal(size=1001)
    assert ends(values) == (values.min(), values.max(), False)


def test_what_is_no_number_is_another_one():
    for values in ([1.0, np.nan], [np.nan, 1.0, 2.0]):
        assert not ends(np.array(values))[2]


def test_nothing_has_no_ends():
    with pytest.raises(ValueError, match="without numbers"):
        ends(np.zeros(0))
