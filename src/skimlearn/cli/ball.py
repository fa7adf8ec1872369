"""``skim ball``: the smallest ball around the data, and what lies outside."""

from __future__ import annotations

import time
from typing import Any

from skimlearn.cli._command import UNCONVERGED, command
from skimlearn.cli._inputs import Input, kind_of, read
from skimlearn.cli._models import Fit, described, facts_of, writable
from skimlearn.cli._output import Output, facts, number, seconds
from skimlearn.cli._reading import ROWS, Reading
from skimlearn.cli.train import Output_, Strict

__all__ = ["ball"]


@command("ball", panel="Models", takes=["EnclosingBall"], reads=ROWS)
def ball(
    out: Output,
    data: Input,
    parameters: dict[str, Any],
    reading: Reading,
    output: Output_ = None,
    strict: Strict = False,
) -> int | None:
    """Find the smallest ball around the rows, or around most of them, to detect what is new.

    The model tells rows inside (1) from rows outside (-1) by ``skim predict``.
    """
    from skimlearn import EnclosingBall

    writable(output)
    reading.check(kind_of(data))
    began = time.perf_counter()
    rows = read(data, reading)
    model = EnclosingBall(**parameters)
    fit = Fit(out, model, rows.names).run(rows.X)
    fit.save(output)
    total = time.perf_counter() - began
    lines = [("radius", number(model.radius_, 6)), *facts_of(model), ("total", seconds(total))]
    if output is not None:
        lines.append(("saved", output))
    document = {
        "command": "ball",
        "data": data,
        "rows": rows.X.shape[0],
        "radius": model.radius_,
        **described(model),
        "seconds": total,
        "output": output,
        "interrupted": fit.code != 0,
    }
    out.tell(document, facts(lines))
    if fit.code:
        return fit.code
    return UNCONVERGED if strict and not fit.reached else None
