"""What experiments share: options, data sets by name, and how results are written.

An experiment is a module with three functions:

    measure(options) -> dict         runs it; the dict goes to data/NAME.json
    texts(found) -> dict             the parts of the page that have numbers: marker -> Markdown
    draw(found) -> Figure            the picture, images/NAME.png

The last two see nothing but what is in the file of data, so that pages and pictures can be made
again without a run (``--redraw``), and a test can tell whether a page says what its data says. A
page NAME.md is written by hand but for what is between two markers:

    <!-- table: errors -->
    ...
    <!-- end -->
"""

import argparse
import contextlib
import json
import math
import os
import platform
import re
import shutil
import sys
import time
from io import BytesIO
from pathlib import Path
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # times are those of one core

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "experiments"
for folder in ("benchmarks", "examples"):  # measuring is not written twice
    if str(ROOT / folder) not in sys.path:
        sys.path.append(str(ROOT / folder))

BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
STYLE = {
    "font.size": 10, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True,
    "axes.titlesize": 10.5, "legend.fontsize": 8.5, "figure.dpi": 100,
}  # fmt: skip
COLOURS = 96  # of a picture: a palette makes a small file


def main(name, measure, texts, draw, doc, more=None):
    """The command of an experiment; ``more`` adds options of its own to the parser."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    folder = os.environ.get("SKIMLEARN_DATA")
    add("--quick", action="store_true", help="small problems, some seconds; to try it out")
    add("--data", type=Path, default=Path(folder) if folder else None,
        help="folder of data sets, with a module loaders.py; default: $SKIMLEARN_DATA")  # fmt: skip
    add("--out", type=Path, default=ROOT / "build" / "experiments",
        help="folder for data/, images/ and the page; default: build/experiments")  # fmt: skip
    add("--redraw", action="store_true", help="page and picture from the data in --out, no runs")
    if more is not None:
        more(parser)
    options = parser.parse_args()
    if options.redraw:
        found = json.loads((options.out / "data" / f"{name}.json").read_text())
    else:
        found = timed(measure, options)
    write(name, found, texts, draw, options.out)


def timed(measure, options):
    """Run, and put beside what was found what it was found with."""
    start, used = time.perf_counter(), cpu()
    found = measure(options)
    from importlib.metadata import version

    about = {
        "quick": bool(options.quick),
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(cpu() - used, 1),
        "python": platform.python_version(),
        **{name: version(name) for name in ("skimlearn", "numpy", "numba", "scikit-learn")},
    }
    return plain({"about": about, **found})


def cpu():
    """Seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


@contextlib.contextmanager
def cpu_clock():
    """Let the library's clock show CPU time, so that other work on the machine does not count.

    For solvers of one thread: histories, limits of seconds and ``result.seconds`` follow it.
    """
    with mock.patch("time.perf_counter", time.process_time):
        yield


def plain(value):
    """As JSON has it: no arrays, no nan, no more digits than anybody needs."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def write(name, found, texts, draw, out):
    """The three files of an experiment."""
    for part in ("data", "images"):
        (out / part).mkdir(parents=True, exist_ok=True)
    text = re.sub(r"\n {3,}", " ", json.dumps(found, indent=1))  # a line for each small thing
    (out / "data" / f"{name}.json").write_text(text + "\n")
    page = out / f"{name}.md"
    if not page.exists() and (PAGES / page.name).exists():
        shutil.copy(PAGES / page.name, page)
    blocks = texts(found)
    if page.exists():
        page.write_text(filled(page.read_text(encoding="utf-8"), blocks), encoding="utf-8")
    for marker, block in blocks.items():
        print(f"\n-- {marker}\n{block}")
    try:
        import matplotlib
    except ImportError:
        print("no picture: it needs matplotlib, as in `pip install 'skimlearn[report]'`")
        return
    matplotlib.use("Agg")
    with matplotlib.rc_context(STYLE):
        save(draw(found), out / "images" / f"{name}.png")
    print(f"\nwrote {out / 'data' / name}.json, the picture and the page")


def filled(page, blocks):
    """The page with new text between its markers; every marker must have its block."""
    names = {found[2] for found in BLOCK.finditer(page)}
    if names != set(blocks):
        raise ValueError(f"the page has the markers {sorted(names)}, not {sorted(blocks)}")
    return BLOCK.sub(lambda found: f"{found[1]}{blocks[found[2]]}\n{found[3]}", page)


def save(figure, path):
    """A small PNG file, the same for the same numbers."""
    from matplotlib import pyplot
    from PIL import Image

    buffer = BytesIO()
    figure.savefig(buffer, dpi=100, metadata={"Software": None})
    pyplot.close(figure)
    image = Image.open(buffer).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


# ------------------------------------------------------------------------------------------ words


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def number(value, digits=3):
    """A number for people; a dash for none."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0.0:
        return "0"
    value = float(f"{value:.{digits}g}")
    if 10.0 ** (digits - 1) <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def percent(value, digits=2):
    return "-" if value is None else f"{100.0 * value:.{digits}f} %"


def source(found):
    """What the run was made with, as a sentence."""
    about = found["about"]
    how = "a quick run" if about["quick"] else "the full run"
    return (
        f"*Written by {how}, {about['cpu_seconds']:.0f} s of one core, with skimlearn "
        f"{about['skimlearn']}, NumPy {about['numpy']}, numba {about['numba']}.*"
    )


# ------------------------------------------------------------------------------------------- data


def problem(name, options, *, instead="spam"):
    """A problem of the race by its name, or what stands in for it where its data is not there."""
    from race import cli, problems

    try:
        if options.quick and name not in problems.MADE:
            raise FileNotFoundError("a quick run takes none")
        folder = problems.prepare(name, options.data, cli.cache_folder())
    except FileNotFoundError as error:
        print(f"{name}: not there ({error}); {instead} stands in for it", flush=True)
        folder = problems.prepare(instead, None, cli.cache_folder())
    return problems.load(folder)
