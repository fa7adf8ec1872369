"""ONNX graphs, run by onnxruntime, say what the model says."""

import os
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from model_files import NUMBERS, ROWS, SIGNS, THREE, WORDS, make_models
from skimlearn import (
    EnclosingBall,
    KernelClassifier,
    LinearClassifier,
    LinearRegressor,
    ModelError,
    export_onnx,
    kernels,
)

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@dataclass(frozen=True)
class Own(kernels.Kernel):
    """A kernel that is no formula of ours, though it has the same values as one."""

    def similarity(self, product, left, right):
        return product


MODELS = make_models()
POINTS = np.random.default_rng(1).normal(size=(200, 4))


def run(path, rows):
    """The outputs of a graph by their names."""
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows}), strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_onnxruntime_says_the_same(model, dtype, tmp_path):
    path, rows = tmp_path / "m.onnx", POINTS.astype(dtype)
    export_onnx(model, path, dtype=dtype)
    found = run(path, rows)
    tolerance = (
        {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    )
    if "prediction" in found:
        np.testing.assert_allclose(found["prediction"], model.predict(rows), **tolerance)
        assert found["prediction"].dtype == dtype
        return
    expected, scores = model.predict(rows), model.decision_function(rows)
    assert found["scores"].dtype == dtype
    np.testing.assert_allclose(found["scores"], scores, **tolerance)
    assert found["label"].shape == expected.shape
    sure = np.ones(len(rows), dtype=bool)
    if scores.ndim == 2 and not getattr(model, "multilabel_", False):
        best = np.sort(scores, axis=1)
        sure = best[:, -1] - best[:, -2] > 1e-4
    else:
        sure = np.abs(scores.reshape(len(rows), -1)).min(axis=1) > 1e-4
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(found["label"][sure], expected[sure])
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    assert os.listdir(tmp_path) == ["m.onnx"]


@pytest.mark.parametrize("y", [SIGNS, THREE, np.stack([SIGNS, THREE > 1], axis=1)], ids=[2, 3, "m"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_probabilities(y, dtype, tmp_path):
    model = LinearClassifier("log", random_state=0).fit(ROWS, y)
    export_onnx(model, tmp_path / "m", dtype=dtype)
    far = np.full((1, 4), 1e4)  # where the probabilities of all classes may be zero
    rows = np.vstack([POINTS, far, -far]).astype(dtype)
    found = run(tmp_path / "m", rows)["probabilities"]
    expected = model.predict_proba(rows)
    assert found.dtype == expected.dtype
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:-2], expected[:-2], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[-2:], expected[-2:], atol=1e-6)


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 7], dtype=np.int32),
        np.array([-5, 0, 5]),
        np.array([0.5, 1.5], dtype=np.float32) * 2,
        np.array([False, True]),
        np.array(["nein", "jä", "漢字"]),
        np.array(["a", "b"], dtype=object),
    ],
    ids=lambda classes: f"{classes.dtype}-{len(classes)}",
)
def test_labels_of_all_kinds(classes, tmp_path):
    y = classes[SIGNS if len(classes) == 2 else THREE]
    model = LinearClassifier(random_state=0).fit(ROWS, y)
    export_onnx(model, tmp_path / "m", dtype="float64")
    label = run(tmp_path / "m", POINTS)["label"]
    assert label.dtype == (object if classes.dtype.kind in "OU" else classes.dtype)
    np.testing.assert_array_equal(label, model.predict(POINTS))


KERNELS = {
    "linear": kernels.Linear(),
    "poly": kernels.Polynomial(degree=3, gamma=0.3, coef0=1.0),
    "poly of degree 1": kernels.Polynomial(degree=1, gamma=0.5),
    "rbf": kernels.Gaussian(gamma=0.3),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernels(kernel, form, dtype, tmp_path):
    rows = POINTS.astype(dtype)
    close = {"rtol": 3e-5, "atol": 3e-5} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-11}
    for y in (SIGNS, WORDS):
        model = KernelClassifier(kernel, alpha=0.01, random_state=0).fit(form(ROWS), y)
        export_onnx(model, tmp_path / "m", dtype=dtype)
        found, scores = run(tmp_path / "m", rows), model.decision_function(POINTS)
        assert found["scores"].dtype == dtype
        np.testing.assert_allclose(found["scores"], model.decision_function(rows), **close)
        best = np.sort(scores, axis=1) if scores.ndim == 2 else np.stack([-scores, scores], 1)
        sure = np.abs(best[:, -1] - best[:, -2]) > 1e-3
        assert sure.mean() > 0.9
        np.testing.assert_array_equal(found["label"][sure], model.predict(POINTS)[sure])
    for contamination in (0.0, 0.2):
        ball = EnclosingBall(kernel=kernel, contamination=contamination, random_state=0)
        ball.fit(form(ROWS))
        export_onnx(ball, tmp_path / "m", dtype=dtype)
        found, scores = run(tmp_path / "m", rows), ball.decision_function(POINTS)
        unit = float(ball.radius_) + 1.0
        np.testing.assert_allclose(
            found["scores"], scores, rtol=1e-4 if dtype == "float32" else 1e-10,
            atol=unit * (3e-5 if dtype == "float32" else 1e-11),
        )  # fmt: skip
        sure = np.abs(scores) > 1e-3 * unit
        assert sure.mean() > 0.9
        assert set(found["label"].tolist()) == {1, -1}  # there are outliers among the points
        np.testing.assert_array_equal(found["label"][sure], ball.predict(POINTS)[sure])
        if contamination == 0.0:  # the ball holds all of its rows, those on the sphere too
            own = run(tmp_path / "m", ROWS.astype(dtype))["label"]
            assert (own == 1).all()


@pytest.mark.parametrize("model", ["classifier", "ball"])
def test_rows_at_a_distance(model, tmp_path):
    """Data far from the origin, in float32, lose the digits of the input only."""
    shift = np.float64(3e3)
    rows = (ROWS + shift).astype(np.float32).astype(np.float64)
    if model == "ball":
        fitted = EnclosingBall(kernel="rbf", gamma=0.3, random_state=0).fit(rows)
    else:
        fitted = KernelClassifier("rbf", gamma=0.3, alpha=0.01, random_state=0).fit(rows, THREE)
    export_onnx(fitted, tmp_path / "m")
    near = (POINTS + shift).astype(np.float32)
    np.testing.assert_allclose(
        run(tmp_path / "m", near)["scores"],
        fitted.decision_function(near.astype(np.float64)),
        atol=1e-4,
    )
    far = np.array([[1e5] * 4, [-1e12] * 4, [0.0] * 4, [1e30] * 4], dtype=np.float32)
    found = run(tmp_path / "m", far)
    expected = fitted.decision_function(far.astype(np.float64))
    np.testing.assert_allclose(found["scores"], expected, atol=1e-4)
    np.testing.assert_array_equal(found["label"], fitted.predict(far.astype(np.float64)))


def test_one_row_and_one_column(tmp_path):
    model = LinearRegressor().fit([[0.0], [1.0]], [1.0, 2.0])
    export_onnx(model, tmp_path / "m")
    found = run(tmp_path / "m", np.array([[2.0]], dtype=np.float32))["prediction"]
    assert found.shape == (1,)
    np.testing.assert_allclose(found, model.predict([[2.0]]), rtol=1e-6)


def test_the_graph_says_where_it_is_from(tmp_path):
    export_onnx(MODELS["binary"], tmp_path / "m")
    proto = onnx.load(tmp_path / "m")
    assert proto.producer_name == "skimlearn"
    assert {domain.domain for domain in proto.opset_import} == {""}
    assert [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim] == [0, 4]


def test_what_can_not_be_exported(tmp_path, monkeypatch):
    model = LinearRegressor().fit(ROWS, NUMBERS)
    with pytest.raises(ValueError, match="dtype='float16' must be"):
        export_onnx(model, tmp_path / "m", dtype="float16")
    with pytest.raises(TypeError, match="not dict"):
        export_onnx({}, tmp_path / "m")
    with pytest.raises(TypeError, match="path=1 must be a path"):
        export_onnx(model, 1)
    with pytest.raises(NotFittedError):
        export_onnx(LinearRegressor(), tmp_path / "m")
    own = KernelClassifier(Own(), alpha=0.1).fit(ROWS, SIGNS)
    with pytest.raises(TypeError, match=r"no operators for kernel=Own\(\): use kernel='linear'"):
        export_onnx(own, tmp_path / "m")
    with pytest.raises(TypeError, match="no operators"):
        export_onnx(EnclosingBall(kernel=Own()).fit(ROWS), tmp_path / "m")
    with pytest.raises(NotFittedError):
        export_onnx(EnclosingBall(kernel="rbf"), tmp_path / "m")
    large = LinearRegressor().fit(ROWS, NUMBERS)
    large.coef_ = large.coef_ * 1e300
    with pytest.raises(ModelError, match="use dtype='float64'"):
        export_onnx(large, tmp_path / "m")
    monkeypatch.setattr("skimlearn.exchange.onnx.LARGEST", 15)
    for wide in (model, MODELS["kernel"]):
        with pytest.raises(ModelError, match="more than the 2 GB"):
            export_onnx(wide, tmp_path / "m")
    odd = LinearClassifier().fit(ROWS, WORDS)
    odd.classes_ = np.array([1, "a", 2.0], dtype=object)
    monkeypatch.undo()
    with pytest.raises(ModelError, match="neither numbers nor texts"):
        export_onnx(odd, tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_without_onnx_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'skimlearn\[onnx\]'"):
        export_onnx(MODELS["regression"], tmp_path / "m")
