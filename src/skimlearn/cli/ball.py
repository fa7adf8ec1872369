"""``skim ball``: the smallest ball around the data, and what lies outside."""

from __future__ import annotations

import time
from typing import Any

from skimlearn.cli._command import UNCONVERGED, command
from skimlearn.cli._inputs import Input, ZeroBased, read
from skimlearn.cli._models import Fit, described, facts_of, writable
from skimlearn.cli._output import Output, facts, number, seconds
from skimlearn.cli.train import Output_, Strict

__all__ = ["ball"]


@command("ball", panel="Models", takes=["EnclosingBall"])
def ball(
    out: Output,
    data: Input,
    parameters: dict[str, Any],
    output: Output_ = None,
    zero_based: ZeroBased = False,
    strict: Strict = False,
) -> int | None:
    """Find the smallest ball around the rows, or around most of them, to detect what is new.

    The model tells rows inside (1) from rows outside (-1) by ``skim predict``.
    """
    from skimlearn import EnclosingBall

    writable(output)
    began = time.perf_counter()
    rows = read(data, zero_based=zero_based)
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
