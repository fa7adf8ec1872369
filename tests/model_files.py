"""Model files of every kind, and ways to break them."""

import io
import json
from copy import deepcopy

import numpy as np
import scipy.sparse as sp

from skimlearn import (
    EnclosingBall,
    KernelClassifier,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    SublinearSVC,
    kernels,
    losses,
)
from skimlearn.data.tensors import read_open_tensors, write_tensors

ROWS = np.random.default_rng(0).normal(size=(60, 4))
SIGNS = (ROWS[:, 0] + 0.3 * ROWS[:, 1] > 0.1).astype(np.int64)
THREE = np.digitize(ROWS[:, 0] - ROWS[:, 2], [-0.5, 0.5])
NUMBERS = ROWS @ [1.0, -2.0, 0.5, 0.0] + 0.1
WORDS = np.array(["ham", "späm", "x" * 20])[THREE]


def make_models():
    """A fitted model for every class, and for every kind of targets."""
    labels = np.stack([SIGNS, THREE > 0, NUMBERS > 0], axis=1).astype(int)
    return {
        "binary": LinearClassifier("log", random_state=0).fit(ROWS, SIGNS),
        "multiclass": LinearClassifier(random_state=0, warm_start=True).fit(ROWS, WORDS),
        "multilabel": LinearClassifier(random_state=0).fit(ROWS, labels),
        "stream": LinearClassifier(random_state=0).partial_fit(ROWS, THREE),
        "regression": LinearRegressor(losses.Huber(delta=0.5), alpha=1e-3).fit(ROWS, NUMBERS),
        "classifier search": LinearClassifierCV(alphas=[0.1, 0.01], cv=2).fit(ROWS, THREE),
        "regressor search": LinearRegressorCV(alphas=np.array([0.1]), cv=2).fit(ROWS, NUMBERS),
        "sublinear": SublinearSVC(kappa=0.9, eps=0.1, random_state=0).fit(ROWS, SIGNS),
        "sublinear multiclass": SublinearSVC(nu=0.5, eps=0.2, random_state=0).fit(ROWS, WORDS),
        "ball": EnclosingBall(contamination=0.0, random_state=0).fit(ROWS),
        "soft ball": EnclosingBall().fit(ROWS),
        "kernel": KernelClassifier(kernels.Gaussian(gamma=0.3), alpha=0.01).fit(ROWS, SIGNS),
        "sparse kernel": KernelClassifier("poly", degree=2, alpha=0.1, random_state=0).fit(
            sp.csr_array(ROWS), WORDS
        ),
        "kernel ball": EnclosingBall(kernel="rbf").fit(ROWS.astype(np.float32)),
    }


def two_predictions(model):
    """Of a model whose file was changed: sparse support rows say how wide it is."""
    width = model.n_features_in_
    return model.predict(ROWS[:2] if width == ROWS.shape[1] else sp.csr_array((2, width)))


def split(content):
    """The header of a file as objects, its description too, and the arrays as bytes."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["skimlearn"]), content[8 + length :]


def join(header, description, data):
    """A file of these parts."""
    header = json.loads(json.dumps(header))
    header.setdefault("__metadata__", {})["skimlearn"] = json.dumps(description)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


ODD = (
    None, True, -1, 0, 1, 3, 2**31, 2**63, 2**64, 10**30, 0.5, -1e308, "", "F64", "I8",
    "BOOL", "nan", "\ud800", "é", [], [[]], [0], [-1], [0, 8], [2**62, 0], {},
    {"type": "loss", "value": ["log", {}]},
    {"type": "array", "value": ["float64", [1]]}, {"type": "dict", "value": [[[], 1]]},
    {"type": "float", "value": "inf"}, {"a": {"b": {}}},
)  # fmt: skip


ODD_NUMBERS = (0.0, -1.0, 0.5, 2.0, 7.0, 1e300, -1e300, np.inf, -np.inf, np.nan)
ARRAY_KINDS = (np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_)


def mutate(rng, content):
    """A file with some bytes changed, or some values of its JSON, or some of its arrays.

    Most changes of the first two kinds are refused by the format. The third keeps the format sound,
    so that what comes behind it has to see the change.
    """
    kind = rng.random()
    if kind < 0.3:
        return mutate_bytes(rng, content)
    if kind < 0.5:
        return mutate_arrays(rng, content)
    header, description, data = split(content)
    only = kind < 0.75  # the description only: the format stays sound
    for _ in range(rng.integers(1, 4)):
        mutate_tree(rng, description if only or rng.random() < 0.5 else header)
    if not isinstance(header.get("__metadata__", {}), dict):
        header.pop("__metadata__")
    return join(header, description, data)


def mutate_bytes(rng, content):
    """Some bytes changed, left out or repeated; most of them near the beginning."""
    text = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        if not text:
            break
        head = min(len(text), 8 + int.from_bytes(content[:8], "little"))
        at = int(rng.integers(head if rng.random() < 0.7 else len(text)))
        at = int(rng.integers(8)) % len(text) if rng.random() < 0.1 else at
        kind = rng.integers(5)
        if kind == 0:
            text[at] = rng.integers(256)
        elif kind == 1:
            text[at] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del text[at : at + int(rng.integers(1, 20))]
        elif kind == 3:
            text[at:at] = text[at : at + int(rng.integers(1, 20))]
        else:
            del text[at:]
    return bytes(text)


def mutate_arrays(rng, content):
    """Other numbers, kinds or shapes of some arrays, or other arrays, in a sound file."""
    file = io.BytesIO(content)
    arrays, texts = read_open_tensors(file)
    for _ in range(rng.integers(1, 4)):
        names = list(arrays)
        if not names:
            break
        name = names[rng.integers(len(names))]
        array, kind = arrays[name], rng.integers(6)
        if kind == 0:
            del arrays[name]
        elif kind == 1:
            arrays[name + "x"] = array
        elif kind == 2:
            arrays[name] = arrays[names[rng.integers(len(names))]]
        elif kind == 3:
            shapes = [(-1,), (1, -1), (-1, 1), (*array.shape, 1), array.shape[::-1]]
            arrays[name] = array.reshape(shapes[rng.integers(len(shapes))])
        elif kind == 4:
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(ARRAY_KINDS[rng.integers(len(ARRAY_KINDS))])
        elif array.size:
            arrays[name] = array = array.copy()
            odd = ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))]
            with np.errstate(all="ignore"):
                odd = np.array(odd).astype(array.dtype)
            array.reshape(-1)[rng.integers(array.size)] = odd
    file = io.BytesIO()
    write_tensors(file, arrays, texts)
    return file.getvalue()


def mutate_tree(rng, tree):
    """Change one value, chosen on a random walk from the root."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        below = tree[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.8:
            tree = below
            continue
        kind = rng.integers(4)
        if kind == 0:
            del tree[key]
        elif kind == 1 and isinstance(tree, dict):
            tree[key + "x"] = tree.pop(key)
        elif kind == 2:
            tree[key] = deepcopy(tree[keys[rng.integers(len(keys))]])
        else:
            tree[key] = deepcopy(ODD[rng.integers(len(ODD))])  # it may be changed in turn
        return
