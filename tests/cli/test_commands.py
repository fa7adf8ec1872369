"""Every command does what it says, in one process."""

import gzip
import json

import numpy as np
import pytest

import skimlearn
from command_line import document, rows, skim, write_data

TRAIN = ("--random-state", "0")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def model(data):
    path = data / "model.safetensors"
    skim("train", data / "rows.svm", "-o", path, "--loss", "log", *TRAIN)
    return path


# ------------------------------------------------------------------------------------------- data


def test_ingest_check_and_info(data, tmp_path):
    made = document("ingest", data / "rows.svm", tmp_path / "store")
    assert (made["rows"], made["columns"], made["labels"]) == (200, 30, True)
    store = skimlearn.open_store(tmp_path / "store")
    X, y = rows()
    assert (store[:] != X).nnz == 0
    assert (store.y == y).all()
    assert document("check", tmp_path / "store")["sound"]
    assert document("info", tmp_path / "store")["distinct_labels"] == 2
    assert "200 x 30, sparse" in skim("info", tmp_path / "store").stdout
    skim("ingest", data / "rows.svm", tmp_path / "store", code=1)  # it is there
    skim("ingest", data / "rows.svm", tmp_path / "store", "--overwrite", "--dtype", "float32")
    assert skimlearn.open_store(tmp_path / "store").dtype == np.float32


def test_ingest_several_files_and_standard_input(data, tmp_path):
    skim("ingest", data / "rows.svm", data / "test.svm", data / "store", tmp_path / "all")
    assert skimlearn.open_store(tmp_path / "all").shape == (500, 30)
    text = gzip.compress((data / "rows.svm").read_bytes())
    skim("ingest", "-", tmp_path / "piped", input=text)
    assert skimlearn.open_store(tmp_path / "piped").shape == (200, 30)


def test_ingest_in_partitions(data, tmp_path):
    made = document("ingest", data / "rows.svm", tmp_path / "parts", "--partitions", "3")
    assert (made["partitions"], made["rows"], made["columns"]) == (3, 200, 30)
    X, y = rows()
    second = skimlearn.open_store(tmp_path / "parts" / "part-1")
    assert (second[:] != X[1::3]).nnz == 0
    assert (second.y == y[1::3]).all()
    skim("ingest", data / "rows.svm", tmp_path / "parts", "--partitions", "3", code=1)
    more = ["--partitions", "3", "--overwrite"]
    skim("ingest", data / "rows.svm", tmp_path / "parts", *more, code=2)


@pytest.mark.parametrize("name", ["rows.npy", "rows.npz"])
def test_ingest_arrays_with_labels(data, tmp_path, name):
    skim("ingest", data / name, tmp_path / "store", "--labels", data / "labels.npy")
    assert (skimlearn.open_store(tmp_path / "store").y == rows()[1]).all()


def test_ingest_arrays_of_one_file(data, tmp_path):
    skim("ingest", data / "both.npz", tmp_path / "store")
    store = skimlearn.open_store(tmp_path / "store")
    assert not store.sparse
    assert (store.y == rows()[1]).all()


def test_a_damaged_store_is_told(data, tmp_path):
    skim("ingest", data / "rows.npy", tmp_path / "store")
    file = tmp_path / "store" / "row_values.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 64
    file.write_bytes(content)
    done = skim("check", tmp_path / "store", code=1)
    assert "row_values" in done.stderr
    assert done.stderr.count("\n") == 1


def test_info_of_models_and_files(data, model):
    assert document("info", model)["model"] == "LinearClassifier"
    assert document("info", data / "rows.npy") == {
        "command": "info", "path": str(data / "rows.npy"), "kind": "npy", "rows": 200,
        "columns": 30, "sparse": False, "entries": 6000, "dtype": "float64", "labels": False,
    }  # fmt: skip
    assert not document("info", data / "numbers.svm")["classes"]
    assert "log" in document("info", model)["parameters"]["loss"]


# ----------------------------------------------------------------------------------------- models


def test_a_raw_file_and_a_store_give_the_model_of_the_estimator(data, tmp_path):
    X, y = rows()
    expected = skimlearn.LinearClassifier(alpha=0.01, tol=1e-5, random_state=0).fit(X, y)
    for name in ("rows.svm", "store"):
        options = ("--alpha", "0.01", "--tol", "1e-5", *TRAIN)
        skim("train", data / name, "-o", tmp_path / "model", *options)
        found = skimlearn.load(tmp_path / "model")
        assert (found.coef_ == expected.coef_).all()
        assert found.classes_.tolist() == [-1, 1]
        assert found.get_params() == expected.get_params()


def test_the_closing_table_and_the_document(data):
    done = skim("train", data / "store", "--test", data / "test.svm", *TRAIN)
    for word in ("accuracy on 100 rows", "certificate", "entries read", "the target gap was"):
        assert word in done.stdout
    assert "2 different whole numbers" in done.stderr
    found = document("train", data / "store", "--test", data / "test.svm", *TRAIN)
    assert found["status"] == "CONVERGED"
    assert found["certificate"]["relative_gap"] <= 1e-3
    assert found["reads"]["nnz"] > 0
    assert 0.7 < found["test"]["accuracy"] <= 1.0
    assert np.sum(found["test"]["confusion"]) == 100
    assert not found["interrupted"]
    assert found["output"] is None


def test_held_out_rows_of_a_store_stay_where_they_are(data):
    one = document("train", data / "rows.svm", "--holdout", "0.25", *TRAIN)
    two = document("train", data / "store", "--holdout", "0.25", *TRAIN)
    assert one["rows"] == two["rows"] == 150
    assert one["test"]["rows"] == two["test"]["rows"] == 50
    assert one["certificate"]["primal"] == pytest.approx(two["certificate"]["primal"], rel=2e-3)
    assert abs(one["test"]["accuracy"] - two["test"]["accuracy"]) <= 0.04


@pytest.mark.parametrize(
    ("file", "options", "expected"),
    [
        ("many.svm", (), "LinearClassifier"),
        ("numbers.svm", (), "LinearRegressor"),
        ("rows.svm", ("--model", "regressor"), "LinearRegressor"),
        ("rows.svm", ("--kappa", "0.3"), "SublinearSVC"),
        ("rows.svm", ("--model", "kernel"), "KernelClassifier"),
        ("many.svm", ("--gamma", "0.5"), "KernelClassifier"),
        ("store", ("--kernel", "poly", "--degree", "2", "--kappa", "0.3"), "KernelClassifier"),
    ],
)
def test_the_labels_and_the_options_choose_the_model(data, file, options, expected):
    found = document("train", data / file, *options, *TRAIN)
    assert found["model"] == expected
    assert found["status"] == "CONVERGED"


def test_a_kernel_model_is_that_of_python(data, tmp_path):
    path, options = tmp_path / "model", ("--alpha", "1e-3", "--gamma", "0.5")
    found = document(
        "train", data / "rows.svm", "--kernel", "rbf", *options, "--test", data / "test.svm",
        "-o", path, *TRAIN,
    )  # fmt: skip
    X, y = rows()
    model = skimlearn.KernelClassifier(gamma=0.5, alpha=1e-3, random_state=0).fit(X, y)
    Z, truth = rows(100, seed=1)
    assert found["test"]["accuracy"] == model.score(Z, truth)
    assert found["certificate"]["gap"] <= 1e-2 * found["certificate"]["primal"]
    answers = skim("predict", path, data / "test.svm").stdout.split()
    np.testing.assert_array_equal(np.array(answers, dtype=float), model.predict(Z))
    assert document("evaluate", path, data / "test.svm")["accuracy"] == model.score(Z, truth)
    held = document("train", data / "store", "--model", "kernel", "--holdout", "0.25", *TRAIN)
    assert held["rows"] == 150
    assert held["test"]["rows"] == 50


def test_labels_that_are_words(data, tmp_path):
    words = np.where(rows()[1] > 0, "ham", "spam")
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n")
    options = ("--labels", tmp_path / "words.txt")
    skim("train", data / "rows.npz", *options, "-o", tmp_path / "model", *TRAIN)
    answers = skim("predict", tmp_path / "model", data / "rows.svm").stdout.split()
    assert set(answers) == {"ham", "spam"}
    found = document("evaluate", tmp_path / "model", data / "rows.npz", *options)
    assert found["accuracy"] == np.mean(np.array(answers) == words)


def test_predictions(data, model):
    X, _ = rows(100, seed=1)
    loaded = skimlearn.load(model)
    done = skim("predict", model, data / "test.svm")
    assert [int(line) for line in done.stdout.split()] == loaded.predict(X).tolist()
    done = skim("predict", model, data / "test.svm", "--scores")
    scores = [float(line) for line in done.stdout.split()]
    assert scores == pytest.approx(loaded.decision_function(X), rel=1e-12)  # summed in other orders
    head, *lines = skim("predict", model, data / "test.svm", "--proba").stdout.splitlines()
    assert head == "-1\t1"
    found = [[float(word) for word in line.split("\t")] for line in lines]
    assert np.allclose(found, loaded.predict_proba(X), rtol=1e-12)
    assert (
        document("predict", model, data / "test.svm")["predictions"] == loaded.predict(X).tolist()
    )


def test_predictions_to_a_file_and_from_standard_input(data, model, tmp_path):
    text = gzip.compress((data / "test.svm").read_bytes())
    done = skim("predict", model, "-", "-o", tmp_path / "answers", input=text)
    assert "100" in done.stdout
    expected = skim("predict", model, data / "test.svm").stdout
    assert (tmp_path / "answers").read_text() == expected


def test_columns_that_a_model_does_not_know_are_left_out(model):
    narrow, wide = "1 1:2\n", "1 1:2 31:1000 99:1\n"
    results = [skim("predict", model, "-", "--scores", input=text) for text in (narrow, wide)]
    assert results[0].stdout == results[1].stdout


def test_a_narrow_store_is_filled_up(model, tmp_path):
    skim("ingest", "-", tmp_path / "narrow", input="1 1:2\n-1 3:1\n")
    stored = skim("predict", model, tmp_path / "narrow", "--scores").stdout
    assert stored == skim("predict", model, "-", "--scores", input="1 1:2\n-1 3:1\n").stdout


def test_many_classes(data, tmp_path):
    skim("train", data / "many.svm", "-o", tmp_path / "model", "--loss", "log", *TRAIN)
    found = document("evaluate", tmp_path / "model", data / "many.svm")
    assert found["classes"] == [0, 1, 2]
    assert found["accuracy"] == np.trace(found["confusion"]) / 200
    assert 0.5 < found["roc_auc"] <= 1.0
    assert found["log_loss"] > 0.0
    assert "true \\ predicted" in skim("evaluate", tmp_path / "model", data / "many.svm").stdout
    head, *lines = skim("predict", tmp_path / "model", data / "many.svm", "--scores").stdout.split(
        "\n"
    )
    assert head == "0\t1\t2"
    assert len(lines[0].split("\t")) == 3


def test_scores_are_those_of_scikit_learn(data, model, tmp_path):
    from sklearn import metrics

    loaded, (X, y) = skimlearn.load(model), rows(100, seed=1)
    found = document("evaluate", model, data / "test.svm")
    assert found["accuracy"] == loaded.score(X, y)
    area = metrics.roc_auc_score(y, loaded.decision_function(X))
    assert found["roc_auc"] == pytest.approx(area, rel=1e-12)
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, loaded.predict_proba(X)))
    skim("train", data / "numbers.svm", "-o", tmp_path / "line", *TRAIN)
    line, (X, _) = skimlearn.load(tmp_path / "line"), rows()
    targets = X @ np.arange(30.0) + 0.5
    found = document("evaluate", tmp_path / "line", data / "numbers.svm")
    assert found["r2"] == pytest.approx(metrics.r2_score(targets, line.predict(X)))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(targets, line.predict(X)))


def test_labels_that_the_model_has_never_seen(model):
    found = document("evaluate", model, "-", input="7 1:1\n1 2:1\n")
    assert found["classes"] == [-1, 1, 7]
    assert "roc_auc" not in found


def test_a_path(data):
    options = ("--alphas", "1e-1,1e-2", "--test", data / "test.svm", *TRAIN)
    found = document("path", data / "store", *options)
    assert [step["alpha"] for step in found["path"]] == [0.1, 0.01]
    assert found["best_alpha"] in (0.1, 0.01)
    table = skim("path", data / "store", *options).stdout
    assert "accuracy" in table
    assert "relative gap" in table
    numbers = document(
        "path", data / "numbers.svm", "--alphas", "2", "--test", data / "numbers.svm"
    )
    assert numbers["path"][-1]["score"] > 0.9


def test_an_interrupted_path_shows_what_it_has(data, monkeypatch):
    from dataclasses import replace

    from skimlearn.estimators import path

    solve, stopped = path.choose.solve, skimlearn.Status.INTERRUPTED
    monkeypatch.setattr(
        path.choose, "solve", lambda *given, **more: replace(solve(*given, **more), status=stopped)
    )
    done = skim("path", data / "store", "--alphas", "1e-1,1e-2", code=130)
    assert "interrupted: the path ends at alpha=0.1" in done.stderr
    assert "0.1" in done.stdout


def test_a_ball(data, tmp_path):
    found = document("ball", data / "rows.svm", "-o", tmp_path / "ball", "--contamination", "0.1")
    model = skimlearn.load(tmp_path / "ball")
    assert found["radius"] == model.radius_
    answers = skim("predict", tmp_path / "ball", data / "rows.svm").stdout.split()
    assert answers.count("-1") == pytest.approx(20, abs=2)
    assert document("evaluate", tmp_path / "ball", data / "rows.svm")["classes"] == [-1, 1]


def test_a_game(tmp_path):
    (tmp_path / "game.csv").write_text("0,-1,1\n1,0,-1\n-1,1,0\n")
    found = document("game", tmp_path / "game.csv", "--eps", "0.001", *TRAIN)
    assert found["lower"] <= 0.0 <= found["upper"]
    assert found["x"] == pytest.approx([1 / 3] * 3, abs=0.01)
    np.save(tmp_path / "game.npy", np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]))
    skim("game", tmp_path / "game.npy", "-o", tmp_path / "answer.npz", *TRAIN)
    with np.load(tmp_path / "answer.npz") as saved:
        assert saved["p"].sum() == pytest.approx(1.0)
    (tmp_path / "game.csv").write_text("a,b\n")
    assert "payoffs must be numbers" in skim("game", tmp_path / "game.csv", code=1).stderr


def test_exports(data, model, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, _ = rows(100, seed=1)
    skim("export", model, tmp_path / "model.onnx", "--dtype", "float64")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    label = session.run(["label"], {"X": X.toarray()})[0]
    assert label.tolist() == skimlearn.load(model).predict(X).tolist()
    skim("export", model, tmp_path / "old.model")
    again = skim("predict", tmp_path / "old.model", data / "test.svm").stdout.split()
    assert [int(word) for word in again] == label.tolist()
    skim("export", tmp_path / "old.model", tmp_path / "new", "--format", "skimlearn")
    assert document("info", tmp_path / "new")["status"] == "IMPORTED"
    skim("export", model, tmp_path / "what", code=2)
    skim("export", model, tmp_path / "what", "--format", "pmml", code=2)


@pytest.mark.parametrize(
    ("file", "loss", "peers"),
    [
        ("rows.svm", "hinge", ["LinearSVC", "SGDClassifier"]),
        ("store", "squared_hinge", ["LinearSVC"]),
        ("rows.svm", "log", ["LogisticRegression", "SGDClassifier"]),
        ("numbers.svm", "squared", ["Ridge", "SGDRegressor"]),
    ],
)
def test_a_bench_compares_the_same_objective(data, file, loss, peers):
    options = ("--loss", loss, "--alpha", "0.05", "--tol", "1e-6", "--repeats", "1")
    found = document("bench", data / file, *options)
    names = [line["name"].split()[-1] for line in found["results"]]
    assert names[1:] == peers
    ours, peer = found["results"][:2]
    bound = found["bound"] * (1 - 1e-12)
    assert bound <= ours["objective"] <= bound * (1 + 1e-5)
    assert bound <= peer["objective"] <= bound * 1.05  # LinearSVC penalises its bias


def test_the_tour(tmp_path):
    found = document("demo", tmp_path / "tour")
    assert [step["exit_code"] for step in found["steps"]] == [0] * len(found["steps"])
    assert (tmp_path / "tour" / "answers.txt").read_text().count("\n") == 1512
    skim("demo", tmp_path / "tour", code=1)  # it is not empty
    skim("demo", "--data-only", code=2)


def test_the_cache(monkeypatch, tmp_path):
    from skimlearn import _jit

    folder = tmp_path / "skimlearn" / "digest"
    folder.mkdir(parents=True)
    (folder / "kernel.nbi").write_bytes(b"12345")
    monkeypatch.setattr(_jit, "cache_directory", lambda: folder)
    assert document("cache")["bytes"] == 5
    assert folder.exists()
    assert document("cache", "--clear")["cleared"]
    assert not folder.exists()
    monkeypatch.setattr(_jit, "cache_directory", lambda: None)
    assert document("cache")["folder"] is None


def test_a_report(data, model, tmp_path):
    pytest.importorskip("skimlearn.report")
    skim("report", model, model, "-o", tmp_path / "page.html", "--test", data / "test.svm")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert skim("report", model).stdout.startswith("<!doctype html>")


def test_a_report_with_the_rows_that_were_learned_from(data, tmp_path):
    pytest.importorskip("skimlearn.report")
    line = ["train", data / "rows.svm", "-o", tmp_path / "m", "--alpha", "0.01"]
    skim(*line)
    command = "skim train rows.svm -o m --alpha 0.01"  # names of files without their folders
    page = tmp_path / "page.html"
    told = document("report", tmp_path / "m", "-o", page, "--train", data / "rows.svm", "--path")
    text = page.read_text()
    assert command in text  # what to run to get the same
    assert "rows learned from" in text
    assert "-1: " in text  # classes as they were learned
    assert "-1.0" not in text[: text.index("<script")]
    assert "Regularization path" in text
    assert told["again"] == f"skim report {tmp_path / 'm'} -o {page} --train " + (
        f"{data / 'rows.svm'} --path --json"
    )
    assert document("info", tmp_path / "m")["made_by"] == command
    loaded = skimlearn.load(tmp_path / "m")
    assert loaded.result_.command == command
    X, y = skimlearn.read_svmlight(data / "rows.svm")
    assert loaded.fit(X, y).result_.command == ""  # another fit has another origin


@pytest.mark.parametrize("form", ["--labels {}", "--labels={}"])
def test_a_model_does_not_tell_where_its_files_were(data, tmp_path, form):
    folder = tmp_path / "secret folder" / "km"
    folder.mkdir(parents=True)
    labels, output = folder / "y.txt", folder / "spam model"
    labels.write_text("\n".join(f"km/{k % 2}" for k in range(200)))
    given = [word.replace("{}", str(labels)) for word in form.split()]
    skim("train", data / "rows.svm", f"-o{output}", *given, "--class-weight", "km/0=2,km/1=1")
    made_by = document("info", output)["made_by"]
    label = form.replace("{}", "y.txt")
    assert made_by == f"skim train rows.svm '-ospam model' {label} --class-weight km/0=2,km/1=1"
    assert b"secret" not in output.read_bytes()
    assert b"secret" not in skim("report", output).stdout.encode()


def test_a_report_without_what_it_needs(data, model, tmp_path):
    pytest.importorskip("skimlearn.report")
    page = tmp_path / "page.html"
    done = skim("report", model, "-o", page, "--path", code=2)
    assert "give --train" in done.stderr
    done = skim("report", model, "-o", page, "--train", data / "rows.npy", code=1)
    assert "no labels" in done.stderr
    assert not page.exists()
    skim("ball", data / "rows.npy", "-o", tmp_path / "ball")
    skim("report", tmp_path / "ball", "-o", page, "--train", data / "rows.npy")
    assert "rows learned from" in page.read_text()


def test_documents_are_strict_json(data):
    text = skim("info", data / "rows.svm", "--json").stdout
    assert text.count("\n") == 1
    json.loads(text, parse_constant=lambda word: pytest.fail(word))


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "rows.svm"],
        ["train", "rows.svm", "--model", "sublinear"],
        ["train", "rows.svm", "--model", "kernel"],
        ["ball", "rows.svm", "--contamination", "0"],
        ["ball", "rows.svm"],
        ["ball", "rows.svm", "--kernel", "rbf"],
        ["game", "rows.npy"],
        ["path", "rows.svm", "--alphas", "0.1,0.01"],
    ],
)
def test_figures_are_shown_while_a_command_works(data, monkeypatch, arguments):
    from skimlearn.cli._progress import Progress

    shown = []
    monkeypatch.setattr(Progress, "show", lambda self, *fields: shown.append(fields))
    monkeypatch.chdir(data)
    skim(*arguments, "--random-state", "0")
    objective, gap, reads, rate, step, passed = shown[-1]
    assert objective.startswith("objective ")
    assert gap.startswith("gap ")
    assert reads.endswith(" reads")
    assert rate.endswith("/s")
    assert step.split()[0] in ("epoch", "step")
    assert passed.endswith("s")


def test_several_tables_with_text_labels_become_one_store(tmp_path):
    (tmp_path / "a.csv").write_text("x,z,label\n1,2,ham\n3,4,spam\n")
    (tmp_path / "b.csv").write_text("x,z,label\n5,6,eggs\n7,8,ham\n")
    (tmp_path / "c.csv").write_text("x,z,label\n5,6,1\n7,8,2\n")
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    skim("ingest", *files[:2], tmp_path / "store", "--target", "label")
    store = skimlearn.open_store(tmp_path / "store")
    store.verify()
    assert store.y.tolist() == ["ham", "spam", "eggs", "ham"]
    assert store[:].tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
    for wrong in (files[1:], files[:0:-1]):  # texts and numbers do not go together
        done = skim("ingest", *wrong, tmp_path / "none", "--target", "label", code=1)
        assert "labels" in done.stderr
        assert not (tmp_path / "none").exists()
