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
import gc
import os
import tempfile
import time
import warnings
from pathlib import Path

from _out_of_core_files import Files, read_from_disk, read_mapped, read_plainly
from _out_of_core_learners import Sgd, Tracking, best_sgd, steps_to_aims
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from skimlearn import LinearClassifier, Matrix, SublinearSVC

EPS = 0.26  # of the fit that is ended by its own rule


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
