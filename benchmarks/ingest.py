"""How fast svmlight text becomes a store, in how much memory, and how fast the store opens.

    python benchmarks/ingest.py [--megabytes 200] [FILE ...]

Without files, text of sparse rows is made, as in ``read_svmlight.py``, and a compressed copy of it.
Each line is one `Store.create`, in a process of its own that has compiled before: megabytes of the
file per second, the largest memory beyond that at the start ("anonymous": what is not a mapped
file, looked at every 10 ms), the size of the store, the time of one `Store.verify`, and that of
opening (the least of 20). "copy" is how long the system takes to copy the store's files and bring
them to the disk: what writing alone would take.
"""

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def anonymous():
    """Bytes of this process that are no file's, where the system tells."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


class Peak(threading.Thread):
    """The largest anonymous memory while it runs."""

    def __init__(self):
        super().__init__(daemon=True)
        self.over, self.first = threading.Event(), anonymous()
        self.most = self.first

    def run(self):
        while not self.over.wait(0.01):
            self.most = max(self.most, anonymous())

    def stop(self):
        self.over.set()
        self.join()
        return self.most - self.first


def ingest(path, folder, memory, jobs):
    """Make one store and print what it took."""
    from skimlearn import Store, open_store

    target = Path(folder) / "store"
    small = Store.create(Path(folder) / "warm", iter_small(), memory=2**16)  # compiles
    small.verify()
    Store.create(Path(folder) / "warmer", b_text(folder), n_jobs=jobs)
    peak = Peak()
    peak.start()
    began = time.perf_counter()
    store = Store.create(target, path, memory=memory, n_jobs=jobs)
    seconds, most = time.perf_counter() - began, peak.stop()
    size = sum(file.stat().st_size for file in target.iterdir())
    began = time.perf_counter()
    store.verify()
    verified = time.perf_counter() - began
    opened = []
    for _ in range(20):
        began = time.perf_counter()
        open_store(target)
        opened.append(time.perf_counter() - began)
    began = time.perf_counter()
    shutil.copytree(target, Path(folder) / "copy")
    os.sync()
    copied = time.perf_counter() - began
    rate = os.path.getsize(path) / seconds / 1e6
    print(
        f"{Path(path).name:16} {jobs:5} {memory / 1e6:8.0f} {seconds:8.2f} {rate:7.0f} "
        f"{most / 1e6:9.0f} {size / 1e6:9.0f} {verified:8.2f} {1e3 * min(opened):8.2f} "
        f"{copied:7.2f}"
    )


def iter_small():
    import numpy as np
    import scipy.sparse as sp

    for seed in range(3):
        yield sp.random(500, 300, 0.3, "csr", random_state=seed), np.ones(500)


def b_text(folder):
    path = Path(folder) / "small.svm"
    path.write_bytes(b"1 1:2 3:4\n-1 2:0.5\n" * 100)
    return path


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*")
    parser.add_argument("--megabytes", type=float, default=200.0)
    parser.add_argument("--folder", help="where to write; the system's temporary folder")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        path, memory, jobs = options.one
        ingest(path, options.folder, int(memory), int(jobs))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        files = options.files
        if not files:
            from read_svmlight import make_file

            files = [f"{folder}/rows.svm", f"{folder}/rows.svm.gz"]
            make_file(files[0], options.megabytes, 6)
            with open(files[0], "rb") as text, gzip.open(files[1], "wb", 1) as packed:
                shutil.copyfileobj(text, packed, 2**20)
        print(
            "file             threads   memory  seconds    MB/s anonymous  store MB   verify  "
            "open ms    copy"
        )
        for path in files:
            for memory, jobs in ((2**28, 1), (2**28, 2), (2**25, 2)):
                with tempfile.TemporaryDirectory(dir=folder) as own:
                    one = ["--folder", own, "--one", path, str(memory), str(jobs)]
                    subprocess.run([sys.executable, __file__, *one], check=True)


if __name__ == "__main__":
    main()
