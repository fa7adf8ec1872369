"""Errors are one readable message and an exit code; what was on the disk stays."""

import errno
import json
import os

import numpy as np
import pytest

import skimlearn
from command_line import document, skim, write_data
from skimlearn.cli import _command


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def model(data):
    skim("train", data / "rows.svm", "-o", data / "model", "--alpha", "0.1", "--random-state", "0")
    return data / "model"


def message(*arguments, code=1, **options):
    """The only line on standard error; standard output is empty."""
    done = skim(*arguments, "--quiet", code=code, **options)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("skim: ")
    assert "Traceback" not in done.stderr
    return done.stderr


# ------------------------------------------------------------------------------------ exit code 1


def test_files_that_are_not_there(tmp_path):
    for command in (("train", "x"), ("info", "x"), ("predict", "x", "y"), ("check", "x")):
        assert "x" in message(*command)
    assert "No such file" in message("train", tmp_path / "nowhere")


def test_bad_text_has_its_place(tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:2\n-1 2:what\n")
    assert "bad.svm, line 2, column 6" in message("train", tmp_path / "bad.svm")
    assert "bad.svm, line 2" in message("ingest", tmp_path / "bad.svm", tmp_path / "store")
    assert not (tmp_path / "store").exists()
    assert "line 1" in message("train", "-", input="1 0:1\n")
    assert "no rows" in message("train", "-", input="")


def test_values_that_the_estimators_refuse(data):
    assert "alpha=-1.0" in message("train", data / "rows.svm", "--alpha", "-1")
    assert "batch_size" in message(
        "train", data / "rows.svm", "--batch-size", "7", "--solver", "dual"
    )


def test_labels(data, tmp_path):
    assert "--labels" in message("train", data / "rows.npy")
    assert "--labels" in message("path", data / "rows.npz")
    (tmp_path / "few.txt").write_text("1\n-1\n")
    few = ("--labels", tmp_path / "few.txt")
    assert "2 labels, but 200 rows" in message("train", data / "rows.npy", *few)
    assert "only one class" in message("train", "-", input="1 1:1\n1 1:2\n")


def test_models(data, model, tmp_path):
    assert "rows.svm" in message("predict", data / "rows.svm", data / "rows.svm")
    broken = tmp_path / "broken"
    broken.write_bytes(model.read_bytes()[:100])
    assert "broken" in message("predict", broken, data / "rows.svm")
    assert "loss='log' only" in message("predict", model, data / "rows.svm", "--proba")
    assert "there are no labels" in message("evaluate", model, data / "rows.npy")
    np.save(tmp_path / "wide.npy", np.ones((2, 99)))
    assert "99 features" in message("predict", model, tmp_path / "wide.npy")


def test_files_that_are_broken(tmp_path):
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{")
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04 and no more")
    np.savez(tmp_path / "other.npz", data=np.ones(3))
    for name in ("cut.npy", "cut.npz", "other.npz"):
        assert name in message("train", tmp_path / name)
        assert name in message("ingest", tmp_path / name, tmp_path / "store")
    (tmp_path / "folder").mkdir()
    assert "folder" in message("train", tmp_path / "folder")


def test_an_error_as_a_document(tmp_path):
    found = document("info", tmp_path / "nowhere", code=1)
    assert found["exit_code"] == 1
    assert "nowhere" in found["error"]


def test_debug_shows_the_traceback(tmp_path):
    done = skim("info", tmp_path / "nowhere", "--debug", code=1)
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.endswith("No such file or directory\n")


def test_errors_of_ours_are_owned_up_to(data, monkeypatch):
    monkeypatch.setattr(skimlearn, "open_store", lambda path: {}["surprise"])
    assert "internal error (KeyError: 'surprise'); --debug" in message("check", data / "store")

    def no_memory(path):
        raise MemoryError

    monkeypatch.setattr(skimlearn, "open_store", no_memory)
    assert "skim ingest" in message("check", data / "store")


def test_a_table_without_rows(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n")
    assert "rows.csv: it has no rows" in message("train", tmp_path / "rows.csv", "--target", "b")


# -------------------------------------------------------------------------------- exit codes 2, 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("train",),
        ("train", "{}", "--alpha", "large"),
        ("train", "{}", "--alhpa", "1"),
        ("train", "{}", "--solver", "simplex"),
        ("train", "{}", "--model", "tree"),
        ("train", "{}", "--alpha", "1", "--kappa", "0.1"),
        ("train", "{}", "--model", "regressor", "--class-weight", "balanced"),
        ("train", "{}", "--holdout", "1.5"),
        ("train", "{}", "--holdout", "0.5", "--test", "{}"),
        ("predict", "{}", "{}", "--scores", "--proba"),
        ("ingest", "{}", "{}", "store", "--labels", "{}"),
        ("report", "{}", "--json"),
        ("train", "{}", "--target", "y"),
        ("ingest", "{}", "store", "--encode", "a=text"),
        ("info", "{}", "--missing", "0"),
    ],
)
def test_usage(data, arguments):
    done = skim(*(word.format(data / "rows.svm") for word in arguments), code=2)
    assert done.stdout == ""
    told = done.stderr.splitlines()
    assert told[-1].startswith("skim")
    assert told[-1].endswith(" -h explains it)")
    assert len(told) == 1 or told[0].startswith("learning a ")  # what is right comes first


def test_without_a_word_all_commands_are_shown():
    done = skim(code=2)
    assert "ingest" in done.output
    assert "-h explains it" not in done.output


def test_ids_are_those_of_text(data):
    skim("info", data / "store", "--zero-based", code=2)
    assert document("info", "-", "--zero-based", input="1 0:1\n")["columns"] == 1


def test_the_remedy_for_an_option_of_another_model(data):
    done = skim("train", data / "rows.svm", "--alpha", "1", "--kappa", "0.1", code=2)
    assert "--model sublinear" in done.stderr


def test_strict(data, tmp_path):
    options = ("--max-epochs", "1", "--solver", "sgd", "--tol", "1e-9", "-o", tmp_path / "model")
    done = skim("train", data / "rows.svm", *options)
    assert "the relative duality gap is" in done.stderr  # scikit-learn's warning, as a note
    assert "Warning" not in done.stderr
    skim("train", data / "rows.svm", *options, "--strict", code=3)
    assert skimlearn.load(tmp_path / "model").result_.status.name == "EPOCHS"
    skim("train", data / "rows.svm", "--strict")
    short = ("--alphas", "1e-6", "--max-epochs", "1", "--tol", "1e-12", "--strict")
    skim("path", data / "rows.svm", *short, code=3)


# --------------------------------------------------------------------------------------- the disk


def test_where_nothing_can_be_written(data, model, tmp_path):
    """Found before the work begins, also by a user who may write everywhere."""
    (tmp_path / "file").write_text("not a folder")
    for path in (tmp_path / "no" / "model", tmp_path / "file" / "model", tmp_path):
        for command in (("train", data / "rows.svm", "-o"), ("ball", data / "rows.svm", "-o")):
            assert str(tmp_path) in message(*command, path)
        assert str(tmp_path) in message("export", model, path, "--format", "onnx")
        assert str(tmp_path) in message("predict", model, data / "rows.svm", "-o", path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write there")
def test_a_folder_that_may_only_be_read(data, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    assert "locked" in message("train", data / "rows.svm", "-o", folder / "model")
    assert "ermission" in message("ingest", data / "rows.svm", folder / "store")


def test_a_folder_that_the_system_calls_locked(data, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "can't be written to" in message("train", data / "rows.svm", "-o", tmp_path / "model")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_former_model(data, model, monkeypatch, call):
    before = model.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    for command in (
        ("train", data / "rows.svm", "-o", model),
        ("predict", model, data / "rows.svm", "-o", model),
        ("export", model, model, "--format", "liblinear"),
    ):
        assert message(*command) == f"skim: {model}: No space left on device\n"
        assert model.read_bytes() == before
    assert not list(data.glob("*.part"))


def test_the_codes_are_documented():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in ("FAILED", "USAGE", "UNCONVERGED", "INTERRUPTED", "PIPE", "TERMINATED"):
        assert f"| {getattr(_command, name)} |" in page
        assert str(getattr(_command, name)) in _command.__doc__


def test_messages_do_not_mix_with_documents(data):
    done = skim("train", data / "rows.svm", "--json", "--max-epochs", "1", "--tol", "1e-9")
    assert json.loads(done.stdout)["status"] in ("EPOCHS", "CONVERGED")
    assert "learning a LinearClassifier" in done.stderr
