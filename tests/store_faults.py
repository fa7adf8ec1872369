"""Making a store goes wrong: at every step, by an error or by a signal that nothing survives."""

import os
import signal
import time
import warnings
from contextlib import ExitStack
from unittest import mock

import numpy as np
import scipy.sparse as sp

from skimlearn import Store, StoreError, open_store
from skimlearn.data import _store_build, _store_transpose, _store_write

FORMER, NEW = 7, 8  # numbers of columns, by which the two are told apart


def data(columns, rows=60, seed=0):
    """Three blocks of sparse rows with labels."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.4)
        yield sp.csr_matrix(X), rng.choice([-1, 1], size=rows)


def make(path, columns=NEW, rows=60, **options):
    """A store whose transposition needs several buckets."""
    with mock.patch("skimlearn.data.store.LEAST_MEMORY", 1):
        return Store.create(path, data(columns, rows), memory=3000, **options)


class Steps:
    """Counts what is done to the disk, and does something else at one of the steps."""

    def __init__(self, act, at=None):
        self.act, self.at, self.count = act, at, 0

    def __enter__(self):
        self.stack = ExitStack()
        for module in (_store_write, _store_build, _store_transpose):
            self._wrap(module, "write")
        for name in ("rename", "unlink", "rmdir", "mkdir", "fsync"):
            self._wrap(os, name)
        return self

    def __exit__(self, *_):
        self.stack.close()

    def _wrap(self, module, name):
        original = getattr(module, name)

        def wrapped(*args, **kwargs):
            self.count += 1
            if self.count == self.at:
                self.act(name)
            return original(*args, **kwargs)

        self.stack.enter_context(mock.patch.object(module, name, wrapped))


def die(_name=None):
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(work):
    """Do something in another process, which is not waited for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child uses none of our threads
        child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def killed_at_step(path, step, **options):
    """Make a store in a process that is killed at this step; whether it came so far."""

    def work():
        with Steps(die, step):
            make(path, **options)

    status = os.waitpid(in_child(work), 0)[1]
    return os.WIFSIGNALED(status)


def killed_after(path, seconds, **options):
    """Make a store in a process that is killed after some time; whether it was in time for that."""
    child = in_child(lambda: make(path, **options))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def state(path):
    """None if nothing opens, else the number of columns of a store that is sound."""
    try:
        store = open_store(path)
    except StoreError:
        return None
    store.verify()
    return store.shape[1]


def check_after_kill(path, former):
    """What is wrong after a kill: the former store or none, or the new one, and a way on."""
    found = state(path)
    if found not in (FORMER if former else None, NEW):
        return f"a store of {found} columns is there"
    make(path, overwrite=True)
    if state(path) != NEW:
        return "the next store did not take its place"
    left = sorted(set(os.listdir(os.path.dirname(path))) - {os.path.basename(path)})
    return f"left behind: {left}" if left else None
