"""What holds for all tests."""

import signal
import sys
from pathlib import Path

# A job in the background of a shell inherits that Ctrl-C is ignored, and so would the processes
# that the tests of interruptions start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Scripts that are no package, but import each other: the same way in whatever order tests run.
ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / folder) for folder in ("benchmarks", "experiments", "examples")]
