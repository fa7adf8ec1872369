"""Models that are saved and loaded are the same, and files that are wrong are refused."""

import json
import os
import pickle
import stat
import tracemalloc
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import skimlearn
from model_files import (
    NUMBERS,
    ROWS,
    SIGNS,
    THREE,
    WORDS,
    join,
    make_models,
    mutate,
    split,
    two_predictions,
)
from skimlearn import (
    EnclosingBall,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    ModelError,
    Status,
    SublinearSVC,
    load,
    losses,
)
from skimlearn.data.tensors import read_tensors, write_tensors

MODELS = make_models()
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def saved(model, path):
    model.save(path)
    return load(path)


def same(a, b):
    """Whether two values are equal to the bit, nan included, and of the same kind."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        equal_nan = a.dtype.kind == "f"
        return (
            type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=equal_nan)
        )
    if sp.issparse(a):
        return type(a) is type(b) and all(
            same(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr")
        )
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dataclass_fields__"):
        parts = [f.name for f in fields(a)]
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in parts)
    return a == b or (a != a and b != b)


def without_dual(result):
    return {f.name: getattr(result, f.name) for f in fields(result) if f.name != "p"}


# ---------------------------------------------------------------------------------- there and back


@each_model
def test_a_loaded_model_is_the_same(model, tmp_path):
    again = saved(model, tmp_path / "m.safetensors")
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model)) - {"_stream_rng"}
    for name, value in model.get_params().items():
        assert same(getattr(again, name), value), name
    for name, value in vars(model).items():
        if name in ("result_", "results_") or name.startswith("_"):
            continue
        assert same(getattr(again, name), value), name
    for old, new in zip([model.result_], [again.result_], strict=True):
        a, b = without_dual(old), without_dual(new)
        assert type(old) is type(new)
        assert all(same(a[n], b[n]) for n in a if n != "x")
        np.testing.assert_array_equal(a["x"], b["x"])


@each_model
def test_predictions_are_equal_to_the_bit(model, tmp_path):
    again = saved(model, tmp_path / "m.safetensors")
    for rows in (ROWS, ROWS.astype(np.float32)):
        for method in ("predict", "decision_function", "predict_proba", "score_samples"):
            if hasattr(model, method):
                assert same(getattr(again, method)(rows), getattr(model, method)(rows))


@each_model
def test_saving_a_loaded_model_gives_the_same_bytes(model, tmp_path):
    model.save(tmp_path / "a")
    load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    "classes",
    [
        np.array([-1, 1]),
        np.array([3, 7, 9], dtype=np.int8),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([0.0, 1.0, 2.0]),
        np.array([1.0, 2.0], dtype=np.float32),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["", "é", "漢字", "\U0001f600\0a"], dtype="U10"),
        np.array(["a", "b", "\ud800"], dtype=object),
        np.array([1, 2], dtype=">i4"),
    ],
    ids=lambda classes: f"{classes.dtype}-{len(classes)}",
)
def test_classes_of_all_kinds(classes, tmp_path):
    k = np.arange(60) % len(classes)
    model = LinearClassifier(random_state=0, tol=0.1).fit(ROWS, classes[k])
    again = saved(model, tmp_path / "m")
    assert again.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": losses.EpsilonInsensitive(epsilon=0.25)},
        {"loss": losses.Log()},
        {"class_weight": {"ham": 2.0, "späm": np.float64(1.0)}},
        {"class_weight": "balanced"},
        {"random_state": np.int64(3), "tol": np.float32(0.1)},
        {"max_seconds": np.inf, "max_epochs": 10, "tol": None, "verbose": False},
    ],
)
def test_parameters_of_all_kinds(parameters, tmp_path):
    model = LinearClassifier(**parameters).fit(ROWS, WORDS)
    again = saved(model, tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert repr(again.loss) == repr(model.loss)


@pytest.mark.parametrize("cv", [3, None, [(np.arange(40), np.arange(40, 60))]])
def test_folds_of_a_search(cv, tmp_path):
    model = LinearClassifierCV(alphas=(0.1, 0.2), ps=[2], cv=cv, tol=0.1).fit(ROWS, SIGNS)
    again = saved(model, tmp_path / "m")
    assert same(again.cv, cv)
    assert same(again.alphas, (0.1, 0.2))


def test_feature_names(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["a", "größe", "", "d"])
    model = LinearRegressor().fit(frame, NUMBERS)
    again = saved(model, tmp_path / "m")
    assert again.feature_names_in_.dtype == object
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"a": "z"}))


def test_a_warm_start_goes_on_from_a_loaded_model(tmp_path):
    model = LinearClassifier(solver="dual", warm_start=True, random_state=0, tol=1e-4)
    model.fit(ROWS, SIGNS)
    again = saved(model, tmp_path / "m")
    np.testing.assert_array_equal(again.result_.p, model.result_.p)
    again.fit(ROWS, SIGNS)
    model.fit(ROWS, SIGNS)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.result_.reads == model.result_.reads


def test_without_warm_starts_the_file_does_not_grow_with_the_rows(tmp_path):
    rows, y = np.tile(ROWS, (50, 1)), np.tile(SIGNS, 50)
    model = LinearClassifier(random_state=0).fit(rows, y)
    model.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 4000
    assert len(load(tmp_path / "m").result_.p) == 0


def test_a_loaded_model_learns_from_a_stream(tmp_path):
    model = LinearClassifier(random_state=0).fit(ROWS, SIGNS)
    again = saved(model, tmp_path / "m").partial_fit(ROWS, SIGNS)
    np.testing.assert_array_equal(again.coef_, model.partial_fit(ROWS, SIGNS).coef_)
    stream = saved(LinearClassifier(random_state=0).partial_fit(ROWS, SIGNS), tmp_path / "s")
    stream.partial_fit(ROWS, THREE)
    assert stream.classes_.tolist() == [0, 1, 2]
    assert stream.n_rows_seen_ == 120


def test_weights_of_single_precision_stay_so(tmp_path):
    model = LinearClassifier(random_state=0).fit(ROWS, SIGNS)
    model.coef_ = model.coef_.astype(np.float32)[:, ::-1]
    again = saved(model, tmp_path / "m")
    assert same(again.coef_, np.ascontiguousarray(model.coef_))


# ----------------------------------------------------------------------------------- what can't be


class Mine(losses.Hinge):
    """A loss of one's own."""


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"callback": print}, r"callback=<built-in function print> can't be stored.*callback=None"),
        ({"random_state": np.random.RandomState(0)}, "random_state=.*to an integer or None"),
        ({"random_state": np.random.default_rng(0)}, "random_state=.*to an integer or None"),
        ({"loss": Mine()}, "loss=.*the name of a loss of skimlearn"),
    ],
)
def test_what_holds_code_or_state_is_refused(parameters, message, tmp_path):
    model = LinearClassifier(**parameters).fit(ROWS, SIGNS)
    with pytest.raises(ModelError, match=message):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    name = next(iter(parameters))
    model.set_params(**{name: "hinge" if name == "loss" else None}).save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").coef_, model.coef_)


def test_a_splitter_and_a_scorer_are_refused(tmp_path):
    model = LinearClassifierCV(alphas=[0.1], cv=KFold(2), tol=0.1).fit(ROWS, SIGNS)
    with pytest.raises(ModelError, match=r"cv=KFold.*set cv to an integer or None"):
        model.save(tmp_path / "m")
    model.set_params(cv=2, scoring=lambda *_: 0.0)
    with pytest.raises(ModelError, match=r"scoring=.*the name of a score"):
        model.save(tmp_path / "m")


def test_a_parameter_that_holds_itself_is_refused(tmp_path):
    model = LinearClassifier().fit(ROWS, SIGNS)
    model.class_weight = [1]
    model.class_weight.append(model.class_weight)
    with pytest.raises(ModelError, match="class_weight"):
        model.save(tmp_path / "m")


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    for model in (LinearClassifier(), SublinearSVC(), EnclosingBall()):
        with pytest.raises(NotFittedError):
            model.save(tmp_path / "m")


def test_a_class_of_ones_own_is_refused(tmp_path):
    own = type("LinearClassifier", (LinearClassifier,), {})
    with pytest.raises(ModelError, match="class LinearClassifier can't be saved"):
        own().fit(ROWS, SIGNS).save(tmp_path / "m")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused_before_the_old_file_goes(value, tmp_path):
    model = LinearClassifier().fit(ROWS, SIGNS)
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    model.coef_ = model.coef_ * value
    with pytest.raises(ModelError, match="coef_ holds nan or inf"):
        model.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_classes_that_no_file_can_hold(tmp_path):
    model = LinearClassifier().fit(ROWS, SIGNS)
    model.classes_ = np.array([1, "a"], dtype=object)
    with pytest.raises(ModelError, match="classes_ holds object objects that are not all texts"):
        model.save(tmp_path / "m")
    model.classes_ = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
    with pytest.raises(ModelError, match="classes_ of the dtype datetime64"):
        model.save(tmp_path / "m")


def test_paths(tmp_path):
    model = LinearClassifier().fit(ROWS, SIGNS)
    model.save(str(tmp_path / "m"))
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) & 0o400
    with pytest.raises(TypeError, match="path=3 must be a path"):
        model.save(3)
    with pytest.raises(TypeError, match="path=None must be a path"):
        load(None)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "none" / "m")
    with pytest.raises(ModelError, match="is not a file"):
        load(tmp_path)
    assert os.listdir(tmp_path) == ["m"]


def test_a_disk_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    model = LinearClassifier().fit(ROWS, SIGNS)
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def full(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        LinearClassifier(alpha=1.0).fit(ROWS, SIGNS).save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


# -------------------------------------------------------------------------------------- the format


@each_model
def test_the_files_are_what_the_safetensors_package_reads(model, tmp_path):
    safetensors = pytest.importorskip("safetensors")
    model.save(tmp_path / "m")
    ours, metadata = read_tensors(tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", framework="numpy") as file:
        assert file.metadata() == metadata
        assert set(file.keys()) == set(ours)
        assert all(same(file.get_tensor(name), array) for name, array in ours.items())


def test_what_the_safetensors_package_writes_can_be_read(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    kinds = ["?", "f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
    arrays = {kind: np.arange(6).astype(kind).reshape(2, 3) for kind in kinds}
    arrays |= {"none": np.zeros((0, 3)), "scalar": np.full((), 2.5)}
    numpy.save_file(arrays, tmp_path / "m", metadata={"a": "é"})
    found, metadata = read_tensors(tmp_path / "m")
    assert metadata == {"a": "é"}
    assert set(found) == set(arrays)
    assert all(same(found[name], arrays[name]) for name in arrays)
    with pytest.raises(ModelError, match="was not written by skimlearn"):
        load(tmp_path / "m")
    with open(tmp_path / "n", "wb") as file:
        write_tensors(file, arrays, {"a": "é"})
    assert all(same(numpy.load_file(tmp_path / "n")[name], arrays[name]) for name in arrays)


def test_the_layout_of_version_1(tmp_path):
    """Files that are out in the world must stay readable: this layout may not change."""
    model = LinearRegressor(alpha=0.5, max_epochs=7).fit(ROWS, NUMBERS)
    model.save(tmp_path / "m")
    header, description, data = split((tmp_path / "m").read_bytes())
    assert set(header) == {
        "__metadata__", "coef_", "intercept_", "results.0.history", "results.0.history_reads",
    }  # fmt: skip
    assert len(data) % 8 == 0
    assert set(description) == {
        "format", "version", "class", "parameters", "attributes", "results",
    }  # fmt: skip
    assert description["format"] == 1
    assert description["version"] == skimlearn.__version__
    assert description["class"] == "LinearRegressor"
    assert description["parameters"]["alpha"] == 0.5
    assert description["attributes"] == {
        "n_features_in_": 4, "n_iter_": model.n_iter_, "n_rows_seen_": 60,
    }  # fmt: skip
    assert description["results"][0]["status"] == "CONVERGED"


# ------------------------------------------------------------------------------------ hostile files


def change(tmp_path, model, edit):
    """Load a file after its header and its description went through a function."""
    model.save(tmp_path / "m")
    header, description, data = split((tmp_path / "m").read_bytes())
    data = edit(header, description, data) or data
    (tmp_path / "m").write_bytes(join(header, description, data))
    return load(tmp_path / "m")


def test_an_unchanged_file_can_be_loaded(tmp_path):
    assert change(tmp_path, MODELS["binary"], lambda h, d, data: None).alpha == 1e-4


def test_a_parameter_that_came_later_has_its_default(tmp_path):
    model = change(
        tmp_path, MODELS["binary"], lambda h, d, data: d["parameters"].pop("radius") or data
    )
    assert model.radius is None


def put(*path_and_value):
    *path, last, value = path_and_value

    def edit(header, description, data):
        tree = {"h": header, "d": description}
        for key in path:
            tree = tree[key]
        tree[last] = value

    return edit


@pytest.mark.parametrize("threads", [0.5, 0, True, "2", {"type": "loss", "value": ["hinge", {}]}])
@pytest.mark.parametrize("name", ["binary", "kernel"])
def test_a_number_of_threads_that_no_prediction_could_use(threads, name, tmp_path):
    """Seeds 50011907 and 50012809 of tools/fuzz_model.py."""
    with pytest.raises(ModelError, match="n_jobs"):
        change(tmp_path, MODELS[name], put("d", "parameters", "n_jobs", threads))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (put("d", "format", 2), r"format is 2.*reads up to 1.*from skimlearn .*upgrade"),
        (put("d", "format", True), "no version"),
        (put("d", "format", "1"), "no version"),
        (put("d", "more", 1), "the description has the parts"),
        (put("d", "class", "os.system"), "class 'os.system' is not one of"),
        (put("d", "class", "LinearRegressor"), r"parameters \[.*\] are not known"),
        (put("d", "class", ["LinearRegressor"]), "is not one of"),
        (put("d", "parameters", []), "parameters must be an object"),
        (put("d", "parameters", "gamma", 1), r"parameters \['gamma'\] are not known"),
        (put("d", "parameters", "loss", {"type": "code", "value": "1"}), "loss can't be read"),
        (put("d", "parameters", "loss", {"type": "loss", "value": ["evil", {}]}), "loss can't be"),
        (put("d", "parameters", "tol", {"type": "loss", "value": ["huber", {"delta": 0}]}), "tol"),
        (put("d", "parameters", "tol", {"type": "float", "value": "1e400"}), "tol can't be read"),
        (put("d", "attributes", "n_features_in_", 5), "4 columns, but n_features_in_ is 5"),
        (put("d", "attributes", "n_iter_", -1), "n_iter_ is -1"),
        (put("d", "attributes", "n_iter_", 1.5), "n_iter_ is 1.5"),
        (put("d", "attributes", "n_iter_", True), "n_iter_ is True"),
        (put("d", "attributes", "multilabel_", 1), "multilabel_ is 1"),
        (put("d", "attributes", "multilabel_", True), "coef_ has 1 rows, but 2 are needed"),
        (put("d", "attributes", "spare_", 1), r"attributes \['spare_'\] do not belong"),
        (put("d", "results", []), "results must be a list of 1"),
        (put("d", "results", 0, "status", "FINE"), "status of results.0 is 'FINE'"),
        (put("d", "results", 0, "kind", "Popen"), "one of the kinds"),
        (put("d", "results", 0, "reads", [1, 2]), "three integers"),
        (put("d", "results", 0, "bias", "x"), "bias of results.0 must be a number"),
        (put("d", "results", 0, "bias", 10**400), "bias of results.0 is too large"),
        (put("d", "results", 0, "certificate", [1, 2]), "four values"),
        (put("h", "coef_", "dtype", "I64"), "coef_ is of int64"),
        (put("h", "coef_", "dtype", "F8_E4M3"), "'coef_' is of the dtype 'F8_E4M3'"),
        (put("h", "coef_", "dtype", ["F64"]), "is of the dtype"),
        (put("h", "coef_", "shape", [2, 2]), "coef_ has 2 columns"),
        (put("h", "coef_", "shape", [1, 5]), "has 32 bytes, but its shape needs 40"),
        (put("h", "coef_", "shape", [-1, -4]), "has the shape"),
        (put("h", "coef_", "shape", [1, 4.0]), "has the shape"),
        (put("h", "coef_", "shape", [1] * 50), "has the shape"),
        (put("h", "coef_", "shape", [True, 4]), "has the shape"),
        (put("h", "coef_", "data_offsets", [2**62, 2**62 + 32]), "begins at byte"),
        (put("h", "coef_", "data_offsets", [32, 0]), "has the data_offsets"),
        (put("h", "coef_", "data_offsets", None), "has the data_offsets"),
        (put("h", "coef_", {}), "must have a dtype, a shape and data_offsets"),
        (put("h", "spare", {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}), "do not belong"),
        (
            put("h", "spare", {"dtype": "F64", "shape": [0, 2**62], "data_offsets": [0, 0]}),
            "is too large",
        ),
        (put("h", "__metadata__", "more", 1), "__metadata__ of the header must be"),
    ],
)  # fmt: skip
def test_wrong_descriptions(edit, message, tmp_path):
    with pytest.raises(ModelError, match=message):
        change(tmp_path, MODELS["binary"], edit)


POLY = {"degree": 2.0, "gamma": 0.3, "coef0": 0.0}


@pytest.mark.parametrize(
    ("model", "edit", "message"),
    [
        ("kernel", put("d", "parameters", "kernel", {"type": "kernel", "value": ["os", {}]}),
         "kernel can't be read"),
        ("kernel", put("d", "attributes", "kernel_", "rbf"), "'rbf', which is no kernel"),
        ("kernel", put("d", "attributes", "kernel_", "value", 1, {"gamma": -1.0}), "kernel_ can't"),
        ("kernel", put("d", "attributes", "kernel_", "value", 1, {"gamma": "1"}), "kernel_ can't"),
        ("kernel", put("d", "attributes", "kernel_", "value", ["poly", {**POLY, "degree": 900.0}]),
         "not finite for the rows"),
        ("kernel", put("d", "attributes", "n_features_in_", 5), "support_vectors_ must be"),
        ("kernel", put("h", "support_", "dtype", "F64"), "support_ must be a list of integers"),
        ("kernel", put("h", "support_vectors_", "dtype", "I64"), "support_vectors_ must be"),
        ("kernel ball", put("d", "parameters", "kernel", None), "center_ is missing"),
        ("kernel ball", put("d", "attributes", "_square", {"type": "float", "value": "nan"}),
         "_square is not finite"),
        ("ball", put("d", "parameters", "kernel", "rbf"), "_square"),
    ],
)  # fmt: skip
def test_wrong_descriptions_of_kernels(model, edit, message, tmp_path):
    with pytest.raises(ModelError, match=message):
        change(tmp_path, MODELS[model], edit)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("support_", 0, 10**6, "ascending order"),
        ("support_", 0, -1, "ascending order"),
        ("support_vectors_.indices", 1, 4, "do not make a matrix"),
        ("support_vectors_.indices", 1, -1, "do not make a matrix"),
        ("support_vectors_.indptr", 0, 1, "do not make a matrix"),
        ("support_vectors_.indptr", 2, 10**6, "do not make a matrix"),
        ("support_vectors_.data", 0, np.nan, "can't be used.*NaN"),
        ("support_vectors_.data", 0, 1e200, "can't be used"),
        ("dual_coef_", (0, 0), np.inf, "dual_coef_ holds nan or inf"),
    ],
)
def test_wrong_support_rows(name, place, value, message, tmp_path):
    path = tmp_path / "m"
    MODELS["sparse kernel"].save(path)
    tensors, metadata = read_tensors(path)
    tensors[name] = tensors[name].copy()
    tensors[name][place] = value
    with path.open("wb") as file:
        write_tensors(file, tensors, metadata)
    with pytest.raises(ModelError, match=message):
        load(path)


def test_arrays_may_not_overlap(tmp_path):
    def edit(header, description, data):
        start = header["classes_"]["data_offsets"][0]
        header["intercept_"]["data_offsets"] = [start, start + 8]

    with pytest.raises(ModelError, match="begins at byte"):
        change(tmp_path, MODELS["binary"], edit)


@pytest.mark.parametrize("array", ["coef_", "intercept_"])
def test_nan_in_a_file_is_found(array, tmp_path):
    def edit(header, description, data):
        start, stop = header[array]["data_offsets"]
        return data[:start] + np.full((stop - start) // 8, np.nan).tobytes() + data[stop:]

    with pytest.raises(ModelError, match=f"{array} holds nan or inf"):
        change(tmp_path, MODELS["binary"], edit)


def test_classes_in_a_file_are_in_order(tmp_path):
    def edit(header, description, data):
        start, stop = header["classes_"]["data_offsets"]
        return data[:start] + np.array([1, 1]).tobytes() + data[stop:]

    with pytest.raises(ModelError, match="ascending order, each class once"):
        change(tmp_path, MODELS["binary"], edit)


def test_texts_that_are_none(tmp_path):
    model = MODELS["multiclass"]

    def ends(header, description, data):
        start, stop = header["classes_.ends"]["data_offsets"]
        return data[:start] + np.array([5, 3, 28]).tobytes() + data[stop:]

    def letters(header, description, data):
        start, stop = header["classes_.text"]["data_offsets"]
        return data[:start] + b"\xff" * (stop - start) + data[stop:]

    with pytest.raises(ModelError, match=r"classes_.ends does not fit"):
        change(tmp_path, model, ends)
    with pytest.raises(ModelError, match="classes_ is not UTF-8"):
        change(tmp_path, model, letters)
    with pytest.raises(ModelError, match="classes_ has the width 3"):
        change(tmp_path, model, put("d", "attributes", "classes_", {"width": 3}))
    wide = change(tmp_path, model, put("d", "attributes", "classes_", {"width": 2**40}))
    assert wide.classes_.dtype.itemsize < 1000  # no more memory than the file is long, or nearly


def header_of(text, data=b""):
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"abc", "cut off, or not of the safetensors format"),
        (b"PK\x03\x04 this is a zip archive", "not of the safetensors format"),
        (pickle.dumps(LinearClassifier()), "not of the safetensors format"),
        ((2**64 - 1).to_bytes(8, "little") + b"{}", "announce a header of 18446744073709551615"),
        ((10**8 + 1).to_bytes(8, "little") + b"{}", "announce a header"),
        (header_of(b"[]"), "the header must be a JSON object, not list"),
        (header_of(b"3"), "the header must be a JSON object, not int"),
        (header_of(b"{"), "the header is not JSON"),
        (header_of(b""), "the header is not JSON"),
        (header_of(b'{"\xff": 1}'), "the header is not JSON: 'utf-8'"),
        (header_of(b'{"a":' + b"[" * 10**6 + b"]" * 10**6 + b"}"), "the header is not JSON"),
        (header_of(b'{"a":' * 10**5 + b"1" + b"}" * 10**5), "the header is not JSON"),
        (header_of(b'{"a": 1, "a": 2}'), "the header has the name 'a' twice"),
        (header_of(b'{"a": {"b": 1, "b": 2}}'), "the header has the name 'b' twice"),
        (header_of(b'{"a": NaN}'), "the header holds NaN"),
        (header_of(b'{"a": ' + b"9" * 5000 + b"}"), "the header is not JSON|must have a dtype"),
        (header_of(b"{}", b"xx"), "longer than it should be"),
        (header_of(b'{"__metadata__": []}'), "must be an object of texts"),
        (header_of(b"{}"), "was not written by skimlearn"),
        (header_of(b'{"__metadata__": {"skimlearn": "[]"}}'), "description must be a JSON object"),
        (header_of(b'{"__metadata__": {"skimlearn": "{"}}'), "the description is not JSON"),
        (
            header_of(json.dumps({"__metadata__": {"skimlearn": "[" * 10**5}}).encode()),
            "the description is not JSON",
        ),
    ],
)  # fmt: skip
def test_files_that_are_no_models(content, message, tmp_path):
    (tmp_path / "m").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=message) as caught:
            load(tmp_path / "m")
        assert tracemalloc.get_traced_memory()[1] < 10**6 + 100 * len(content)
    finally:
        tracemalloc.stop()
    assert str(tmp_path / "m") in str(caught.value)
    assert len(str(caught.value)) < 500


@each_model
def test_a_file_that_is_cut_off_anywhere_is_refused(model, tmp_path):
    model.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    for length in range(0, len(content), 37):
        (tmp_path / "m").write_bytes(content[:length])
        with pytest.raises(ModelError):
            load(tmp_path / "m")


@each_model
def test_broken_files_are_refused_or_make_predictions(model, tmp_path):
    """The same as `tools/fuzz_model.py`, which goes on for minutes."""
    model.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        (tmp_path / "m").write_bytes(mutate(rng, content))
        try:
            found = load(tmp_path / "m")
        except ModelError:
            refused += 1
        else:
            assert len(two_predictions(found)) == 2
    assert refused > 75


def test_a_nested_description_is_refused(tmp_path):
    deep = 1
    for _ in range(900):
        deep = [deep]
    with pytest.raises(ModelError, match=r"nested too deep|not JSON"):
        change(tmp_path, MODELS["binary"], put("d", "parameters", "class_weight", deep))


def test_the_state_of_an_imported_model_is_stored(tmp_path):
    model = skimlearn.from_sklearn(skimlearn.to_sklearn(MODELS["binary"]))
    again = saved(model, tmp_path / "m")
    assert again.result_.status is Status.IMPORTED
    assert np.isnan(again.result_.certificate.primal)
