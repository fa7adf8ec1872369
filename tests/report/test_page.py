"""The page: what it says, and that nothing in it can be taken for more than text."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import confusion_matrix, r2_score, roc_auc_score

import skimlearn
from report_entries import EVIL, classifier, history, regressor, result, rows
from skimlearn.data.ledger import Reads
from skimlearn.estimators._base import summary
from skimlearn.estimators.path import Path
from skimlearn.report import Entry, ErrorRecord, error_curve, page, write
from skimlearn.result import Certificate, Status

VOID = {"meta", "input", "br", "img"}


class Reader(HTMLParser):
    """The elements, the text outside of scripts, and the data of a page; tags must be balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.data = [], [], [], None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tag, attrs = self.open[-1] if self.open else ("", {})
        if tag == "script":
            if attrs.get("id") == "data":
                self.data = json.loads(data)
        elif tag != "style":
            self.texts.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def count(self, tag):
        return sum(found == tag for found, _ in self.tags)


@pytest.fixture(autouse=True)
def small_script(monkeypatch):
    """The script of plotly is large, and not what is tested here."""
    monkeypatch.setattr("skimlearn.report._build._plotly", lambda: "/* plotly */")


def read(*entries, **options):
    return Reader(page(list(entries), **options))


def test_the_certificate_in_words():
    found = read(result())
    assert "0.0011 % above the optimum, at most" in found.text
    assert "has the value 1.000005, and no answer has one below 0.999995: it is" in found.text
    assert "This is proven." in found.text
    assert "It stopped because the target gap was reached." in found.text


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        (Certificate(0.2, 0.25, maximize=True), "no answer has one above 0.25: it is at most 20 %"),
        (Certificate(0.2, 0.25, maximize=True), "below the optimum"),
        (Certificate(0.5, 0.4, failure=0.05), "fails in at most 5 % of all runs"),
        (Certificate(np.nan, -np.inf), "There is no certificate"),
        (Certificate(2.0, -np.inf), "a bound of the optimum is not known yet"),
        (Certificate(1.0, 0.5), "it is at most 100 % (0.5) above the optimum"),  # it may be 0.5
        (Certificate(1.0, -1.0), "it is at most 2 above the optimum"),
        (Certificate(0.0, -0.5), "it is at most 0.5 above the optimum"),
        (Certificate(1.0, 1.0 - 1e-15), "it is the optimum, up to rounding"),
        (Certificate(-2.0, -2.5), "has the value −2, and no answer has one below −2.5"),
    ],
)
def test_every_kind_of_certificate(certificate, words):
    assert words in certificate.words
    assert words in read(result(certificate=certificate)).text


def test_figures_stand_side_by_side():
    found = read(
        Entry(result(), name="one"),
        Entry(result(reads=Reads(9, 7, 5), seconds=500.0, solver="sgd"), name="two"),
    )
    assert "entries read to learn 3,200 7 " in found.text
    assert "entries read to certify 700 5 " in found.text
    assert "time 400 ms 8 min " in found.text
    assert "solver dual sgd " in found.text
    assert found.count("article") == 2


def test_the_curves_are_those_of_the_history():
    (run,) = read(result()).data["runs"][0]
    assert run["reads"] == [100, 200, 400, 800, 1600, 3200]
    assert run["epochs"] == [1, 2, 4, 8, 16, 32]
    assert run["dual"][0] is None  # -inf is no number in JSON
    assert run["gap"][0] is None
    assert run["gap"][1:] == pytest.approx([1e-1, 1e-2, 1e-3, 1e-4, 1e-5], rel=1e-4)
    assert run["relative"][1] == pytest.approx(0.1 / 1.05, rel=1e-4)


def test_a_long_history_is_thinned():
    long = [replace(history()[-1], reads=k) for k in range(10_000)]
    (run,) = read(result(history=long)).data["runs"][0]
    assert 500 < len(run["reads"]) <= 600
    assert (run["reads"][0], run["reads"][-1]) == (0, 9_999)


def test_histories_of_several_classes_stay_apart():
    model = classifier(("a", "b", "c"), histories=[history(k) for k in (1.0, 2.0, 3.0)])
    runs = read(model).data["runs"][0]
    assert [run["label"] for run in runs] == ["a", "b", "c"]
    assert [run["gap"][-1] for run in runs] == pytest.approx([1e-5, 2e-5, 3e-5], rel=1e-3)
    bare = read(summary(model.results_)).data["runs"][0]
    assert [run["gap"] for run in bare] == [run["gap"] for run in runs]


def test_of_very_many_histories_the_worst_are_drawn():
    model = classifier(
        tuple(f"{k:02d}" for k in range(25)), histories=[history(k) for k in range(25)]
    )
    found = read(model)
    assert len(found.data["runs"][0]) == 20
    assert found.data["runs"][0][0]["label"] == "24"
    assert "Of 25 problems, the 20 with the widest gaps are drawn." in found.text


def test_the_largest_weights_have_their_names():
    model = regressor(d=30)
    names = [f"feature {j}" for j in range(30)]
    text = read(Entry(model, feature_names=names)).text
    order = np.argsort(-np.abs(model.coef_))
    for j in order[:20]:
        assert f"feature {j} " in text
    for j in order[20:]:
        assert f"feature {j} " not in text
    assert f"column {order[0]} " in read(model).text


def test_predictions_of_two_classes_are_tested():
    model = classifier()
    X, y = rows(model)
    found = read(Entry(model, X=X, y=y, X_train=X[:50], y_train=y[:50]))
    table = confusion_matrix(y, model.predict(X))
    cells = " ".join(
        f"{name} {table[k, 0]} {table[k, 1]}" for k, name in enumerate(("ham", "spam"))
    )
    assert cells in found.text
    area = roc_auc_score(y == "spam", model.decision_function(X))
    assert found.data["roc"][0][0]["area"] == pytest.approx(area)
    assert f"test: accuracy {(y == model.predict(X)).mean():.4g}" in found.text
    assert found.data["calibration"][0]["y"]
    test, train = found.data["margins"][0]
    assert (test["label"], test["count"], train["label"], train["count"]) == (
        "test",
        200,
        "train",
        50,
    )
    assert sum(test["share"]) == pytest.approx(1.0, abs=1e-4)
    edges = np.array(test["edges"][1:])
    below = sum(s for s, e in zip(test["share"], edges, strict=True) if e <= 0.0)
    wrong = (y != model.predict(X)).mean()
    assert below <= wrong <= below + max(test["share"])


def test_predictions_of_many_classes_are_tested():
    model = classifier(tuple(f"class {k:02d}" for k in range(15)), d=8)
    X, y = rows(model, n=400)
    found = read(Entry(model, X=X, y=y))
    assert "rows of rarer classes are left out" in found.text
    assert "and 7 more weight vectors" in found.text
    assert 2 <= len(found.data["roc"][0]) <= 6
    margin = np.array(found.data["margins"][0][0]["edges"])
    assert margin[0] < 0.0 < margin[-1]


def test_predictions_of_many_labels_are_tested():
    model = classifier(("0", "1", "2"))
    model.multilabel_, model.classes_ = True, np.arange(3)
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = model.predict(X)
    y[0] = 1 - y[0]
    for targets in (y, csr_matrix(y)):
        found = read(Entry(model, X=X, y=targets))
        assert f"test: labels that are right {1 - 3 / 600:.4g}" in found.text
        assert "label 2" in found.text
        assert found.data["margins"][0][0]["count"] == 600


def test_a_regression_has_residuals():
    model = regressor()
    X, y = rows(model, n=2000)
    found = read(Entry(model, X=X, y=y))
    assert f"R² {r2_score(y, model.predict(X)):.4g}" in found.text
    dots = found.data["residuals"][0]
    assert (len(dots["x"]), dots["count"]) == (1500, 2000)
    assert found.data["margins"] == [[]]
    assert "Margins" not in found.text


def test_test_rows_of_one_class_or_of_a_new_one():
    model = classifier()
    X, y = rows(model)
    one = read(Entry(model, X=X, y=np.full(len(y), "spam")))
    assert one.data["roc"] == [[]]
    assert one.data["calibration"] == [None]
    other = read(Entry(model, X=X, y=np.where(y == "spam", "spam", "virus")))
    assert "virus" in other.text


def test_path_search_and_errors_are_drawn():
    model = regressor(d=12)
    path = Path(
        np.array([1e-1, 1e-2]),
        np.vstack([model.coef_, 2 * model.coef_]),
        np.zeros(2),
        [result()] * 2,
    )
    model.scores_ = np.array([[[0.5, 0.7], [0.6, 0.6]]])
    model.alphas_, model.ps = path.alphas, (2.0,)
    errors = [ErrorRecord(1.0, 0.1, 100, 0.25), ErrorRecord(2.0, 0.2, 200, 0.125)]
    found = read(Entry(model, regularization_path=path, errors=errors))
    assert len(found.data["path"][0]["lines"]) == 10
    assert found.data["search"][0][0]["mean"] == pytest.approx([0.6, 0.6])
    assert found.data["errors"][0]["error"] == [0.25, 0.125]
    assert "test error" in found.text
    assert "test error" not in read(model).text


def test_the_data_and_the_command():
    model = classifier()
    X, y = rows(model)
    entry = Entry(model, X=csr_matrix(X), y=y, X_train=X.astype(np.float32), y_train=y)
    found = read(entry)
    assert "entries tested on 600 (100 % of all)" in found.text
    assert "kind of numbers learned from float32" in found.text
    assert (
        "from skimlearn import LinearClassifier model = LinearClassifier(loss='log')" in found.text
    )
    assert "No seed was set" in found.text
    found = read(replace(entry, command="skim fit mails.svm --loss log"))
    assert "skim fit mails.svm --loss log" in found.text
    assert "No seed was set" not in found.text
    assert "No command is known" in read(result()).text


def test_a_frame_with_columns_of_odd_names_and_a_store(tmp_path):
    import pandas as pd

    model = classifier()
    X, y = rows(model)
    frame = pd.DataFrame(X, columns=["nnz", "y", "dtype"])
    model.feature_names_in_ = np.array(frame.columns, dtype=object)
    found = read(Entry(model, X=frame, y=pd.Series(y), X_train=frame))
    assert "rows tested on 200" in found.text
    assert [part["label"] for part in found.data["margins"][0]] == ["test"]  # no targets of train
    del model.feature_names_in_
    model.classes_ = np.array([-1.0, 1.0])
    store = skimlearn.Store.create(tmp_path / "store", X, np.where(y == "spam", 1.0, -1.0))
    found = read(Entry(model, X=store))
    assert "test: accuracy" in found.text
    assert "kind of numbers tested on float64" in found.text


def test_a_model_that_was_not_certified_has_a_page():
    model = classifier(histories=[[]])
    model._keep(
        [result(model.coef_[0], history=[], certificate=Certificate(np.nan, -np.inf),
                status=Status.STREAMED, p=np.zeros(0))]
    )  # fmt: skip
    text = read(model).text
    assert "There is no certificate" in text
    assert "On the way" not in text


# ------------------------------------------------------------------------------------------ safety


def evil_entry():
    model = classifier((EVIL, "ham"))
    X, y = rows(model)
    names = [EVIL, EVIL[:50], "c"]
    path = Path(np.array([1e-1, 1e-2]), np.vstack([model.coef_] * 2), np.zeros(2), [result()] * 2)
    return Entry(
        model, name=EVIL, X=X, y=y, feature_names=names, command=EVIL, regularization_path=path
    )


def test_names_are_text_and_nothing_else():
    plain = read(replace(evil_entry(), name="a", feature_names=["a" * 61, "b", "c"], command="a"))
    found = read(evil_entry(), title=EVIL)
    assert found.count("script") == plain.count("script") == 3
    assert found.count("img") == 0
    assert len(found.tags) == len(plain.tags)
    assert found.text.count("window.hacked") >= 6
    assert found.data["names"] == [EVIL]
    html = page(evil_entry(), title=EVIL)
    assert html.count("</script") == 3


def test_the_page_asks_for_nothing_from_outside():
    html = page(evil_entry())
    for tag, attributes in Reader(html).tags:
        assert not {"src", "href", "action"} & set(attributes), (tag, attributes)
    assert "@import" not in html
    assert "url(" not in html


# ----------------------------------------------------------------------------------- the functions


def test_the_same_entries_give_the_same_page():
    assert page(evil_entry()) == page(evil_entry())


def test_models_and_results_have_a_method(tmp_path):
    model = classifier()
    X, y = rows(model)
    assert "accuracy" in model.report(X=X, y=y)
    assert "dual" in model.result_.report()
    assert model.report(tmp_path / "model.html", X=X, y=y, name="mails") is None
    assert model.result_.report(tmp_path / "result.html") is None
    assert "mails" in (tmp_path / "model.html").read_text(encoding="utf-8")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.html", "result.html"]


def test_a_former_file_stays_if_no_page_can_be_made(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("former")
    model = classifier()
    with pytest.raises(ValueError, match="X is given without y"):
        write(Entry(model, X=rows(model)[0]), target)
    assert target.read_text() == "former"
    with pytest.raises(TypeError, match="path=3 must be a path"):
        write(model, 3)


@pytest.mark.parametrize(
    ("entries", "error", "message"),
    [
        ([], ValueError, "entries is empty"),
        ("model.html", TypeError, "must be a list of models"),
        (3, TypeError, "must be a list of models"),
        ([3], TypeError, "must be a fitted estimator of skimlearn or a Result"),
    ],
)
def test_what_is_no_entry_is_refused(entries, error, message):
    with pytest.raises(error, match=message):
        page(entries)


def test_entries_are_checked():
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LinearRegression

    with pytest.raises(NotFittedError):
        Entry(skimlearn.LinearClassifier())
    with pytest.raises(TypeError, match="LinearRegression has no result_"):
        Entry(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]))
    with pytest.raises(ValueError, match="feature_names has 2 names, but there are 3 columns"):
        Entry(classifier(), feature_names=["a", "b"])
    with pytest.raises(TypeError, match="a Result can't predict"):
        Entry(result(), X=[[1.0]])


def test_without_plotly_the_remedy_is_named(monkeypatch):
    import builtins

    from skimlearn.report import _build

    monkeypatch.undo()  # the small script
    real = builtins.__import__

    def absent(name, *rest, **more):
        if name.startswith("plotly"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r"pip install skimlearn\[report\]"):
        _build._plotly()


def test_an_error_curve_is_one_of_linear_models():
    with pytest.raises(TypeError, match="not of EnclosingBall"):
        error_curve(skimlearn.EnclosingBall(), None, None, None, None)


def test_an_error_curve_of_a_regression():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0]
    model = skimlearn.LinearRegressor(solver="asgd", random_state=0)
    first, last = error_curve(model, X, y, X, y, epochs=(8, 1))
    assert (first.epoch, last.epoch) == (1.0, 8.0)
    assert last.error < first.error
    assert last.reads > first.reads
    assert not hasattr(model, "coef_")


def test_a_ball_has_a_page():
    X = np.random.default_rng(0).normal(size=(50, 2))
    ball = skimlearn.EnclosingBall(contamination=0.0, random_state=0).fit(X)
    found = read(Entry(ball, X=X, y=np.ones(50, dtype=int)))
    assert "test: part of the rows outside 0" in found.text
    assert found.data["margins"][0][0]["count"] == 50
    assert "Largest weights" not in found.text


def test_a_kernel_classifier_has_a_page():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = skimlearn.KernelClassifier(alpha=1e-2, random_state=0).fit(X, X[:, 0] > 0.0)
    found = Reader(model.report(X=X, y=X[:, 0] > 0.0))
    assert "solver working-set" in found.text
    assert "test: accuracy" in found.text
    assert "Largest weights" not in found.text


# ---------------------------------------------------------------------------------- in notebooks


def test_a_notebook_shows_a_result():
    shown = Reader(result(solver=EVIL)._repr_html_())
    assert "it is at most 0.0011 %" in shown.text
    assert "entries read 3,200, and 700 for certificates" in shown.text
    assert EVIL in "".join(shown.texts)
    assert shown.count("img") == 0
    empty = result(certificate=Certificate(np.nan, -np.inf))._repr_html_()
    assert "There is no certificate" in empty
    assert "nan" not in empty
