"""From a file to a model on disk: seconds of whole processes, at an equal objective.

    python benchmarks/end_to_end.py --data FOLDER [--wabbit PYTHON] [--problem imdb covtype]

Every program reads the same rows from text, minimises ``alpha / 2 ||w||^2 + mean hinge loss``
without a bias, and writes a model:

* `skim train` (as some lines of Python where the command is not there), which learns by one thread;
* `liblinear-train -s 3` of Debian's liblinear-tools, if it is on the path;
* Vowpal Wabbit, if the interpreter ``--wabbit`` has the package vowpalwabbit; in its own format.

The others have settings from rough to precise (tolerances, passes, step lengths). First each one
is run once, until the relative distance ``(P(w) - P*) / P*`` of the objective, computed here from
the model that was written, is at most ``--distance``; P* is the least that is known, by our solver
to a certified 1e-6 or by anybody. Then the quickest settings that meet it are run in turns
``--repeat`` times. Shown are median seconds from the start of a process to its end, by the clock
and by the processor (which other work on the machine disturbs less), with machine code on disk. The
data folder is that of the race (see README.md); without one, the bundled mail corpus is taken.

Last comes the floor below which no command of ours can get: a process that only imports NumPy and
numba. Modules are read as bytecode, as they are where a package was installed.
"""

import argparse
import importlib.util
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from race.problems import load, prepare

from skimlearn import LinearClassifier, write_svmlight
from skimlearn import load as load_model

PROBLEMS = ("imdb", "debian", "20news", "covtype")
LINE = """
import sys
from skimlearn import LinearClassifier, read_svmlight
X, y = read_svmlight(sys.argv[1], n_jobs=-1)
model = LinearClassifier(alpha=float(sys.argv[3]), tol=float(sys.argv[4]), bias="none")
model.fit(X, y).save(sys.argv[2])
"""
WABBIT = "import sys, vowpalwabbit; vowpalwabbit.Workspace(' '.join(sys.argv[1:])).finish()"
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
SETTINGS = {**os.environ, **THREADS}
SETTINGS.pop("PYTHONDONTWRITEBYTECODE", None)
FLOOR = (  # as `skim` imports them: without what numba loads for nothing
    "import sys; sys.modules |= dict.fromkeys(('colorama', 'coverage', 'scipy', 'yaml'));"
    "import numpy, numba"
)


class Run(NamedTuple):
    """What a process took, and the objective of its model."""

    wall: float
    cpu: float
    objective: float


HOPELESS = 5.0  # times the quickest that meets the distance: not pursued further
FAILED = Run(np.inf, np.inf, np.inf)


@dataclass
class Task:
    """A problem and the files in which the programs find it."""

    name: str
    X: object
    y: np.ndarray
    alpha: float
    folder: Path
    best: float = np.inf
    runs: dict = field(default_factory=dict)  # (program, setting): [Run]

    @property
    def rows(self):
        return self.folder / "rows.svm"

    @property
    def rows_wabbit(self):
        return self.folder / "rows.vw"

    @property
    def model(self):
        return self.folder / "model"

    def objective(self, w):
        margins = self.y * (self.X @ w)
        loss = np.maximum(0.0, 1.0 - margins).mean()
        return 0.5 * self.alpha * float(w @ w) + float(loss)


# ----------------------------------------------------------------------------------------- programs


class Skim:
    """Ours; its tolerance is the distance itself, which its certificate then promises."""

    name = "skimlearn"

    def __init__(self, distance):
        self.distance = distance

    def settings(self, task):
        return [[self.distance]]

    def command(self, task, setting):
        if importlib.util.find_spec("skimlearn.cli") is None:
            return [sys.executable, "-c", LINE, task.rows, task.model, task.alpha, setting]
        start = "from skimlearn.cli import main; main()"
        return [
            sys.executable, "-c", start, "train", task.rows, "-o", task.model, "--loss", "hinge",
            "--bias", "none", "--alpha", task.alpha, "--tol", setting,
        ]  # fmt: skip

    def weights(self, task):
        w = load_model(task.model).coef_.ravel()
        return np.pad(w, (0, task.X.shape[1] - len(w)))


class Liblinear:
    """Dual coordinate descent; the settings are its stopping tolerances."""

    name = "liblinear-train"

    def settings(self, task):
        return [[10.0, 5.0, 4.0, 3.5, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]]

    def command(self, task, setting):
        C = 1.0 / (task.alpha * len(task.y))
        return [
            "liblinear-train", "-q", "-s", "3", "-c", repr(C), "-e", setting, task.rows, task.model,
        ]  # fmt: skip

    def weights(self, task):
        head, _, numbers = task.model.read_text().partition("\nw\n")
        positive = next(line for line in head.splitlines() if line.startswith("label"))
        w = np.array(numbers.split(), dtype=np.float64)
        w *= 1.0 if float(positive.split()[1]) > 0 else -1.0
        return np.pad(w, (0, task.X.shape[1] - len(w)))


class Wabbit:
    """Stochastic gradients; the settings are passes, for some kinds and lengths of steps."""

    name = "vowpalwabbit"

    def __init__(self, python):
        self.python = python

    def settings(self, task):
        values = task.X.data if sp.issparse(task.X) else task.X.ravel()
        norm2 = float(values @ values) / len(task.y)
        steps = [f"--sgd --power_t 0.5 -l {s / norm2:.3g}" for s in (0.3, 3.0, 30.0)]
        passes = (1, 2, 4, 8, 16, 32, 64)
        return [[f"{how} --passes {k}" for k in passes] for how in (*steps, "-l 0.5")]

    def command(self, task, setting):
        bits = max(18, int(np.ceil(np.log2(task.X.shape[1] + 1))))
        passes = int(setting.rsplit(" ", 1)[1])
        cache = ["--cache_file", f"{task.folder}/rows.cache", "-k"] if passes > 1 else []
        return [
            self.python, "-c", WABBIT, "-d", task.rows_wabbit, *cache, "--holdout_off",
            "--noconstant", "--quiet", "-b", bits, "--loss_function", "hinge", "--l2",
            repr(task.alpha), setting, "--predict_only_model", "--readable_model", task.model,
        ]  # fmt: skip

    def weights(self, task):
        w = np.zeros(task.X.shape[1])
        for line in task.model.read_text().partition("\n:0\n")[2].splitlines():
            column, _, value = line.partition(":")
            if 1 <= int(column) <= len(w):
                w[int(column) - 1] = float(value)
        return w


# ------------------------------------------------------------------------------------------ measure


def run(task, program, setting, patience):
    """Run a program once; what came of it is remembered."""
    task.model.unlink(missing_ok=True)
    command = [str(part) for part in program.command(task, setting)]
    began, cpu = time.perf_counter(), _cpu()
    try:
        done = subprocess.run(
            command, env=SETTINGS, capture_output=True, text=True, check=False,
            timeout=patience,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return FAILED
    wall, cpu = time.perf_counter() - began, _cpu() - cpu
    if done.returncode != 0 or not task.model.exists():
        print(f"  {program.name} {setting}: {done.stderr.strip()[-200:]}")
        return FAILED
    found = Run(wall, cpu, task.objective(program.weights(task)))
    task.best = min(task.best, found.objective)
    task.runs.setdefault((program.name, setting), []).append(found)
    return found


def _cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def floor(repeat):
    """Median seconds, by both clocks, of a process that only imports NumPy and numba."""
    turns = []
    for _ in range(repeat):
        began, cpu = time.perf_counter(), _cpu()
        subprocess.run([sys.executable, "-c", FLOOR], env=SETTINGS, check=True)
        turns.append((time.perf_counter() - began, _cpu() - cpu))
    return [statistics.median(clock) for clock in zip(*turns, strict=True)]


def explore(task, program, distance, patience):
    """Run the settings from rough to precise, until one meets the distance, or takes too long."""
    for ladder in program.settings(task):
        for setting in ladder:
            found = run(task, program, setting, patience)
            meets = [runs[0] for runs in task.runs.values()]
            meets = [r.cpu for r in meets if r.objective <= (1.0 + distance) * task.best]
            if found.objective <= (1.0 + distance) * task.best or (
                found.cpu > HOPELESS * min(meets, default=np.inf) or found is FAILED
            ):
                break


def chosen(task, name, distance):
    """The quickest setting of a program that meets the distance, or None."""
    meets = {
        setting: runs[0].cpu
        for (other, setting), runs in task.runs.items()
        if other == name and runs[0].objective <= (1.0 + distance) * task.best
    }
    return min(meets, key=meets.get, default=None)


def race(task, programs, options):
    """All programs: name, seconds by both clocks, distance and setting of each."""
    for program in programs:
        explore(task, program, options.distance, options.patience)
    best = {program.name: chosen(task, program.name, options.distance) for program in programs}
    turns = {program.name: [] for program in programs}
    for _ in range(options.repeat):
        for program in programs:
            if best[program.name] is not None:
                found = run(task, program, best[program.name], options.patience)
                turns[program.name].append(found)
    lines = []
    for name, runs in turns.items():
        if not runs:
            found = [
                r.objective for (other, _), rs in task.runs.items() if other == name for r in rs
            ]
            off = (min(found, default=np.inf) - task.best) / task.best
            lines.append((name, np.inf, np.inf, off, "none meets the distance; the nearest"))
            continue
        off = (max(r.objective for r in runs) - task.best) / task.best
        wall, cpu = (
            statistics.median(getattr(r, clock) for r in runs) for clock in ("wall", "cpu")
        )
        lines.append((name, wall, cpu, off, str(best[name])))
    return lines


def prepared(problem, alpha, folder):
    """The rows of a problem in the text formats, and the optimum."""
    X = sp.csr_matrix(problem.X)
    task = Task(problem.name, X, problem.y, alpha, Path(folder))
    write_svmlight(X, problem.y.astype(np.int64), task.rows)
    with open(task.rows, "rb") as source, open(task.rows_wabbit, "wb") as target:
        target.writelines(line.replace(b" ", b" | ", 1) for line in source)
    model = LinearClassifier(alpha=alpha, tol=1e-6, bias="none", max_epochs=None, random_state=0)
    task.best = task.objective(model.fit(X, problem.y).coef_.ravel())
    return task


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", help="a folder of data sets with a module loaders")
    add("--cache", help="a folder for problems that were prepared; that of the race will do")
    add("--problem", nargs="+", default=None, help="problems of the race with two classes")
    add("--alpha", type=float, default=1e-4)
    add("--distance", type=float, default=1e-3, help="relative, of the objective")
    add("--repeat", type=int, default=3)
    add("--patience", type=float, default=120.0, help="seconds for one run")
    add("--wabbit", default=sys.executable, help="an interpreter that has vowpalwabbit")
    options = parser.parse_args()

    programs = [Skim(options.distance)]
    if shutil.which("liblinear-train"):
        programs.append(Liblinear())
    if not subprocess.run(
        [options.wabbit, "-c", "import vowpalwabbit"], capture_output=True
    ).returncode:
        programs.append(Wabbit(options.wabbit))
    worst = 0.0
    for name in options.problem or (PROBLEMS if options.data else ("spam",)):
        with tempfile.TemporaryDirectory() as folder:
            problem = load(prepare(name, options.data, options.cache or folder))
            task = prepared(problem, options.alpha, folder)
            size = task.rows.stat().st_size / 1e6
            n, d = task.X.shape
            print(f"\n{name}: {n:,} x {d:,}, {size:.0f} MB, alpha = {options.alpha:g}", flush=True)
            lines = race(task, programs, options)
        ours, *others = lines
        print(
            f"  {'program':<16} {'wall':>7} {'cpu':>7} {'ours/its':>9} {'cpu':>6} {'distance':>9}"
        )
        for program, wall, cpu, off, setting in lines:
            ratios = f"{ours[1] / wall:9.2f} {ours[2] / cpu:6.2f}"
            print(
                f"  {program:<16} {wall:7.2f} {cpu:7.2f} {ratios} {off:9.1e}  {setting}", flush=True
            )
        if others:
            worst = max(worst, ours[1] / min(line[1] for line in others))
    wall, cpu = floor(options.repeat)
    print(
        f"\nNumPy and numba alone, imported: {wall:.2f} s by the clock, {cpu:.2f} by the processor"
    )
    print(f"the most of the best peer's time, by the clock, that ours takes: {worst:.2f}")


if __name__ == "__main__":
    main()
