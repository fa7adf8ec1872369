"""Run the tutorial of docs/cli.md in an empty folder, and print what each command takes.

    python docs/time_tutorial.py

The first run on a machine compiles its kernels; run it twice to see what later ones take.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).parent / "cli.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page=PAGE):
    """The lines of the page that a shell can run."""
    text = page.read_text(encoding="utf-8")
    return [line for block in BLOCK.findall(text) for line in block.splitlines() if line]


def environment(folder):
    """The environment of this process, with a ``skim`` of this Python and this source."""
    program = Path(folder) / "skim"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m skimlearn "$@"\n')
    program.chmod(0o755)
    source = str(PAGE.parents[1] / "src")
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(paths),
    }


def run(work, page=PAGE):
    """Run all commands of a page in a folder: each with its seconds, as they are done."""
    with tempfile.TemporaryDirectory() as programs:
        settings = environment(programs)
        for line in commands(page):
            began = time.perf_counter()
            done = subprocess.run(
                ["sh", "-c", line], cwd=work, env=settings, capture_output=True, text=True
            )
            if done.returncode:
                raise RuntimeError(f"{line}\nexit code {done.returncode}\n{done.stderr}")
            yield line, time.perf_counter() - began, done


def main():
    """Print a line for each command."""
    total = 0.0
    with tempfile.TemporaryDirectory() as work:
        for line, seconds, _ in run(work):
            print(f"{seconds:7.2f} s  {line}", flush=True)
            total += seconds
    print(f"{total:7.2f} s  in all")


if __name__ == "__main__":
    main()
