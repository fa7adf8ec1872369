"""Starts the race from a checkout, where neither it nor skimlearn is installed; see cli.py."""

import sys
from pathlib import Path


def start():
    root = Path(__file__).resolve().parents[2]
    sys.path[:1] = [str(root / "benchmarks"), str(root / "src")]
    from race import cli

    cli.main()


start()
