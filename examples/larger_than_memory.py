"""A file that need not fit into memory.

    python examples/larger_than_memory.py

A store is made of it once, in little memory. After that every estimator learns from the store,
which stays on disk; so does one pass over the file itself, without a store.
"""

import tempfile
import time
from pathlib import Path

from sklearn.model_selection import train_test_split

from skimlearn import LinearClassifier, RowStream, Store, open_store, write_svmlight
from skimlearn.datasets import load_spam

MEMORY = 32_000_000  # bytes that the making of the store may take

with tempfile.TemporaryDirectory() as folder:
    file, place = Path(folder, "mails.svm"), Path(folder, "mails")
    X, held_X, y, held_y = train_test_split(*load_spam(), random_state=0)
    write_svmlight(X, y, file)  # any svmlight, Parquet, Arrow, CSV or .npy file will do
    del X, y

    Store.create(place, file, memory=MEMORY, n_features=held_X.shape[1])
    began = time.perf_counter()
    store = open_store(place)
    print(f"Opened {store.shape[0]:,} rows in {1e3 * (time.perf_counter() - began):.1f} ms.")

    model = LinearClassifier(loss="log", alpha=1e-4, max_seconds=60, random_state=0).fit(store)
    print(model.result_.certificate.words)
    print(f"Accuracy on other mails: {model.score(held_X, held_y):.1%}.")

    # Or one pass over the text, a block at a time.
    rows = RowStream(file, n_features=held_X.shape[1])
    stream = LinearClassifier(loss="log", alpha=1e-4, random_state=0).fit_stream(rows)
    print(f"After one pass over the text: {stream.score(held_X, held_y):.1%}.")
    del store, model  # the files of the store are in use until then
