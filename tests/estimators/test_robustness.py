"""Odd and bad input, line by line of the robustness table in CONTRIBUTING.md.

A bad one gets an error that names the parameter, the value or the place, and the remedy; an odd one
gets the answer of its plain form, without a warning.
"""

import math
import os
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError

from skimlearn import LinearClassifier, LinearRegressor, Status, losses, regularization_path
from skimlearn.solvers import choose

N, D = 40, 3
rng = np.random.default_rng(9)
X = (4 * rng.normal(size=(N, D))).round()  # whole numbers, so that every type can hold them
NUMBERS = X @ [1.0, -0.5, 0.25] + rng.normal(size=N)
LABELS = np.where(NUMBERS > 0, 1, -1)
SOLVERS = ["auto", "sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs", "dual"]


def classifier(**parameters):
    return LinearClassifier(**{"alpha": 1e-2, "random_state": 0, **parameters})


def regressor(**parameters):
    return LinearRegressor(**{"alpha": 1e-2, "random_state": 0, **parameters})


BOTH = [(classifier, LABELS), (regressor, NUMBERS)]
both = pytest.mark.parametrize(("make", "y"), BOTH, ids=["classifier", "regressor"])


def changed(array, place, value):
    array = np.array(array, dtype=np.float64)
    array[place] = value
    return array


def weights_of(model):
    return np.append(model.coef_, model.intercept_)


def assert_same(data, y=LABELS, make=classifier, rtol=1e-10, **options):
    """The answer is that of the plain array."""
    plain = make().fit(X, y)
    odd = make().fit(data, y, **options)
    np.testing.assert_allclose(weights_of(odd), weights_of(plain), rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(odd.predict(data), odd.predict(X), rtol=1e-4, atol=1e-5)


# ==================================================================== the matrix


@both
@pytest.mark.parametrize(
    ("value", "name"), [(math.nan, "NaN"), (math.inf, "infinity"), (-math.inf, "infinity")]
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array, pd.DataFrame])
def test_nan_and_inf_in_the_matrix(make, y, value, name, kind):
    bad = kind(changed(X, (7, 1), value))
    message = rf"X contains {name} \(row 7, column 1\): impute or drop"
    with pytest.raises(ValueError, match=message):
        make().fit(bad, y)
    with pytest.raises(ValueError, match=message):
        make().partial_fit(bad, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the names of the columns
        with pytest.raises(ValueError, match=message):
            make().fit(X, y).predict(bad)


@both
def test_one_or_three_dimensions(make, y):
    with pytest.raises(ValueError, match=r"(?s)Expected 2D array, got 1D array.*reshape\(-1, 1\)"):
        make().fit(X[:, 0], y)
    with pytest.raises(ValueError, match="Found array with dim 3, while dim <= 2 is required"):
        make().fit(X[None], y)
    with pytest.raises(ValueError, match=r"(?s)Expected 2D.*reshape"):
        make().fit(X, y).predict(X[0])


@both
def test_different_numbers_of_rows(make, y):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[40, 39\]"):
        make().fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight has shape \(39,\), but X has 40 rows"):
        make().fit(X, y, sample_weight=np.ones(39))
    for shape in ((40, 1), (40, 2), ()):
        with pytest.raises(ValueError, match="one weight for each row"):
            make().fit(X, y, sample_weight=np.ones(shape))


@both
def test_another_number_of_columns_in_predict(make, y):
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        make().fit(X, y).predict(X[:, :2])


@both
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_no_rows_and_no_columns(make, y, kind):
    with pytest.raises(ValueError, match=r"0 sample.*a minimum of 1 is required"):
        make().fit(kind(X[:0]), y[:0])
    with pytest.raises(ValueError, match=r"0 feature.*a minimum of 1 is required"):
        make().fit(kind(X[:, :0]), y)


@both
def test_not_fitted(make, y):
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call 'fit'"):
        make().predict(X)


def test_one_row():
    for loss in ("squared", "absolute", "huber", "epsilon_insensitive"):
        model = regressor(loss=loss).fit(X[:1], NUMBERS[:1])
        np.testing.assert_allclose(model.coef_, 0.0, atol=1e-9)  # the bias does it for nothing
        assert model.intercept_ == pytest.approx(NUMBERS[0], abs=0.11)
    with pytest.raises(ValueError, match=r"only one class, -?1: .* at least two classes"):
        classifier().fit(X[:1], LABELS[:1])
    # without a bias: w = y x / (alpha + x^2)
    one = regressor(bias="none", tol=1e-9).fit([[2.0]], [3.0])
    assert one.coef_[0] == pytest.approx(6.0 / 4.01)


@both
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_one_column(make, y, kind):
    model = make(tol=1e-8).fit(kind(X[:, :1]), y)
    assert model.result_.status is Status.CONVERGED
    wide = make(tol=1e-8).fit(np.column_stack([X[:, 0], np.zeros(N)]), y)
    np.testing.assert_allclose(np.ravel(model.coef_)[0], np.ravel(wide.coef_)[0], rtol=1e-6)
    assert np.ravel(wide.coef_)[1] == 0.0


@both
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_empty_rows(make, y, solver, kind):
    holes = X.copy()
    holes[::3] = 0.0
    model = make(solver=solver, tol=None, max_epochs=50).fit(kind(holes), y)
    assert np.isfinite(weights_of(model)).all()
    exact = make(tol=1e-8).fit(holes, y).result_.certificate
    assert model.result_.certificate.primal >= exact.dual * (1 - 1e-9)
    assert model.result_.certificate.primal <= 1.5 * exact.primal


@both
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_zero_matrix(make, y, solver, kind):
    model = make(solver=solver, tol=None, max_epochs=20).fit(kind(np.zeros((N, D))), y)
    assert not np.any(model.coef_)
    if make is regressor:
        assert model.intercept_ == pytest.approx(NUMBERS.mean())
    else:  # the bias of the hinge: the more frequent label
        assert (model.predict(X) == np.sign(LABELS.sum())).all()
        best = 2.0 * min((LABELS > 0).mean(), (LABELS < 0).mean())
        assert model.result_.certificate.primal == pytest.approx(best)


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "epsilon_insensitive"])
@pytest.mark.parametrize("target", [0.0, 1.0, -3.3, 1e6])
def test_targets_that_are_all_alike(loss, target):
    model = LinearRegressor(loss).fit(X, np.full(N, target))  # no warning: it has converged
    assert model.result_.status is Status.CONVERGED
    assert model.result_.epochs < 50
    assert model.predict(X) == pytest.approx(np.full(N, target), abs=0.11)


@both
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e101, 1e200, 1e307])
def test_huge_values(make, y, solver, kind, scale):
    long = X * np.where(np.arange(N) == 5, scale / 4, 1.0)[:, None]
    with pytest.raises(
        ValueError, match=r"row 5 is longer than 1e\+100.*scale the features"
    ) as caught:
        make(solver=solver).fit(kind(long), y)
    assert "StandardScaler" in str(caught.value)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_large_values_do_not_overflow(solver, loss):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # "scale the features"
        model = classifier(loss=loss, solver=solver, max_epochs=5).fit(X * 1e97, LABELS)
    assert np.isfinite(weights_of(model)).all()
    certificate = model.result_.certificate
    assert 0.0 <= certificate.dual <= certificate.primal * (1 + 1e-12)


@both
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e-200, 5e-324])
def test_tiny_values(make, y, solver, kind, scale):
    tiny = make(solver=solver, tol=None, max_epochs=20).fit(kind(X * scale), y)
    zero = make(tol=1e-9).fit(np.zeros((N, D)), y)  # which is what they amount to
    assert np.isfinite(weights_of(tiny)).all()
    primal = zero.result_.certificate.primal
    assert tiny.result_.certificate.primal == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.int64, np.int8, object, np.longdouble, ">f8"]
)
@both
def test_types_of_numbers(make, y, dtype):
    assert_same(X.astype(dtype), y, make, rtol=1e-6 if dtype == np.float32 else 1e-10)
    if dtype not in (object, np.float16, np.longdouble, ">f8"):
        assert_same(sp.csr_array(X.astype(dtype)), y, make, rtol=1e-6)


@both
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint64])
def test_unsigned_and_boolean_numbers(make, y, dtype):
    data = np.abs(X).astype(dtype)
    plain, odd = make().fit(data.astype(np.float64), y), make().fit(data, y)
    np.testing.assert_array_equal(weights_of(odd), weights_of(plain))
    np.testing.assert_array_equal(odd.predict(data), plain.predict(data.astype(np.float64)))


@both
def test_objects_that_are_no_numbers(make, y):
    bad = X.astype(object)
    bad[3, 2] = "red"
    message = r"X must hold numbers, but holds 'red' \(row 3, column 2\): encode text"
    with pytest.raises(ValueError, match=message):
        make().fit(bad, y)
    with pytest.raises(ValueError, match=message):
        make().fit(pd.DataFrame(bad), y)
    bad[3, 2] = None
    with pytest.raises(ValueError, match=r"contains NaN \(row 3, column 2\)"):
        make().fit(bad, y)
    bad[3, 2] = {}
    with pytest.raises(TypeError, match=r"holds {} \(row 3, column 2\)"):
        make().fit(bad, y)


@both
@pytest.mark.parametrize("dtype", [str, bytes, "datetime64[s]", "timedelta64[s]"])
def test_text_and_dates(make, y, dtype):
    with pytest.raises(
        ValueError, match=r"X must hold numbers, but its dtype is .*: encode text, dates"
    ):
        make().fit(X.astype(int).astype(dtype), y)


@both
def test_complex_numbers(make, y):
    with pytest.raises(ValueError, match="Complex data not supported"):
        make().fit(X * 1j, y)


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_and_memory_mapped_arrays(make, y, dtype, tmp_path, monkeypatch):
    data = X.astype(dtype)
    file = tmp_path / "rows.npy"
    np.save(file, data)
    mapped = np.load(file, mmap_mode="r")
    frozen = data.copy()
    frozen.flags.writeable = False
    seen = spy(monkeypatch)
    for odd in (frozen, mapped):
        assert_same(odd, y, make, rtol=1e-6)
        assert np.shares_memory(seen[-1].values, odd)
    np.testing.assert_array_equal(np.load(file), data)


def spy(monkeypatch):
    """The rows that reach a solver, to see whether they are copies."""
    rows, solve = [], choose.solve

    def seen(problem, *arguments, **settings):
        rows.append(problem.rows)
        return solve(problem, *arguments, **settings)

    monkeypatch.setattr(choose, "solve", seen)
    return rows


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_memory_mapped_sparse_matrix(tmp_path, monkeypatch, index):
    matrix = sp.csr_array(X)
    parts = {}
    for name in ("data", "indices", "indptr"):
        part = getattr(matrix, name)
        np.save(tmp_path / name, part if name == "data" else part.astype(index))
        parts[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    mapped = sp.csr_array((N, D))
    mapped.data, mapped.indices, mapped.indptr = parts["data"], parts["indices"], parts["indptr"]
    seen = spy(monkeypatch)
    assert_same(mapped)
    assert np.shares_memory(seen[-1].values, parts["data"])
    assert np.shares_memory(seen[-1].columns, parts["indices"])


@both
def test_any_order_of_memory(make, y):
    wide = np.zeros((2 * N, 3 * D))
    wide[::2, ::3] = X
    for odd in (np.asfortranarray(X), wide[::2, ::3], X[::-1][::-1], np.flip(np.flip(X), 1)[::-1]):
        assert_same(odd, y, make)
    reverse = make().fit(X[::-1], y[::-1])
    np.testing.assert_allclose(
        weights_of(reverse), weights_of(make().fit(X, y)), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("kind", ["csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
def test_other_sparse_formats(kind, container):
    assert_same(container(X).asformat(kind))


def test_lists():
    assert_same(X.tolist(), LABELS.tolist())


# ==================================================================== CSR parts


def broken(data=(1.0, 2.0, 3.0, 4.0), indices=(0, 1, 1, 0), indptr=(0, 1, 2, 3, 4), shape=(4, 2)):
    """A CSR matrix of given parts, past the checks of scipy."""
    matrix = sp.csr_array(shape, dtype=np.float64)
    matrix.data, matrix.indices = np.array(data, dtype=np.float64), np.asarray(indices)
    matrix.indptr = np.asarray(indptr)
    return matrix


@pytest.mark.parametrize("indices", [np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("indptr", [np.int32, np.int64])
def test_types_of_indices(indices, indptr):
    odd = sp.csr_array(X)
    odd.indices, odd.indptr = odd.indices.astype(indices), odd.indptr.astype(indptr)
    assert_same(odd)


def test_unsorted_and_duplicate_indices():
    order = np.array([2, 0, 1, 1])  # the entry of column 1 in two halves
    values = np.column_stack([X[:, 2], X[:, 0], 0.5 * X[:, 1], 0.5 * X[:, 1]])
    odd = broken(values.ravel(), np.tile(order, N), np.arange(0, 4 * N + 1, 4), (N, D))
    before = odd.data.copy(), odd.indices.copy(), odd.indptr.copy()
    assert_same(odd)
    for part, old in zip((odd.data, odd.indices, odd.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("solver", ["auto", "dual", "asgd", "casgd", "ftrl", "pegasos", "pgs"])
@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
def test_unsorted_rows_of_many_columns(loss, solver):
    """They are not sorted for solvers: answers must not depend on it."""
    rng = np.random.default_rng(0)
    tidy = sp.random(400, 12_000, density=0.02, random_state=rng, format="csr")
    tidy.sort_indices()
    at = np.arange(tidy.nnz)
    for start, stop in zip(tidy.indptr, tidy.indptr[1:], strict=False):
        at[start:stop] = at[start:stop][::-1]
    odd = broken(tidy.data[at], tidy.indices[at], tidy.indptr, tidy.shape)
    labels = tidy @ rng.normal(size=12_000) > 0.0
    for alpha in (1e-2, 1e-6):
        model = LinearClassifier(
            loss, alpha=alpha, solver=solver, tol=None, max_epochs=12, random_state=0
        )
        expected = model.fit(tidy, labels).coef_.copy()
        found = model.fit(odd, labels).coef_
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_explicit_zeros():
    odd = broken(X.ravel(), np.tile(np.arange(D), N), np.arange(0, D * N + 1, D), (N, D))
    assert (odd.data == 0.0).any()
    assert_same(odd)


def test_spare_room_behind_the_last_row():
    right = sp.csr_array(X)
    data, indices = np.append(right.data, [9.0, 9.0]), np.append(right.indices, [77, -5])
    assert_same(broken(data, indices, right.indptr, (N, D)))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"indices": [0, 1, 2, 0]}, "row 2 of X has the column index 2, but X has 2 columns: mend"),
        ({"indices": [0, -1, 1, 0]}, "row 1 of X has the column index -1, but X has 2 columns"),
        ({"indptr": [1, 1, 2, 3, 4]}, r"row pointers \(indptr\) begin at 1 instead of 0; build"),
        ({"indptr": [0, 3, 2, 3, 4]}, r"\(indptr\) fall from 3 to 2 at row 1; build the matrix"),
        ({"indptr": [0, 1, 2, 3, 9]}, r"\(indptr\) end at 9, but it has 4 values; build"),
        ({"indptr": [0, 1, 2, 4]}, "it has 4 row pointers .*, but 4 rows need 5; build"),
        ({"data": [1.0, 2.0, 3.0]}, "it has 3 values .* but 4 column indices .*; build"),
    ],
    ids=["too large", "negative", "begin", "fall", "end", "pointers", "lengths"],
)
@both
def test_broken_parts(make, y, parts, message):
    matrix = broken(**parts)
    with pytest.raises(ValueError, match=message):
        make().fit(matrix, y[[0, 1, 2, 3]] if make is regressor else [1, -1, 1, -1])


# ==================================================================== targets and weights


@pytest.mark.parametrize(("label", "shown"), [(1, "1"), ("a", "'a'"), (True, "True"), (2.0, "2.0")])
def test_one_class(label, shown):
    with pytest.raises(
        ValueError, match=f"y holds only one class, {shown}: .* at least two classes"
    ):
        classifier().fit(X, np.full(N, label))


@pytest.mark.parametrize("y", [NUMBERS, NUMBERS[:, None], NUMBERS.astype(np.float32)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_numbers_for_a_classifier(y):
    with pytest.raises(ValueError, match=r"Unknown label type: continuous.*use LinearRegressor"):
        classifier().fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log", losses.Hinge()])
def test_a_loss_for_labels_in_a_regressor(loss):
    with pytest.raises(
        ValueError, match=r"loss=.* the task is regression: use 'squared', 'absolute'"
    ):
        regressor(loss=loss).fit(X, NUMBERS)


def test_labels_for_a_function():
    with pytest.raises(ValueError, match="y holds 40 classes: a path needs two"):
        regularization_path(X, NUMBERS, loss="hinge")


@pytest.mark.parametrize(
    "y", [["a", "b"] * 20, np.array(["1", "2"] * 20), np.array(["a"] * N, object)]
)
def test_text_for_a_regressor(y):
    with pytest.raises(
        ValueError, match=r"y must hold numbers, but holds '.' \(row 0\): use LinearCl"
    ):
        regressor().fit(X, y)


@both
@pytest.mark.parametrize(("value", "name"), [(math.nan, "NaN"), (math.inf, "infinity")])
def test_nan_and_inf_in_the_target(make, y, value, name):
    for kind in (np.asarray, np.ndarray.tolist, pd.Series):
        for method in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=rf"y contains {name} \(row 11\): drop or impute"):
                getattr(make(), method)(X, kind(changed(y, 11, value)))


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA])
def test_missing_classes(missing):
    y = np.where(LABELS > 0, "yes", "no").astype(object)
    y[11] = missing
    with pytest.raises(ValueError, match=r"y contains .* \(row 11\): drop the rows"):
        classifier().fit(X, y)
    numbers = NUMBERS.astype(object)
    numbers[11] = None
    with pytest.raises(ValueError, match=r"y contains NaN \(row 11\)"):
        regressor().fit(X, numbers)


@both
def test_no_target(make, y):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        make().fit(X, None)


@both
def test_a_target_with_a_column(make, y):
    with pytest.warns(DataConversionWarning, match=r"ravel\(\)"):
        model = make().fit(X, y[:, None])
    np.testing.assert_array_equal(model.coef_, make().fit(X, y).coef_)
    if make is regressor:
        with pytest.raises(
            ValueError, match=r"y should be a 1d array, got an array of shape \(40, 2\)"
        ):
            make().fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
def test_huge_targets(loss):
    with pytest.raises(ValueError, match=r"y\[4\]=1e\+200 is beyond 1e\+15.*scale the targets"):
        regressor(loss=loss).fit(X, changed(NUMBERS, 4, 1e200))
    large = regressor(loss=loss, tol=1e-3).fit(X, 1e12 * NUMBERS)
    assert large.result_.certificate.relative_gap <= 1e-3


@both
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (changed(np.ones(N), 6, math.nan), r"sample_weight contains NaN \(row 6\): drop"),
        (changed(np.ones(N), 6, math.inf), r"sample_weight contains infinity \(row 6\): drop"),
        (
            changed(np.ones(N), 6, -0.5),
            r"sample_weight\[6\]=-0.5 is negative: weights must be >= 0",
        ),
        (np.zeros(N), "sample_weight is zero for all rows: at least one must be positive"),
        (["heavy"] * N, "sample_weight must hold numbers: could not convert"),
        (np.ones(N) * 1j, "sample_weight must hold real numbers"),
    ],
    ids=["nan", "inf", "negative", "zero", "text", "complex"],
)
def test_bad_weights(make, y, weights, message):
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(make(), method)(X, y, sample_weight=weights)


@both
def test_rows_of_weight_zero_are_as_if_absent(make, y):
    weights = np.where(np.arange(N) % 3 == 0, 0.0, 2.0)
    spoiled, other = X.copy(), y.copy()
    spoiled[::3] = 1e6
    other[::3] *= -1
    kept = weights > 0
    weighted = make(tol=1e-9).fit(spoiled, other, sample_weight=weights)
    absent = make(tol=1e-9).fit(X[kept], y[kept])
    np.testing.assert_allclose(weights_of(weighted), weights_of(absent), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({7: 1.0}, r"class_weight has the keys \['7'\], which are not among the classes \[-1, 1\]"),
        ({1: -1.0}, r"class_weight={1: -1.0} must hold finite numbers >= 0"),
        ({1: math.nan}, "class_weight={1: nan} must hold finite numbers"),
        ({1: 0.0, -1: 0.0}, "and not only zeros"),
        ({1: "a"}, "class_weight={1: 'a'} must be a dict of numbers, 'balanced' or None"),
        ("even", "class_weight='even' must be a dict of numbers, 'balanced' or None"),
        (3, "class_weight=3 must be a dict of numbers, 'balanced' or None"),
    ],
)
def test_bad_class_weights(class_weight, message):
    with pytest.raises(ValueError, match=message):
        classifier(class_weight=class_weight).fit(X, LABELS)


# ==================================================================== parameters

BAD_PARAMETERS = [
    *[({"alpha": a}, f"alpha={a!r} must be a positive number.*1e-4 is a common choice")
      for a in (0, 0.0, -1.0, math.nan, math.inf, "small", None, True)],
    *[({"p": p}, rf"p={p!r} must be a number in \[1, 2\]") for p in (0.5, 2.1, math.nan, "2")],
    ({"p": 1}, "p=1 needs radius=..., a bound on the l1 norm of the weights"),
    *[({"radius": r}, f"radius={r!r} must be a positive number, or None for no bound")
      for r in (0, -1.0, math.nan, "big")],
    ({"loss": "foo"}, "loss='foo' is not known: use one of .*'squared'.* or an instance of"),
    ({"solver": "foo"}, r"solver='foo' must be one of \('auto', 'sgd'"),
    ({"solver": None}, r"solver=None must be one of \('auto', 'sgd'"),
    *[({"bias": b}, rf"bias={b!r} must be one of \('free', 'regularized', 'none'\)")
      for b in ("foo", True, None)],
    ({"average": "foo"}, r"average='foo' must be one of \('last', 'mean', 'tail', 'random'\)"),
    ({"average": "foo", "solver": "sgd"}, "average='foo' must be one of"),
    ({"average": "mean", "solver": "dual"}, "average='mean' has no meaning for solver='dual'"),
    ({"average": "mean", "solver": "sgd"}, "average='mean': use solver='asgd'"),
    ({"average": "last", "solver": "asgd"}, "average='last': use solver='sgd'"),
    *[({"tol": t}, f"tol={t!r} must be a number, 0 or more, or None for no target")
      for t in (-1e-3, math.nan, "low", True)],
    *[({f"max_{what}": v}, f"max_{what}={v!r} must be a whole number, 1 or more, or None")
      for what in ("epochs", "reads") for v in (0, -1, 1.5, math.nan, math.inf, "few", True)],
    *[({"max_seconds": s}, f"max_seconds={s!r} must be positive, or None for no limit")
      for s in (0, -1.0, math.nan, "long")],
    ({"tol": None, "max_epochs": None}, "are all None: set at least one"),
    ({"batch_size": 0, "solver": "pegasos"}, "batch_size=0 must be at least 1"),
    ({"batch_size": -2, "solver": "pgs"}, "batch_size=-2 must be at least 1"),
    ({"batch_size": 1.5, "solver": "pegasos"}, "batch_size=1.5 must be a whole number"),
    ({"batch_size": "all", "solver": "pgs"}, "batch_size='all' must be a whole number"),
    ({"batch_size": 2, "solver": "dual"}, "batch_size=2 has no meaning .*'pegasos' or 'pgs'"),
    ({"batch_size": 2}, "batch_size=2 has no meaning for solver='auto'"),
    *[({"random_state": r}, f"random_state={r!r} must be a whole number .* Generator")
      for r in ("seed", -1, 1.5)],
    ({"solver": "casgd", "bias": "none"}, "bias='none'.* use bias='free', or solver='asgd'"),
    ({"solver": "casgd", "bias": "regularized"}, "bias='regularized'.* use bias='free'"),
    ({"solver": "sgd", "p": 1.5}, "p=2 and no radius.* use solver='pgs', 'dual' or 'auto'"),
    ({"solver": "pegasos", "p": 1.5}, "p=2 and no radius.* use solver='pgs', 'dual' or 'auto'"),
    ({"solver": "asgd", "radius": 1.0}, "p=2 and no radius.* use solver='pgs', 'dual' or 'auto'"),
]  # fmt: skip


@both
@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=lambda x: str(x)[:40])
def test_bad_parameters(make, y, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, y)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_bad_numbers_of_threads(n_jobs):
    with pytest.raises(ValueError, match=f"n_jobs={n_jobs!r} must be a whole number"):
        classifier(n_jobs=n_jobs).fit(X, LABELS)


@both
@pytest.mark.parametrize("loss", [3, None, 1.0, object()])
def test_a_loss_of_a_wrong_kind(make, y, loss):
    with pytest.raises(
        TypeError, match=r"loss=.* must be a name or an instance of skimlearn.losses"
    ):
        make(loss=loss).fit(X, y)


@both
def test_a_class_in_the_place_of_a_loss(make, y):
    with pytest.raises(TypeError, match="put parentheses after the class"):
        make(loss=losses.Huber).fit(X, y)


@both
def test_a_callback_that_can_not_be_called(make, y):
    with pytest.raises(TypeError, match="callback=3 must be a function of a Record, or None"):
        make(callback=3).fit(X, y)


def test_whole_numbers_may_be_floats():
    model = classifier(max_epochs=np.float64(3.0), max_reads=1e9, tol=None, solver="asgd")
    assert model.fit(X, LABELS).result_.epochs == 3


# ==================================================================== losses of users


@dataclass(frozen=True)
class Half(losses.Loss):
    """(z - y)^2 / 2, as a user would write it."""

    def value(self, z, y):
        return 0.5 * (z - y) ** 2

    def slope(self, z, y):
        return z - y


@dataclass(frozen=True)
class NoSlope(losses.Loss):
    def value(self, z, y):
        return 0.5 * (z - y) ** 2


@dataclass(frozen=True)
class UsesNumpy(Half):
    def value(self, z, y):
        return np.linalg.norm(np.array([z, y]), ord="nuc")


@dataclass(frozen=True)
class UsesText(Half):
    def slope(self, z, y):
        return f"{z - y}"


@dataclass(frozen=True)
class ReturnsNothing(Half):
    def value(self, z, y):
        0.5 * (z - y) ** 2


@dataclass(frozen=True)
class Undefined(Half):
    def slope(self, z, y):
        return undefined_name * (z - y)  # noqa: F821


@dataclass(frozen=True)
class FieldOfText(Half):
    name: str = "half"


@dataclass(frozen=True)
class OtherArguments(Half):
    def value(self, prediction, target):
        return 0.5 * (prediction - target) ** 2


class NoDataclass(losses.Loss):
    def __init__(self, scale):
        object.__setattr__(self, "scale", scale)

    def value(self, z, y):
        return 0.5 * self.scale * (z - y) ** 2

    def slope(self, z, y):
        return self.scale * (z - y)


@dataclass(frozen=True)
class WrongSign(Half):
    def slope(self, z, y):
        return y - z


@dataclass(frozen=True)
class TwiceTheSlope(Half):
    def slope(self, z, y):
        return 2.0 * (z - y)


@dataclass(frozen=True)
class NotConvex(losses.Loss):
    def value(self, z, y):
        return (z - y) ** 2 / (1.0 + (z - y) ** 2)

    def slope(self, z, y):
        return 2.0 * (z - y) / (1.0 + (z - y) ** 2) ** 2


@dataclass(frozen=True)
class NotFinite(Half):
    def value(self, z, y):
        return math.log(z) if z > 0.0 else math.nan


@dataclass(frozen=True)
class WrongCurvature(Half):
    def curvature(self):
        return 0.1


@dataclass(frozen=True)
class WrongConjugate(Half):
    def conjugate(self, s, y):
        return 0.5 * s * s


@dataclass(frozen=True)
class WrongBounds(Half):
    def dual_bounds(self, y):
        return 0.0, 1.0


@dataclass(frozen=True)
class WrongStep(Half):
    def dual_step(self, a, z, h, y):
        return a + 1.0


@both
def test_a_good_loss_of_a_user(make, y):
    own, ours = make(loss=Half(), tol=1e-9).fit(X, y), make(loss="squared", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(weights_of(own), weights_of(ours), rtol=1e-5)


def test_a_loss_without_the_decorator_but_without_fields():
    class Bare(losses.Loss):
        def value(self, z, y):
            return 0.5 * (z - y) ** 2

        def slope(self, z, y):
            return z - y

    np.testing.assert_allclose(
        regressor(loss=Bare()).fit(X, NUMBERS).coef_, regressor().fit(X, NUMBERS).coef_, rtol=1e-3
    )


def test_a_loss_whose_steps_could_explode():
    # without a bound on the curvature, a slope that grows without bound is too much for steps
    for solver in ("sgd", "asgd", "casgd", "pegasos", "pgs"):
        with pytest.raises(ValueError, match=r"curvature\(self\).* or use solver='dual'"):
            regressor(loss=Half(), solver=solver).fit(X, NUMBERS)
    for solver in ("dual", "auto"):
        own = regressor(loss=Half(), solver=solver, tol=1e-2).fit(X, NUMBERS)
        np.testing.assert_allclose(own.coef_, regressor().fit(X, NUMBERS).coef_, atol=0.1)


def test_a_loss_without_a_slope():
    with pytest.raises(TypeError, match=r"loss=NoSlope\(\) must define slope\(self, z, y\)"):
        regressor(loss=NoSlope()).fit(X, NUMBERS)


@pytest.mark.parametrize(
    ("loss", "method", "reason"),
    [
        (UsesNumpy(), "value", "norm"),
        (UsesText(), "slope", "its result is not a number"),
        (ReturnsNothing(), "value", "its result is not a number"),
        (Undefined(), "slope", "undefined_name"),
        (FieldOfText(), "value", "must be real number, not str"),
        (NoDataclass(2.0), "value", r"\['scale'\] are no fields"),
        (OtherArguments(), "value", r"must name its arguments as the other formulas do: .*z, y"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_loss_that_does_not_compile(loss, method, reason):
    with pytest.raises(TypeError, match=rf"can't be compiled, because of {method}: ") as caught:
        regressor(loss=loss).fit(X, NUMBERS)
    message = str(caught.value)
    assert "a frozen dataclass whose fields are floats" in message
    assert "plain arithmetic on floats: if, for, min, max, abs and the functions of math" in message
    assert re.search(reason, message.split("The reason: ")[1])
    assert len(message) < 700


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (WrongSign(), "is not the derivative of value, or value is not convex"),
        (TwiceTheSlope(), "is not the derivative of value"),
        (NotConvex(), "or value is not convex"),
        (NotFinite(), r"value\(z=-3.0, y=.*\) is nan; it must be finite for every z"),
        (WrongCurvature(), r"slope changes faster than curvature\(\) = 0.1 allows"),
        (WrongConjugate(), r"conjugate must satisfy value\(z, y\) \+ conjugate"),
        (WrongBounds(), "dual_bounds must contain minus the slope"),
        (WrongStep(), "dual_step must leave a = -slope"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_loss_that_contradicts_itself(loss, message):
    for method in ("fit", "partial_fit"):
        with pytest.raises(
            ValueError, match=rf"loss={type(loss).__name__}\(\) is not consistent: .*"
        ):
            getattr(regressor(loss=loss), method)(X, NUMBERS)
    with pytest.raises(ValueError, match=message):
        regularization_path(X, NUMBERS, loss=loss)


# ==================================================================== surroundings


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_a_cache_folder_that_can_not_be_written(tmp_path):
    file = tmp_path / "file"
    file.write_text("not a folder")
    code = (
        "from skimlearn import LinearRegressor\n"
        "model = LinearRegressor(tol=1e-9).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])\n"
        "print(model.result_.status.name)\n"
    )
    done = run(code, NUMBA_CACHE_DIR=str(file / "below"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "CONVERGED\n", "")
    assert file.read_text() == "not a folder"


def test_nothing_is_written_but_the_cache(tmp_path):
    code = (
        "from skimlearn import LinearClassifier\n"
        "LinearClassifier(loss='log').fit([[0.0], [1.0], [2.0]], [0, 1, 1])\n"
    )
    place = tmp_path / "work"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(place.iterdir()) == []


@both
def test_the_input_is_left_as_it_was(make, y):
    weights = np.ones(N)
    data = [X.copy(), y.copy(), weights.copy()]
    model = make(loss="squared").fit(data[0], data[1], sample_weight=data[2])
    model.predict(data[0])
    for array, before in zip(data, (X, y, weights), strict=True):
        np.testing.assert_array_equal(array, before)
        assert array.flags.writeable
