"""Can a classifier be learned from a file in less time than it takes to read the file?

    python benchmarks/out_of_core.py [--rare 200 1000]

A dense matrix of 2 GB is written to disk twice, by rows and by columns. All of its rows have
length 1; the classes of most of them are parted along one direction, those of one row in 1,000
along another, and whoever misses the rare rows is still right nearly always. So there are two aims:
an error of at most 0.5 % on new rows of the natural mix, and the same on new rows of the rare kind
alone (the best error is 0 for both).

Compared are, for the same files and the same state of the system's cache:

* one sequential read of the file by rows, the faster of two ways, with nothing learned;
* `tracking`, which reads single rows and columns;
* Pegasos, the best of some settings, over rows in the order of the file (they are in random
  order, so that nothing is lost, and the disk is read in sequence).

How many steps a learner needs for an aim is found beforehand; then one fit of that many steps is
timed, from opening the files on, with one thread. "cold" is after the system was told to forget the
files; that it did is checked, and "MB disk" is what it then read from there. Compilation comes
first and is shown. Two more lines need no aim to be known: `SublinearSVC` ended by its own rule,
and one epoch of LinearClassifier, whose checks and certificate read the whole file several times.
"""

import argparse
import ctypes
import gc
import mmap
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from skimlearn import LinearClassifier, Matrix, SublinearSVC
from skimlearn.data.inspection import as_rows
from skimlearn.data.ledger import Ledger
from skimlearn.formulas.losses import Hinge
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.choose_margin import MarginRun
from skimlearn.solvers.pegasos import Pegasos, Settings

MARGIN = 0.3
AIM = 0.005
EPS = 0.26  # of the fit that is ended by its own rule
TESTS = 400  # rows of each kind
CHUNK = 1000  # rows made at once
ALPHAS = (1e-3, 1e-2, 1e-1)  # those that Pegasos may choose from
AVERAGES = ("last", "mean")


# ------------------------------------------------------------------------------------------ files


def make_rows(rng, directions, y, rare):
    """Rows of length 1: a margin along the first or the second direction, noise elsewhere."""
    X = rng.standard_normal((len(y), directions.shape[1]), dtype=np.float32)
    X -= (X @ directions.T) @ directions
    X *= np.float32((1.0 - MARGIN**2) ** 0.5) / np.linalg.norm(X, axis=1, keepdims=True)
    X += (MARGIN * y * ~rare)[:, None].astype(np.float32) * directions[0]
    X += (MARGIN * y * rare)[:, None].astype(np.float32) * directions[1]
    return X


class Files:
    """The matrix on disk by rows and by columns, its labels, and rows to test with."""

    def __init__(self, folder, shape, share, seed):
        rng = np.random.default_rng(seed)
        (n, d), self.shape = shape, shape
        self.paths = [Path(folder) / f"rows_{share}.f32", Path(folder) / f"columns_{share}.f32"]
        directions = np.linalg.qr(rng.normal(size=(d, 2)))[0].T.astype(np.float32)
        self.y = rng.choice([-1.0, 1.0], size=n)
        rare = rng.random(n) < 1.0 / share
        by_row, by_column = self.open("w+")
        for at in range(0, n, CHUNK):
            part = slice(at, at + CHUNK)
            by_row[part] = by_column[part] = make_rows(rng, directions, self.y[part], rare[part])
        by_row.flush()
        by_column.flush()
        self.share = rare.mean()
        labels = np.ones(TESTS)
        self.common = make_rows(rng, directions, labels, labels < 0)
        self.rare = make_rows(rng, directions, labels, labels > 0)

    def open(self, mode="r"):
        """Both files, mapped to memory."""
        orders = zip(self.paths, "CF", strict=True)
        return [np.memmap(p, np.float32, mode, shape=self.shape, order=o) for p, o in orders]

    def errors(self, w):
        """On the natural mix, and on the rare kind."""
        tests = (self.common, self.rare)
        common, rare = (float(np.mean(X @ w.astype(np.float32) <= 0)) for X in tests)
        return (1.0 - self.share) * common + self.share * rare, rare

    def forget(self):
        """Let the system drop its copies of the files; return the share of pages it kept."""
        gc.collect()  # pages of a file that is still mapped would stay
        kept = []
        for path in self.paths:
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
            kept.append(resident(path))
        return max(kept)

    def remember(self):
        """Read both files, so that they are in memory."""
        for path in self.paths:
            read_plainly(path)

    def remove(self):
        for path in self.paths:
            path.unlink(missing_ok=True)


def resident(path):
    """The share of a file's pages that are in memory."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as view:
        pages = -(-len(view) // mmap.PAGESIZE)
        flags = np.zeros(pages, dtype=np.uint8)
        address = ctypes.addressof(hold := ctypes.c_char.from_buffer(view))
        library = ctypes.CDLL(None, use_errno=True)
        failed = library.mincore(
            ctypes.c_void_p(address), ctypes.c_size_t(len(view)), ctypes.c_void_p(flags.ctypes.data)
        )
        del hold
        return float((flags & 1).mean()) if not failed else float("nan")


def read_from_disk():
    """Bytes that this process made the system fetch from disk."""
    text = Path("/proc/self/io").read_text(encoding="ascii")
    return int(text.split("\nread_bytes:")[1].split()[0])


def read_plainly(path):
    buffer = bytearray(2**22)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def read_mapped(path, shape):
    values = np.memmap(path, np.float32, "r", shape=shape)
    for at in range(0, shape[0], 200):
        values[at : at + 200].sum()


# --------------------------------------------------------------------------------------- learners


class Tracking:
    """Steps that read one row and one column each."""

    name = "tracking"

    def __init__(self, files, seed):
        self.run = MarginRun(
            Matrix.pair(*files.open()), files.y, np.random.default_rng(seed), solver="tracking",
            mode="monte-carlo", eps=1e-3, length=1.0,
        )  # fmt: skip

    def advance(self, steps):
        self.run.run(Limits(eps=1e-3, max_steps=steps))

    def weights(self):
        return self.run.skim.fallback()[0]

    def read(self):
        return self.run.skim.reads.nnz


class Sgd:
    """Pegasos over rows in the order of the file; each seed begins elsewhere."""

    name = "Pegasos"

    def __init__(self, files, seed, alpha=1e-2, average="last"):
        n = files.shape[0]
        rows = as_rows(files.open()[0], inspect=False)
        problem = Problem(rows, files.y, np.ones(n), Hinge(), SquaredL2(), alpha, "none")
        rng = np.random.default_rng(seed)
        self.method = Pegasos(problem, Ledger(rows), Settings(average=average), rng)
        self.first, self.done, self.d = int(rng.integers(n)), 0, files.shape[1]
        self.n = n

    def advance(self, steps):
        self.method.visit((self.first + np.arange(self.done, steps)) % self.n)
        self.done = steps

    def weights(self):
        return self.method.answer()[0]

    def read(self):
        return self.done * self.d


def steps_to_aims(make, files, most):
    """The least numbers of steps, on a fine grid, after which the two aims are met."""
    learner, aims, steps = make(), [None, None], 0
    while None in aims and steps < most:
        steps = min(most, max(steps + 2, int(1.1 * steps)))
        learner.advance(steps)
        for k, error in enumerate(files.errors(learner.weights())):
            if aims[k] is None and error <= AIM:
                aims[k] = steps
    return [most if steps is None else steps for steps in aims]


def best_sgd(files, seeds):
    """The settings of Pegasos that need the fewest rows for the rare kind, over all seeds."""
    found = {}
    for alpha in ALPHAS:
        for average in AVERAGES:
            options = {"alpha": alpha, "average": average}
            limit = min(found) if found else files.shape[0] * len(seeds)
            total = 0
            for seed in seeds:
                make = lambda o=options, s=seed: Sgd(files, s, **o)  # noqa: E731
                total += steps_to_aims(make, files, min(files.shape[0], limit - total))[1]
                if total >= limit:
                    break
            if total < limit or not found:
                found[total] = options
    return found[min(found)]


# ------------------------------------------------------------------------------------ measurement


class Clock:
    """Times one thing with warm and cold files, and prints the line of a table."""

    def __init__(self, files, repeats):
        self.files, self.repeats = files, repeats

    def measure(self, work):
        """The least seconds warm and cold, and the megabytes that came from the disk."""
        times = {"warm": [], "cold": []}
        megabytes = float("nan")
        self.files.remember()
        for _ in range(self.repeats):
            times["warm"].append(seconds_of(work))
        if hasattr(os, "posix_fadvise"):
            for _ in range(self.repeats):
                kept = self.files.forget()
                if not kept < 0.01:
                    print(f"  (not cold: {kept:.0%} of a file stayed in memory)")
                    break
                before = read_from_disk()
                times["cold"].append(seconds_of(work))
                megabytes = (read_from_disk() - before) / 1e6
        return [min(t, default=float("nan")) for t in times.values()] + [megabytes]


def seconds_of(work):
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show(name, read, found, steps="", errors=None):
    warm, cold, disk = found
    text = f"{name:<38} {steps:>6} {read / 1e6:>9.1f} {disk:>9.1f} {warm:>9.4f} {cold:>9.4f}"
    if errors is not None:
        text += f" {errors[0]:>8.2%} {errors[1]:>7.2%}"
    print(text, flush=True)


def compare(files, seeds, repeats):
    """Print the table of one pair of files."""
    clock, size = Clock(files, repeats), 4 * files.shape[0] * files.shape[1]
    print(
        f"{'':<38} {'steps':>6} {'MB used':>9} {'MB disk':>9} {'warm s':>9} {'cold s':>9}", end=""
    )
    print(f" {'natural':>8} {'rare':>7}")
    for name, work in {
        "sequential read, plain": lambda: read_plainly(files.paths[0]),
        "sequential read, mapped and added up": lambda: read_mapped(files.paths[0], files.shape),
    }.items():
        show(name, size, clock.measure(work))
    files.remember()
    options = best_sgd(files, seeds)
    for kind, more in ((Tracking, {}), (Sgd, options)):
        needed = []
        for seed in seeds:
            files.remember()
            make = lambda k=kind, s=seed, m=more: k(files, s, **m)  # noqa: E731
            needed.append(steps_to_aims(make, files, files.shape[0]))
        for k, aim in enumerate(("natural mix", "rare kind")):
            lines = []
            for seed, steps in zip(seeds, needed, strict=True):
                last = []

                def work(kind=kind, seed=seed, more=more, steps=steps[k], last=last):
                    learner = kind(files, seed, **more)
                    learner.advance(steps)
                    last[:] = [4.0 * learner.read(), learner.weights()]

                found = clock.measure(work)
                lines.append([*found, steps[k], last[0], *files.errors(last[1])])
            # the middle one of the seeds, by its time with cold files, and the slowest
            lines.sort(key=lambda line: line[1])
            for label, line in (("median", lines[len(lines) // 2]), ("slowest", lines[-1])):
                name = f"{kind.name} to {aim}, {label} seed"
                show(name, line[4], line[:3], line[3], line[5:])
    last = []

    def fit(model, data):
        model.fit(data, files.y)
        reads = model.result_.reads.nnz + model.result_.reads.certificate
        last[:] = [4.0 * reads, model.coef_[0], int(model.result_.history[-1].epoch)]

    def ended_by_its_own_rule():
        fit(
            SublinearSVC(
                nu=0.0, bias="none", mode="monte-carlo", solver="tracking", eps=EPS,
                random_state=0, verbose=False,
            ),
            Matrix.pair(*files.open()),
        )  # fmt: skip

    def one_epoch():
        fit(
            LinearClassifier(
                solver="asgd", alpha=options["alpha"], bias="none", tol=None, max_epochs=1,
                random_state=0, verbose=False,
            ),
            files.open()[0],
        )  # fmt: skip

    for name, work in {
        f"SublinearSVC, ended by eps={EPS}": ended_by_its_own_rule,
        "LinearClassifier('asgd'), one epoch": one_epoch,
    }.items():
        found = clock.measure(work)
        show(name, last[0], found, last[2], files.errors(last[1]))
    print(f"(Pegasos: {options})\n")


def compile_all(folder):
    """Run everything once on small files."""
    files = Files(folder, (300, 200), 10, 0)
    try:
        Tracking(files, 0).advance(20)
        Sgd(files, 0).advance(20)
        matrix = Matrix.pair(*files.open())
        SublinearSVC(
            nu=0.0, bias="none", mode="monte-carlo", solver="tracking", eps=1.0, verbose=False
        ).fit(matrix, files.y)
        LinearClassifier(solver="asgd", bias="none", tol=None, max_epochs=1, verbose=False).fit(
            files.open()[0], files.y
        )
    finally:
        files.remove()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=26_000)
    parser.add_argument(
        "--rare", type=int, nargs="+", default=[1000], metavar="N", help="one row in N is rare"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3, help="the least time of so many is shown")
    parser.add_argument("--dir", type=Path, help="where to write; a temporary folder by default")
    parser.add_argument("--keep", action="store_true", help="keep the files; needs --dir")
    options = parser.parse_args()
    if options.keep and options.dir is None:
        parser.error("--keep needs --dir: a temporary folder is removed")
    warnings.simplefilter("ignore", ConvergenceWarning)  # few epochs are enough to compare
    if options.dir is not None:
        options.dir.mkdir(parents=True, exist_ok=True)
    folder = tempfile.TemporaryDirectory(dir=options.dir, prefix="out_of_core_")
    with folder as temporary, threadpool_limits(1):
        start = time.perf_counter()
        compile_all(temporary)
        print(f"compiling or loading machine code: {time.perf_counter() - start:.1f} s (not below)")
        folder = options.dir if options.keep else temporary
        for share in options.rare:
            start = time.perf_counter()
            files = Files(folder, (options.rows, options.columns), share, seed=0)
            try:
                size = 4e-9 * options.rows * options.columns
                print(
                    f"one row in {share} is rare; {options.rows:,} x {options.columns:,} float32, "
                    f"{size:.2f} GB, written twice in {time.perf_counter() - start:.0f} s"
                )
                compare(files, range(options.seeds), options.repeats)
            finally:
                if not options.keep:
                    files.remove()


if __name__ == "__main__":
    main()
