"""A store of three times the memory: learned from, and what the system had to do for it.

    python benchmarks/store_memory.py [--megabytes 60] [--times 3]
    systemd-run --user --scope -p MemoryMax=300M -p MemorySwapMax=0 \\
        python benchmarks/store_memory.py --megabytes 300

A sparse store of ``--times`` as many bytes by rows as there is memory is made, the system is told
to forget its files, and another process learns from it for some epochs. Shown is what that process
saw: its own memory at the most ("private": what a system without swap could not take back), pages
of files that were in memory at the same time, what was swapped, page faults that waited for the
disk, and bytes that came from it.

Memory is limited in one of two ways:

group
    the process is in a control group (version 1 or 2) with a limit that the store exceeds. Pages of
    files count, and the system takes them back. A group is not made here: whoever starts the
    process does it, as in the second line above. The group holds the interpreter and all libraries
    too, some 250 MB.
private
    elsewhere, ``RLIMIT_DATA``: private memory may grow by so many megabytes after the libraries
    are loaded. Pages of files are not limited, and the system keeps them where there is room.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from skimlearn import LinearClassifier, Store, open_store

ROWS, COLUMNS, ENTRIES = 2000, 2000, 100  # of a block, and entries of a row
BYTES_OF_ROW = 12 * ENTRIES + 8
UNLIMITED = 2**60  # version 1 writes the largest multiple of a page for none


def blocks(count):
    """Rows of two classes that a hyperplane parts."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=COLUMNS)
    starts = np.arange(ROWS + 1) * ENTRIES
    wide = COLUMNS // ENTRIES
    for _ in range(count):
        columns = (wide * np.arange(ENTRIES) + rng.integers(wide, size=(ROWS, ENTRIES))).ravel()
        parts = (rng.normal(size=ROWS * ENTRIES), columns, starts)
        X = sp.csr_matrix(parts, shape=(ROWS, COLUMNS))
        yield X, np.where(X @ w > 0, 1, -1)


def forget(folder):
    """Let the system drop its copies of the files, which nobody has mapped."""
    for path in Path(folder).iterdir():
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


# ------------------------------------------------------------------------------- what can be seen


def group_limit(proc="/proc/self/cgroup", root="/sys/fs/cgroup"):
    """The least limit in bytes of the control groups that this process is in, or None."""
    limits = []
    for line in Path(proc).read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, name = Path(root), "memory.max"
        elif "memory" in controllers.split(","):
            top, name = Path(root) / "memory", "memory.limit_in_bytes"
        else:
            continue
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):  # a group is limited by those above it, too
            file = top.joinpath(*parts[:depth], name)
            text = file.read_text(encoding="ascii").strip() if file.exists() else "max"
            if text != "max" and int(text) < UNLIMITED:
                limits.append(int(text))
    return min(limits, default=None)


def status(*names):
    """Numbers of /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    found = {line.partition(":")[0]: line.split()[1] for line in lines if line.endswith(" kB")}
    return [1024 * int(found[name]) for name in names]


def read_from_disk():
    """Bytes that this process made the system fetch from disk."""
    text = Path("/proc/self/io").read_text(encoding="ascii")
    return int(text.split("\nread_bytes:")[1].split()[0])


class Peaks(threading.Thread):
    """The most of some numbers of the process, looked at every few milliseconds."""

    names = ("RssAnon", "RssFile", "VmSwap")

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.ended = [0] * len(self.names), threading.Event()

    def run(self):
        while not self.ended.wait(0.005):
            self.most = list(map(max, self.most, status(*self.names)))


# ----------------------------------------------------------------------------------------- learn


def model(epochs):
    return LinearClassifier(alpha=1e-6, solver="dual", max_epochs=epochs, tol=1e-9, random_state=0)


def learn(folder, private, epochs):
    """In a process of its own: learn within the limit, and print what was seen."""
    warnings.simplefilter("ignore")  # few epochs are enough
    small = open_store(folder / "small")
    model(2).fit(small).score(small, small.y)  # machine code
    data, anonymous = status("VmData", "RssAnon")
    if private is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (data + private, -1))
    faults, disk = resource.getrusage(resource.RUSAGE_SELF).ru_majflt, read_from_disk()
    peaks = Peaks()
    peaks.start()
    began = time.perf_counter()
    store = open_store(folder / "large")
    fitted = model(epochs).fit(store)
    right = fitted.score(store, store.y)
    seconds = time.perf_counter() - began
    peaks.ended.set()
    peaks.join()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - faults
    lines = {
        "private memory, beyond that of the start": peaks.most[0] - anonymous,
        "pages of files in memory at once": peaks.most[1],
        "swapped": peaks.most[2],
        "read from disk": read_from_disk() - disk,
    }
    for name, value in lines.items():
        print(f"{name:<44} {value / 1e6:10.1f} MB")
    print(f"{'page faults that waited for the disk':<44} {faults:10d}")
    print(f"{'accuracy':<44} {right:10.4f}, in {seconds:.1f} s, {fitted.result_.epochs:g} epochs")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=60.0, help="of memory")
    parser.add_argument("--times", type=float, default=3.0, help="as many bytes has the store")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--dir", type=Path, help="where to write; a temporary folder by default")
    parser.add_argument("--learn", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size, group = options.times * options.megabytes * 1e6, group_limit()
    limited = group is not None and group < size
    private = None if limited else int(options.megabytes * 1e6)
    if options.learn is not None:
        learn(options.learn, private, options.epochs)
        return
    with tempfile.TemporaryDirectory(dir=options.dir, prefix="store_memory_") as name:
        folder, memory = Path(name), int(options.megabytes * 2**18)
        Store.create(folder / "small", blocks(3))
        store = Store.create(
            folder / "large", blocks(int(np.ceil(size / (ROWS * BYTES_OF_ROW)))), memory=memory
        )
        taken = BYTES_OF_ROW * store.shape[0]
        del store
        forget(folder / "large")
        how = f"the group's limit of {group / 1e6:.0f} MB" if limited else "RLIMIT_DATA"
        print(
            f"{taken / 1e6:.0f} MB by rows, {options.megabytes:.0f} MB of memory, by {how}; "
            f"the machine has {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.0f} "
            f"GB and {swap() / 1e9:.0f} GB of swap",
            flush=True,
        )
        line = [sys.executable, __file__, "--learn", str(folder)]
        for option in ("megabytes", "times", "epochs"):
            line += [f"--{option}", str(getattr(options, option))]
        sys.exit(subprocess.run(line, check=False).returncode)


def swap():
    """Bytes of swap that the machine has."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("SwapTotal"))


if __name__ == "__main__":
    main()
