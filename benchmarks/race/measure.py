"""Runs: workers with time limits, ladders climbed, the best settings repeated in turns."""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from race import problems
from race.peers import Task, is_ours

ROOT = Path(__file__).resolve().parents[2]
THREAD_LIMITS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip
SUBOPTIMALITY = (1e-2, 1e-3, 1e-4)
ERROR = 1e-3  # absolute, above the test error of the optimum
TARGETS = ("error", *(f"{s:.0e}" for s in SUBOPTIMALITY))
STARTING = 300.0  # seconds for imports, compilation and the first fits
SPARE = 0.5  # of the last target: a ladder is climbed so far
LUCKY = 6  # settings that are tried where a ladder ended by luck
AGAIN = 1.0  # a fit that is shorter is explored twice: what it loads at first use is no cost


class PeerFailed(Exception):
    """A worker did not start, crashed, hung, or said no."""


@dataclass
class Options:
    cache: Path
    environments: Path | None = None
    data: Path | None = None
    threads: int = 1
    repeat: int = 3
    budget: float = 20.0  # seconds of a fit
    patience: float = 10.0  # times the best of all: who is slower is not pursued
    reference: float = 600.0  # seconds for the optimum
    clock: str = "wall"  # or "cpu"
    log: object = print


def python_of(environment, folder):
    """The interpreter of a peer's environment; the running one if no folder was given."""
    if folder is None:
        return sys.executable
    path = Path(folder) / environment / "bin" / "python"
    return str(path) if path.exists() else sys.executable


def pinned_cores(threads):
    if not hasattr(os, "sched_getaffinity"):
        return None
    return sorted(os.sched_getaffinity(0))[-threads:]


class Client:
    """A worker of one peer, started when first asked and again after it was lost."""

    def __init__(self, peer, folder, loss, options):
        self.peer, self.folder, self.loss, self.options = peer, folder, loss, options
        self.process, self.versions = None, {}

    def ask(self, limit, **request):
        if self.process is None:
            self._start(request["alpha"])
        return self._ask(limit, **request)

    def _start(self, alpha):
        threads = str(self.options.threads)
        environment = {**os.environ, **dict.fromkeys(THREAD_LIMITS, threads)}
        environment["OMP_WAIT_POLICY"] = "passive"  # who waits must not burn the core of others
        environment["PYTHONPATH"] = os.pathsep.join((str(ROOT / "benchmarks"), str(ROOT / "src")))
        cores = pinned_cores(self.options.threads)
        if cores:
            environment["RACE_CORES"] = ",".join(map(str, cores))
        python = python_of(self.peer.environment, self.options.environments)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self.process = subprocess.Popen(
            [python, "-m", "race.worker", self.peer.name, str(self.folder), self.loss, threads],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment,
        )  # fmt: skip
        try:
            self.versions = self._answer(STARTING)["versions"]
            self._ask(STARTING, do="warm_up", alpha=alpha)
        except PeerFailed:
            self.close()
            raise

    def _ask(self, limit, **request):
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self._lost("ended")
        return self._answer(limit)

    def _answer(self, seconds):
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                self._lost(f"took more than {seconds:.0f} s")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                self._lost("crashed")
            line += more
        answer = json.loads(line)
        if "failed" in answer:
            raise PeerFailed(answer["failed"])
        return answer

    def _lost(self, why):
        self.errors.seek(0)
        last = self.errors.read().decode(errors="replace").strip().splitlines()[-1:]
        self.close()
        raise PeerFailed(": ".join([why, *last]) if why == "crashed" else why)

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.stdout.close()
            self.errors.close()
            self.process = None


@dataclass
class Cell:
    """A problem, a loss, an alpha: the optimum, and all runs of all peers."""

    problem: str
    loss: str
    alpha: float
    threads: int
    reference: dict
    runs: list = field(default_factory=list)
    absent: dict = field(default_factory=dict)  # peer: why it has no runs
    measured: dict = field(default_factory=dict)  # the machine, as `machine.describe` tells

    def distance(self, run):
        best = min([self.reference["objective"], *(r["objective"] for r in self.runs)])
        return (run["objective"] - best) / best

    def meets(self, target, objective_distance, error):
        if target == "error":
            return error <= self.reference["error"] + ERROR
        return objective_distance <= float(target)

    def reached(self, target, runs):
        return [r for r in runs if self.meets(target, self.distance(r), r["error"])]


class Race:
    """All peers on one problem and loss, for one alpha after another."""

    def __init__(self, name, loss, peers, options):
        self.options, self.name, self.loss = options, name, loss
        self.folder = problems.prepare(name, options.data, options.cache)
        self.meta = problems.meta_of(self.folder)
        self.clients = {p.name: Client(p, self.folder, loss, options) for p in peers}

    def close(self):
        for client in self.clients.values():
            client.close()

    def versions(self):
        found = {}
        for client in self.clients.values():
            if client.versions:
                found[client.peer.environment] = client.versions
        return found

    def reference(self, alpha, ours):
        """The optimum, from disk if it was found before."""
        key = f"{self.name}-{self.meta['digest']}-{self.loss}-{alpha:g}"
        path = Path(self.options.cache) / "optima" / f"{key}.json"
        if path.exists():
            return json.loads(path.read_text())
        seconds = self.options.reference
        client = self.clients.get(ours.name) or Client(ours, self.folder, self.loss, self.options)
        try:
            found = client.ask(2 * seconds + 60, do="reference", alpha=alpha, seconds=seconds)
        finally:
            if ours.name not in self.clients:
                client.close()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
        return found

    def run(self, alpha, ours):
        """A cell: explore, then repeat in turns what was quick."""
        reference = self.reference(alpha, ours)
        cell = Cell(self.name, self.loss, alpha, self.options.threads, reference)
        task = Task.of(self.meta, self.loss, alpha, self.options.threads)
        for name, client in self.clients.items():
            why = client.peer.why_not(task)
            if why is None:
                try:
                    self._explore(cell, client, task)
                except PeerFailed as error:
                    why = str(error)
            if why is not None and not any(r["peer"] == name for r in cell.runs):
                cell.absent[name] = why
        self._repeat(cell)
        self._go_on(cell, task)
        return cell

    def _limit(self, cell):
        """Seconds that a fit may take: some times what the best needs for the last target."""
        clock = self.options.clock
        best = min((r[clock] for r in cell.reached(TARGETS[-1], cell.runs)), default=float("inf"))
        return min(self.options.budget, max(0.3, self.options.patience * best))

    def _fit(self, cell, name, setting, turn, limit):
        client = self.clients[name]
        request = {"do": "fit", "alpha": cell.alpha, "setting": setting, "seed": turn}
        slack = 1.5 if self.options.clock == "wall" else 4.0  # a busy machine takes its time
        answer = client.ask(slack * limit + 2.0, **request)
        if answer["objective"] != answer["objective"]:
            raise PeerFailed("the weights are not numbers")
        return {"peer": name, "setting": setting, "turn": turn, **answer}

    def _explore(self, cell, client, task):
        name, failed, climbed = client.peer.name, None, 0
        for ladder in client.peer.ladders(task):
            enough = False
            for setting in ladder:
                limit = self._limit(cell)
                try:
                    run = self._fit(cell, name, setting, 0, limit)
                    if run[self.options.clock] < AGAIN:
                        again = self._fit(cell, name, setting, 0, limit)
                        run = min(run, again, key=lambda r: r[self.options.clock])
                except PeerFailed as error:
                    failed = str(error)
                    break
                climbed += 1
                cell.runs.append(run)
                if run[self.options.clock] > limit or enough:
                    break
                enough = self._is_enough(cell, run)  # one more: with other seeds it may not be
            if failed and not climbed:
                raise PeerFailed(failed)
        best = min((cell.distance(r) for r in cell.runs if r["peer"] == name), default=float("nan"))
        self.options.log(f"    {name:28s} {climbed:3d} settings, nearest {best:.1e} {failed or ''}")

    def _is_enough(self, cell, run):
        """Whether a run meets all targets with something to spare, since others have less luck."""
        return cell.reached("error", [run]) and cell.distance(run) <= SPARE * SUBOPTIMALITY[-1]

    def _candidates(self, cell):
        """For each peer and target, the quickest two settings, and the quickest with a reserve."""
        chosen, clock = defaultdict(list), self.options.clock
        for target in TARGETS:
            reached = sorted(cell.reached(target, cell.runs), key=lambda r: r[clock])
            counts, safe, seen = defaultdict(int), set(), set()
            for run in reached:
                name = run["peer"]
                far = run[clock] > self.options.patience / 2 * reached[0][clock]
                if far and not is_ours(name):  # it will not be the best peer
                    continue
                if (name, run["objective"]) in seen:  # another setting, the same answer
                    continue
                seen.add((name, run["objective"]))
                spare = target != "error" and cell.distance(run) <= SPARE * float(target)
                counts[name] += 1
                if counts[name] > 2 and (name in safe or not spare):
                    continue
                if spare:
                    safe.add(name)
                if run["setting"] not in chosen[name]:
                    chosen[name].append(run["setting"])
        return chosen

    def _repeat(self, cell):
        chosen = self._candidates(cell)
        for turn in range(1, self.options.repeat + 1):
            for name, settings in sorted(chosen.items(), key=lambda item: not is_ours(item[0])):
                for setting in settings:
                    self._once_more(cell, name, setting, turn)

    def _once_more(self, cell, name, setting, turn):
        try:
            cell.runs.append(self._fit(cell, name, setting, turn, self.options.budget))
        except PeerFailed as error:
            self.options.log(f"    {name}: {error}")

    def _go_on(self, cell, task):
        """Climb on where a ladder ended by luck: at a setting that other seeds need to be tighter.

        Else a target would be left to settings that reach it by other ways, or to none.
        """
        for name, client in self.clients.items():
            for _ in range(LUCKY):
                setting = self._next(cell, client, task)
                if setting is None:
                    break
                for turn in range(1, self.options.repeat + 1):
                    self._once_more(cell, name, setting, turn)

    def _next(self, cell, client, task):
        """The setting behind those that were repeated, of a ladder that ended by luck; or None."""
        from race.table import settings

        entries = [e for e in settings(cell, self.options.clock) if e["peer"] == client.peer.name]
        if not entries:
            return None
        for target in TARGETS:
            best = self._limit_of(cell, target)
            for ladder in client.peer.ladders(task):
                repeated = [e for e in entries if e["repeated"] and e["setting"] in ladder]
                if any(cell.meets(target, e["distance"], e["error"]) for e in repeated):
                    continue
                once = [r for r in cell.runs if r["turn"] == 0 and r["setting"] in ladder]
                lucky = cell.reached(target, [r for r in once if r["peer"] == client.peer.name])
                after = 1 + max((ladder.index(e["setting"]) for e in repeated), default=-1)
                if any(r[self.options.clock] <= best for r in lucky) and after < len(ladder):
                    return ladder[after]
        return None

    def _limit_of(self, cell, target):
        """Who takes longer to a target than this will not be the best peer."""
        clock = self.options.clock
        best = min((r[clock] for r in cell.reached(target, cell.runs)), default=0.0)
        return self.options.patience / 2 * best
