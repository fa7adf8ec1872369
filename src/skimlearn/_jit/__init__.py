"""Machine code from plain Python: the only package that knows numba's extension interface.

The rest of skimlearn uses nothing else of numba than what is named here:

`kernel`, `lean_kernel`
    compile a loop over arrays on first use and keep the machine code on disk (`_disk`);
`Formula`
    scalar mathematics (a loss, a regularizer) written as a small frozen dataclass, which a kernel
    takes as an ordinary argument and calls at full speed (`_formula`);
`dispatch`
    one name for several loops, picked by the class of the first argument when a kernel is compiled;
`shared`
    a function of numbers that kernels and formulas call, and Python too;
`prefetch_line`, `load_shared`, `store_shared`, `give_way`
    what kernels say to memory and to other threads (`_memory`).

A second process compiles nothing. The code on disk is never stale: the folder is named after the
package's source, and the type of a formula after the code of its class. A process that does compile
says so, in one line on standard error, if somebody is there to wait: at a terminal, in an
interactive session, in a notebook (`_notice`).
"""

from __future__ import annotations

import numba

from skimlearn._jit._compile import dispatch, kernel, lean_kernel, shared
from skimlearn._jit._disk import cache_directory
from skimlearn._jit._formula import Formula, FormulaType, formula_type
from skimlearn._jit._memory import give_way, load_shared, prefetch_line, store_shared
from skimlearn._jit._notice import tell_of_compilations

__all__ = [
    "Formula",
    "FormulaType",
    "cache_directory",
    "dispatch",
    "formula_type",
    "give_way",
    "kernel",
    "lean_kernel",
    "load_shared",
    "numba",
    "prefetch_line",
    "shared",
    "store_shared",
]

tell_of_compilations()
