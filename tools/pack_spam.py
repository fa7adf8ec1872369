"""Make ``src/skimlearn/datasets/spam.npz`` from a file in LIBSVM's text format.

    python tools/pack_spam.py spamassassin_unigram.svm.xz src/skimlearn/datasets/spam.npz

The input (plain text, or compressed as .xz, .gz or .bz2) has one message per line: a label, +1 for
spam and -1 for ham, and the message's word counts as ``column:count`` pairs, columns from 1. The
output holds five arrays: ``counts``, ``indices`` and ``row_lengths`` (the parts of a CSR matrix)
and ``shape``, each in the smallest unsigned type that fits, and ``labels`` (int8). Differences of
neighbouring indices in place of the indices would make the file 1 % smaller: not worth decoding.

The same input gives the same bytes (with the same zlib). What was written is read back and
compared.
"""

import argparse
import bz2
import gzip
import io
import lzma
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

OPENERS = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


def read_libsvm(path):
    """Return the counts as a CSR matrix with sorted indices, and the labels."""
    with OPENERS.get(path.suffix, open)(path, "rb") as file:
        X, y = load_svmlight_file(io.BytesIO(file.read()), zero_based=False)
    X.sort_indices()
    return X, y


def smallest_unsigned(values):
    """Return the values in the smallest unsigned type that holds them all, or fail."""
    values = np.asarray(values)
    packed = values.astype(np.min_scalar_type(int(values.max())))
    if not np.array_equal(packed, values):
        raise SystemExit("the file holds values that are not whole, non-negative numbers")
    return packed


def pack(X, y):
    """Return the arrays of the .npz file, by name."""
    if not np.isin(y, (-1, 1)).all():
        raise SystemExit(f"labels must be -1 and +1; got {np.unique(y)}")
    return {
        "counts": smallest_unsigned(X.data),
        "indices": smallest_unsigned(X.indices),
        "row_lengths": smallest_unsigned(np.diff(X.indptr)),
        "labels": y.astype(np.int8),
        "shape": smallest_unsigned(X.shape),
    }


def check(path, X, y):
    """Fail unless the file at ``path`` holds exactly ``X`` and ``y``."""
    with np.load(path, allow_pickle=False) as parts:
        same = (
            np.array_equal(parts["counts"], X.data)
            and np.array_equal(parts["indices"], X.indices)
            and np.array_equal(np.cumsum(parts["row_lengths"], dtype=np.int64), X.indptr[1:])
            and np.array_equal(parts["labels"], y)
            and tuple(parts["shape"]) == X.shape
        )
    if not same:
        raise SystemExit(f"{path} does not give back what was packed")


def main():
    """Pack the file named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="LIBSVM text: .svm, .svm.xz, .svm.gz, .svm.bz2")
    parser.add_argument("target", type=Path, help="the .npz file to write")
    arguments = parser.parse_args()
    X, y = read_libsvm(arguments.source)
    np.savez_compressed(arguments.target, **pack(X, y))
    check(arguments.target, X, y)
    rows, columns = X.shape
    size = arguments.target.stat().st_size
    print(f"{arguments.target}: {rows} x {columns}, {X.nnz} nonzeros, {size:,} bytes")


if __name__ == "__main__":
    main()
