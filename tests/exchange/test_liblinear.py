"""liblinear's model files: hand-made ones, its own, and there and back."""

import os

import numpy as np
import pytest

from model_files import NUMBERS, ROWS, SIGNS, THREE, WORDS
from skimlearn import (
    EnclosingBall,
    LinearClassifier,
    LinearRegressor,
    ModelError,
    SublinearSVC,
    read_liblinear,
    write_liblinear,
)

POINTS = np.random.default_rng(1).normal(size=(40, 3))

# Written by liblinear 2.50, with its options -s 0 -B 1, -s 3, -s 2 -B 0.5, -s 4 -B 1, -s 11 -B 2.
LOGISTIC = """solver_type L2R_LR
nr_class 2
label 5 2
nr_feature 3
bias 1
w
-1.9600691138696875 
-1.1310245565069095 
-0.44025448994976113 
0.48070726966178123 
"""  # noqa: W291
HINGE = """solver_type L2R_L1LOSS_SVC_DUAL
nr_class 2
label 2 5
nr_feature 3
bias -1
w
1.3483568015384926 
1.0222145884794365 
0.15682211171360325 
"""  # noqa: W291
THREE_CLASSES = """solver_type L2R_L2LOSS_SVC
nr_class 3
label 10 -10 0
nr_feature 3
bias 0.5
w
1.2059326241513744 -1.1683071578930377 0.1379399977506095 
0.15447684247945179 -0.086545981086917745 -0.15288529594299485 
-1.0334904069555193 1.0262714972637355 -0.10494677132662375 
-1.1553519203879012 -1.1712140191723928 -0.77758206939795649 
"""  # noqa: W291
CROSS = """solver_type MCSVM_CS
nr_class 2
label 5 2
nr_feature 3
bias 1
w
-0.92696998988605872 0.92696998988605928 
-0.65107942112168637 0.65107942112168737 
-0.1445048380284685 0.14450483802846822 
0.28593655865733825 -0.28593655865733841 
"""  # noqa: W291
REGRESSION = """solver_type L2R_L2LOSS_SVR
nr_class 2
nr_feature 3
bias 2
w
0.96516757285331312 
1.8807476453685203 
-0.95920650399337326 
0.0068007573744596535 
"""  # noqa: W291
ALL = [LOGISTIC, HINGE, THREE_CLASSES, CROSS, REGRESSION]


def naive(text, rows):
    """What liblinear's predict does, step by step: labels or numbers, and decision values."""
    head, body = text.split("\nw\n")
    fields = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    w = np.array([line.split() for line in body.splitlines()], dtype=float)
    bias = float(fields["bias"][0])
    if bias >= 0:
        rows = np.column_stack([rows, np.full(len(rows), bias)])
    values = rows @ w
    if "label" not in fields:
        return values[:, 0], values
    label = np.array(fields["label"], dtype=int)
    if w.shape[1] == 1:
        return np.where(values[:, 0] > 0, label[0], label[1]), values
    return label[values.argmax(axis=1)], values


def read(tmp_path, text):
    (tmp_path / "m").write_text(text)
    return read_liblinear(tmp_path / "m")


@pytest.mark.parametrize("text", ALL)
def test_files_of_liblinear_are_read(text, tmp_path):
    model = read(tmp_path, text)
    predictions, values = naive(text, POINTS)
    if isinstance(model, LinearRegressor):
        np.testing.assert_allclose(model.predict(POINTS), predictions, rtol=1e-12)
        return
    np.testing.assert_array_equal(model.predict(POINTS), predictions)
    assert len(np.unique(predictions)) > 1
    if text is THREE_CLASSES:
        assert model.classes_.tolist() == [-10, 0, 10]
        np.testing.assert_allclose(
            model.decision_function(POINTS), values[:, [1, 2, 0]], rtol=1e-12
        )


def test_the_sign_of_two_classes(tmp_path):
    model = read(tmp_path, LOGISTIC)  # 5 is positive for liblinear, and the second class here
    assert model.classes_.tolist() == [2, 5]
    assert model.coef_[0, 0] == -1.9600691138696875
    assert model.intercept_[0] == 0.48070726966178123
    likely = 1.0 / (1.0 + np.exp(-naive(LOGISTIC, POINTS)[1][:, 0]))
    np.testing.assert_allclose(model.predict_proba(POINTS)[:, 1], likely)
    model = read(tmp_path, HINGE)  # 2 is, but the first here
    assert model.coef_[0, 0] == -1.3483568015384926
    assert model.intercept_.tolist() == [0.0]


def fitted():
    return [
        LinearClassifier("log", random_state=0).fit(ROWS, SIGNS),
        LinearClassifier("hinge", bias="none", random_state=0).fit(ROWS, 1 - 2 * SIGNS),
        LinearClassifier("squared", random_state=0).fit(ROWS, THREE),
        LinearClassifier(random_state=0).fit(ROWS, SIGNS.astype(float)),
        LinearRegressor(random_state=0).fit(ROWS, NUMBERS),
        LinearRegressor("absolute", bias="none", random_state=0).fit(ROWS, NUMBERS),
        SublinearSVC(kappa=0.9, eps=0.1, random_state=0).fit(ROWS, SIGNS),
    ]


@pytest.mark.parametrize("model", fitted())
def test_there_and_back(model, tmp_path):
    write_liblinear(model, tmp_path / "m")
    again = read_liblinear(tmp_path / "m")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
    text = (tmp_path / "m").read_text()
    np.testing.assert_allclose(naive(text, ROWS)[0], model.predict(ROWS), rtol=1e-12)
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize("model", fitted())
def test_liblinear_predicts_the_same_from_what_is_written(model, tmp_path):
    util = pytest.importorskip("liblinear.liblinearutil", reason="liblinear is not installed")
    write_liblinear(model, tmp_path / "m")
    theirs = util.load_model(str(tmp_path / "m"))
    found = util.predict([], ROWS, theirs, "-q")[0]
    np.testing.assert_allclose(found, model.predict(ROWS), rtol=1e-9)


@pytest.mark.parametrize(
    "options", ["-s 0 -B 1", "-s 1", "-s 2 -B 3", "-s 3", "-s 4", "-s 5", "-s 7"]
)
@pytest.mark.parametrize("y", [SIGNS, 1 - SIGNS, THREE, 7 - 3 * THREE], ids=[0, 1, 2, 3])
def test_what_liblinear_writes_predicts_the_same_here(options, y, tmp_path):
    util = pytest.importorskip("liblinear.liblinearutil", reason="liblinear is not installed")
    theirs = util.train(y, ROWS, options + " -q")
    util.save_model(str(tmp_path / "m"), theirs)
    model = read_liblinear(tmp_path / "m")
    np.testing.assert_array_equal(model.predict(ROWS), util.predict([], ROWS, theirs, "-q")[0])


def test_probabilities_are_liblinears(tmp_path):
    util = pytest.importorskip("liblinear.liblinearutil", reason="liblinear is not installed")
    theirs = util.train(THREE, ROWS, "-s 0 -B 1 -q")
    util.save_model(str(tmp_path / "m"), theirs)
    likely = np.array(util.predict([], ROWS, theirs, "-q -b 1")[2])
    order = np.argsort(theirs.get_labels())
    np.testing.assert_allclose(read_liblinear(tmp_path / "m").predict_proba(ROWS), likely[:, order])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("w\n", "v\n", "there is no line 'w'"),
        ("L2R_LR", "MY_OWN", "solver_type MY_OWN is not one of"),
        ("L2R_LR", "ONECLASS_SVM\nrho 1", "solver_type ONECLASS_SVM is not one of"),
        ("label 5 2\n", "", "2 different labels"),
        ("label 5 2", "label 5 5", "2 different labels"),
        ("label 5 2", "label 5 2 1", "2 different labels"),
        ("label 5 2", "label 5 x", "label must be an integer, not 'x'"),
        ("nr_class 2", "nr_class 1", "1 different labels"),
        ("nr_class 2", "nr_class 3", "3 different labels"),
        ("nr_class 2\n", "", r"\['nr_class'\] are missing"),
        ("nr_class 2", "nr_class 2\nnr_class 2", "'nr_class 2' is not understood"),
        ("nr_class 2", "nr_class 2 2", "'nr_class 2 2' is not understood"),
        ("nr_feature 3", "nr_feature 4", "the file is cut off"),
        ("nr_feature 3", "nr_feature 2", "longer than it should be"),
        ("nr_feature 3", "nr_feature 99999999999", "the file is cut off"),
        ("nr_feature 3", "nr_feature " + "9" * 5000, "nr_feature must be an integer"),
        ("nr_feature 3", "nr_feature -3", "nr_feature must not be negative"),
        ("bias 1", "bias nan", "bias must be finite"),
        ("bias 1", "bias x", "bias must be numbers"),
        ("-1.96", "nan ", "longer than it should be|must be finite"),
        ("-1.9600691138696875", "inf", "the weights must be finite"),
        ("-1.9600691138696875", "x", "the weights must be numbers"),
        (LOGISTIC, "", "there is no line 'w'"),
        (LOGISTIC, "\nw\n", "are missing"),
    ],
)
def test_files_that_are_wrong(old, new, message, tmp_path):
    assert old in LOGISTIC
    with pytest.raises(ModelError, match=message) as caught:
        read(tmp_path, LOGISTIC.replace(old, new))
    assert str(tmp_path / "m") in str(caught.value)


def test_broken_files_are_refused_or_make_predictions(tmp_path):
    rng = np.random.default_rng(0)
    refused = 0
    for k in range(400):
        text = bytearray(ALL[k % len(ALL)].encode())
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(text)))
            if rng.random() < 0.5:
                text[at] = rng.integers(256)
            else:
                del text[at : at + int(rng.integers(1, 9))]
        (tmp_path / "m").write_bytes(text)
        try:
            model = read_liblinear(tmp_path / "m")
        except ModelError:
            refused += 1
        else:
            assert len(model.predict(np.ones((2, model.n_features_in_)))) == 2
    assert refused > 100


def test_models_that_liblinear_has_no_form_for(tmp_path):
    with pytest.raises(ModelError, match="labels are whole numbers of 32 bits"):
        write_liblinear(LinearClassifier().fit(ROWS, WORDS), tmp_path / "m")
    with pytest.raises(ModelError, match="whole numbers"):
        write_liblinear(LinearClassifier().fit(ROWS, SIGNS * 2**40), tmp_path / "m")
    labels = np.stack([SIGNS, 1 - SIGNS], axis=1)
    with pytest.raises(ValueError, match="many labels a row"):
        write_liblinear(LinearClassifier().fit(ROWS, labels), tmp_path / "m")
    with pytest.raises(TypeError, match="not EnclosingBall"):
        write_liblinear(EnclosingBall().fit(ROWS), tmp_path / "m")
    assert os.listdir(tmp_path) == []
