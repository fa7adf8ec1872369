"""Vowpal Wabbit. It reads text: writing that file is its conversion of the data, and counts."""

import tempfile
import time
from pathlib import Path

import numpy as np

from race.peers import Peer, doublings

# loss: its name there, and the factor of alpha, because of factors of the loss
LOSS = {
    "hinge": ("hinge", 1.0),
    "log": ("logistic", 1.0),
    "squared": ("squared --min_prediction -1e6 --max_prediction 1e6", 2.0),
    "absolute": ("quantile", 0.5),
}


def _write(X, y, path):
    """``label | column:value ...``, a line per row."""
    from sklearn.datasets import dump_svmlight_file

    with tempfile.TemporaryFile() as raw:
        dump_svmlight_file(X, y, raw)
        raw.seek(0)
        with open(path, "wb") as file:
            file.writelines(line.replace(b" ", b" | ", 1) for line in raw)


class Learned:
    """A model on disk: it is read after the clock was stopped."""

    def __init__(self, vw, folder, d, converted):
        self.vw, self.folder, self.d, self.converted = vw, folder, d, converted

    def weights(self):
        self.vw.finish()
        w = np.zeros(self.d)
        text = (Path(self.folder.name) / "model").read_text()
        for line in text.partition("\n:0\n")[2].splitlines():
            column, _, value = line.partition(":")
            if int(column) < self.d:
                w[int(column)] = float(value)
        self.folder.cleanup()
        return w


def _fit(X, y, task, setting, seed):
    import vowpalwabbit

    folder = tempfile.TemporaryDirectory()
    rows = Path(folder.name) / "rows"
    start = time.perf_counter()
    _write(X, y, rows)
    converted = time.perf_counter() - start
    bits = max(18, int(np.ceil(np.log2(task.d + 1))))
    loss, factor = LOSS[task.loss]
    total = task.n if "--bfgs" in setting["how"] else 1.0  # BFGS adds losses up
    vw = vowpalwabbit.Workspace(  # learns at once
        f"-d {rows} --cache_file {rows}.cache -k --holdout_off --noconstant --quiet -b {bits} "
        f"--loss_function {loss} --l2 {factor * total * task.alpha!r} "
        f"--passes {setting['passes']} --random_seed {seed} {setting['how']} "
        f"--predict_only_model --readable_model {Path(folder.name) / 'model'}"
    )
    return Learned(vw, folder, task.d, converted)


def _ladders(task):
    """Plain gradients of several lengths, its default (adaptive, normalised) and BFGS."""
    steps = [f"--sgd --power_t 0.5 -l {s / task.norm2:.3g}" for s in (0.3, 3.0, 30.0)]
    ladders = [[{"how": s, "passes": k} for k in doublings(256)] for s in (*steps, "-l 0.5")]
    if task.loss in ("log", "squared"):
        ladders.append([{"how": "--bfgs", "passes": k} for k in doublings(256, 4)])
    return ladders


PEERS = [Peer("vowpalwabbit", "vowpalwabbit", "vowpalwabbit", tuple(LOSS), _ladders, _fit)]
