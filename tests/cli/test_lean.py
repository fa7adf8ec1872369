"""Commands that do without scikit-learn: what they load, and that they do the same as with it."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics

import skimlearn
from command_line import SOURCE, rows, skim, start, write_data
from skimlearn.cli import _scoring
from skimlearn.data.triple import Triple

HEAVY = ("sklearn", "scipy.sparse", "pandas", "joblib", "rich", "pydantic")


# Newton's method for few columns calls LAPACK; older versions of scipy load more for it
OF_LINALG = subprocess.run(
    [sys.executable, "-c", f"import sys, scipy.linalg; print(*set({HEAVY}) & set(sys.modules))"],
    capture_output=True, text=True, check=True,
).stdout.split()  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("lean"))


def lean(*arguments, code=0):
    """Run a command in a process of its own; its standard output and error."""
    process = start(*arguments)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    return out, err


def loaded_by(*arguments):
    """The heavy modules that a command has loaded at its end."""
    line = (
        "import sys; from skimlearn.cli import run\n"
        "assert run() == 0\n"
        f"found = [name for name in {HEAVY} if name in sys.modules]\n"
        f"if 'scipy.linalg' in sys.modules: found = [n for n in found if n not in {OF_LINALG}]\n"
        "print(*found, file=sys.stderr)"
    )
    command = [sys.executable, "-c", line, *map(str, arguments), "--quiet"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )
    return done.stderr.split()


def test_text_and_stores_are_learned_from_without_scikit_learn(data, tmp_path):
    model = tmp_path / "model"
    for rows_of in ("rows.svm", "store", "many.svm"):
        assert loaded_by("train", data / rows_of, "-o", model) == []
    assert loaded_by("predict", model, data / "test.svm") == []
    assert loaded_by("evaluate", model, data / "many.svm") == []


def test_kernel_models_need_no_more_than_their_support_rows(data, tmp_path):
    model, sparse = tmp_path / "model", ["scipy.sparse"]
    for rows_of in ("rows.svm", "store"):
        assert loaded_by("train", data / rows_of, "--kernel", "rbf", "-o", model) == sparse
        assert loaded_by("predict", model, data / "test.svm") == sparse
        assert loaded_by("evaluate", model, data / "test.svm") == sparse


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rows.svm", ["--class-weight", "balanced", "--loss", "log"]),
        ("rows.svm", ["--class-weight", "1=3", "--holdout", "0.2", "--bias", "none"]),
        ("many.svm", ["--n-jobs", "2"]),
        ("numbers.svm", ["--model", "regressor"]),
        ("rows.svm", ["--model", "sublinear"]),
        ("many.svm", ["--kernel", "rbf", "--gamma", "0.5"]),
        ("store", ["--model", "kernel", "--class-weight", "balanced"]),
        ("store", []),
        ("rows.npy", ["--labels", "labels.npy"]),
        ("rows.npz", ["--labels", "labels.npy"]),
    ],
)
def test_the_same_model_as_with_scikit_learn(data, tmp_path, monkeypatch, name, options):
    monkeypatch.chdir(data)
    options = ["train", name, *options, "--random-state", "3"]
    lean(*options, "-o", tmp_path / "lean")
    skim(*options, "-o", tmp_path / "full")
    one, other = (skimlearn.load(tmp_path / which) for which in ("lean", "full"))
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    learned = "dual_coef_" if hasattr(one, "dual_coef_") else "coef_"
    assert np.array_equal(getattr(one, learned), getattr(other, learned))
    assert np.array_equal(one.intercept_, other.intercept_)
    assert one.result_.certificate == other.result_.certificate
    assert one.result_.reads == other.result_.reads
    if hasattr(one, "classes_"):
        assert np.array_equal(one.classes_, other.classes_)
        assert one.classes_.dtype == other.classes_.dtype


def test_the_same_scores_as_with_scikit_learn(data, tmp_path):
    skim("train", data / "rows.svm", "-o", tmp_path / "m", "--loss", "log", "--random-state", "0")
    out, _ = lean("evaluate", tmp_path / "m", data / "test.svm", "--json")
    X, y = rows(100, seed=1)
    model = skimlearn.load(tmp_path / "m")
    found = json.loads(out)
    assert found["confusion"] == metrics.confusion_matrix(y, model.predict(X)).tolist()
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(y, model.decision_function(X)))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, model.predict_proba(X)))


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("one.svm", "1 1:1\n1 2:1\n", []),
        ("long.svm", "1 1:1e200\n-1 2:1\n", []),
        ("two.svm", "1 1:1\n-1 2:1\n", ["--class-weight", "7=2"]),
        ("two.svm", "1 1:1\n-1 2:1\n", ["--class-weight", "1=-2"]),
        ("no.svm", "1\n-1\n", []),
    ],
)
def test_the_same_errors_as_with_scikit_learn(tmp_path, name, text, options):
    (tmp_path / name).write_text(text)
    arguments = ["train", tmp_path / name, "--model", "classifier", *options]
    _, err = lean(*arguments, code=1)
    assert err == skim(*arguments, code=1).stderr
    assert err.count("\n") == 1


def test_the_area_under_the_curve_counts_ties_as_halves():
    rng = np.random.default_rng(0)
    for most in (1, 3, 1000):
        scores, positive = rng.integers(most, size=200).astype(float), rng.random(200) < 0.3
        area = metrics.roc_auc_score(positive, scores)
        assert _scoring._area(positive, scores) == pytest.approx(area, rel=1e-12)


def test_a_triple_is_cut_filled_up_and_indexed_as_a_matrix_of_scipy():
    X = sp.random(40, 12, 0.3, format="csr", random_state=0)
    triple = Triple(X.data, X.indices, X.indptr, X.shape)

    def same(one, matrix):
        again = sp.csr_matrix((one.data, one.indices, one.indptr), shape=one.shape)
        return one.shape == matrix.shape and not (again != matrix).nnz

    assert same(triple.of_width(5), X[:, :5])
    assert same(triple.of_width(12), X)
    wide = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(40, 20))
    assert same(triple.of_width(20), wide)
    chosen = np.array([3, 3, 39, 0])
    assert same(triple[chosen], X[chosen])
    assert same(triple[np.arange(40) % 3 == 0], X[np.arange(40) % 3 == 0])
