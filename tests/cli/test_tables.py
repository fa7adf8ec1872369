"""Tables on the command line: columns by their names, classes that are words."""

import pytest

import skimlearn
from command_line import document, skim

PETS = """weight,colour,note,kind
4.5,grey,likes fish,cat
31,brown,likes to bark,dog
3.9,black,sleeps,cat
4.1,grey,fish and sleep,cat
29,black,barks,dog
33,grey,barks and barks,dog
"""
OPTIONS = ("--target", "kind", "--encode", "note=drop", "--random-state", "0")


@pytest.fixture
def pets(tmp_path):
    (tmp_path / "pets.csv").write_text(PETS)
    # other columns in another order, and a colour that is new
    (tmp_path / "more.csv").write_text("colour,size,weight\nred,1,30\ngrey,2,4\n")
    return tmp_path


def test_from_a_table_to_predictions(pets):
    skim("train", pets / "pets.csv", "-o", pets / "model", *OPTIONS)
    model = skimlearn.load(pets / "model")
    names = ["weight", "colour=black", "colour=brown", "colour=grey"]
    assert model.feature_names_in_.tolist() == names
    assert skim("predict", pets / "model", pets / "more.csv").stdout.split() == ["dog", "cat"]
    found = document("evaluate", pets / "model", pets / "pets.csv", "--target", "kind")
    assert found["accuracy"] == 1.0
    assert found["classes"] == ["cat", "dog"]


def test_a_store_of_a_table_knows_its_names(pets):
    options = ("--target", "kind", "--encode", "note=text", "--buckets", "16")
    made = document("ingest", pets / "pets.csv", pets / "store", *options)
    assert made["columns"] == 20
    skim("train", pets / "store", "-o", pets / "model", "--random-state", "0")
    found = document("evaluate", pets / "model", pets / "pets.csv", "--target", "kind")
    assert found["accuracy"] == 1.0
    answers = [
        skim("predict", pets / "model", pets / name).stdout for name in ("store", "pets.csv")
    ]
    assert answers[0] == answers[1]


def test_several_tables(pets):
    (pets / "rows.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    skim("ingest", pets / "rows.csv", pets / "rows.csv", pets / "store", "--target", "y")
    store = skimlearn.open_store(pets / "store")
    assert store.shape == (4, 2)
    assert store.names.tolist() == ["a", "b"]


def test_a_path_of_a_table(pets):
    found = document(
        "path", pets / "pets.csv", "--alphas", "2", "--test", pets / "pets.csv", *OPTIONS
    )
    assert found["path"][-1]["score"] == 1.0


def test_missing_numbers(pets):
    (pets / "gaps.csv").write_text("weight,colour\n,red\n4,\n")
    skim("train", pets / "pets.csv", "-o", pets / "model", *OPTIONS)
    done = skim("predict", pets / "model", pets / "gaps.csv", code=1)
    assert "gaps.csv, column 'weight', row 0" in done.stderr
    done = skim("predict", pets / "model", pets / "gaps.csv", "--missing", "30")
    assert done.stdout.split() == ["dog", "cat"]


def test_a_table_without_a_target(pets):
    assert "--target COLUMN" in skim("train", pets / "pets.csv", code=1).stderr
    assert "--encode" in skim("train", pets / "pets.csv", "--encode", "note", code=2).stderr
