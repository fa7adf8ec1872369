"""What docs/sublinear.md shows of reads_to_error.py: the table of teachers, and the map."""

import re
from pathlib import Path

from _reads_picture import draw

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"(<!-- table: teacher -->\n).*?(<!-- end -->)", re.DOTALL)
HEAD = (
    "R", "delta", "SGD", "its bound, without its constant", "best sublinear", "its setting",
    "SGD / sublinear", "theory",
)  # fmt: skip


def write_page(found):
    """Fill the page with what was measured: the parts that were not run stay as they are."""
    if found.get("teacher"):
        page = DOCS / "sublinear.md"
        text = page.read_text(encoding="utf-8")
        block = teacher(found["teacher"])
        page.write_text(BLOCK.sub(lambda at: f"{at[1]}{block}\n{at[2]}", text), encoding="utf-8")
    if all(found.get(part) for part in ("rare", "real", "map")):
        draw(found, DOCS / "images" / "regimes.png")


def teacher(lines):
    """The table of the widest matrix, and what both kinds make of their bounds."""
    widest = max(line["d"] for line in lines)
    rows, sgd, ours = [HEAD, ("---:",) * len(HEAD)], [], []
    for line in lines:
        share = line["flipped"] + line["delta"]
        sgd.append(line["bound"] / line["sgd"])
        ours.append(line["bound"] * share / line["ours"])
        if line["d"] == widest:
            rows.append((
                f"{line['flipped']:g}", f"{line['delta']:g}", f"{line['sgd']:,.0f}",
                f"{line['bound']:,.0f}", f"{line['ours']:,.0f}", f"`{line['setting']}`",
                f"{line['sgd'] / line['ours']:.2g}", f"{1.0 / share:.2g}",
            ))  # fmt: skip
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return (
        f"{table}\n\nWith {widest:,} columns. In all cases, those with fewer columns included, "
        f"SGD beats its bound {min(sgd):,.0f} to {max(sgd):,.0f} times, the sublinear solvers "
        f"theirs {min(ours):.2g} to {max(ours):.2g} times (below 1: they need more)."
    )
