"""Training goes wrong: at every step that touches the disk, or at any time, by a kill."""

import os
import signal
import subprocess
import time
from unittest import mock

import numpy as np

import skimlearn
from command_line import skim, start
from store_faults import in_child

FORMER, NEW = ("--alpha", "0.5"), ("--alpha", "0.05")  # by which the two models are told apart
STEPS = ("fsync", "replace", "open", "close")  # what saving asks the system for


def train(data, model, options, quiet=True):
    """Train in this process."""
    more = ("-q",) if quiet else ()
    skim("train", data, "-o", model, *options, "--random-state", "0", *more)


class Steps:
    """Counts calls to the system, and kills the process at one of them."""

    def __init__(self, at=None):
        self.at, self.count = at, 0

    def __enter__(self):
        self.patches = [mock.patch.object(os, name, self._wrap(name)) for name in STEPS]
        for patch in self.patches:
            patch.start()
        return self

    def __exit__(self, *_):
        for patch in self.patches:
            patch.stop()

    def _wrap(self, name):
        original = getattr(os, name)

        def wrapped(*arguments, **options):
            self.count += 1
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **options)

        return wrapped


def killed(child):
    """Wait for a child; whether it was killed."""
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def killed_at_step(data, model, step):
    """Train in a child that is killed at this step."""

    def work():
        with Steps(step):
            train(data, model, NEW)

    return killed(in_child(work))


def killed_after(data, model, seconds):
    """Train in a child that is killed after so many seconds."""
    child = in_child(lambda: train(data, model, NEW))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)  # a child that has ended waits to be asked
    return killed(child)


def fresh_killed_after(data, model, seconds):
    """The same with a process of its own, from its start."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = start("train", data, "-o", model, *NEW, "--random-state", "0", **quiet)
    time.sleep(seconds)
    process.kill()
    return process.wait() == -signal.SIGKILL


def fault(model, former, new):
    """What is wrong with the model after a kill, or None: it must be the former or the new one."""
    try:
        found = skimlearn.load(model).coef_
    except (OSError, ValueError) as error:
        return f"the model is not there, or broken: {error}"
    if not any(np.array_equal(found, expected) for expected in (former, new)):
        return "the model is neither the former nor the new one"
    others = {file.name for file in model.parent.iterdir()} - {model.name}
    odd = [name for name in others if not name.endswith(".part")]
    return f"there are other files: {odd}" if odd else None
