"""What all commands share: how they are declared, and what becomes of their errors.

=====  ============================================================================
code   meaning
=====  ============================================================================
0      done
1      bad data, a value that does not fit, a full disk: a message says what
2      the command line can't be understood
3      with ``--strict``: the budget was spent before the target was reached
130    interrupted (Ctrl-C); a fit has saved its best answer so far
141    whoever read the output has closed the pipe
143    ended by a signal (TERM); a fit has saved its best answer so far
=====  ============================================================================
"""

from __future__ import annotations

import contextlib
import inspect
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from skimlearn.cli._options import given, options_of
from skimlearn.cli._output import Output
from skimlearn.cli._reading import Reading, reading_options

__all__ = ["FAILED", "INTERRUPTED", "PIPE", "TERMINATED", "UNCONVERGED", "app", "command"]

FAILED, USAGE, UNCONVERGED, INTERRUPTED, PIPE, TERMINATED = 1, 2, 3, 130, 141, 143
WORDS = {"overwrite=True": "--overwrite", "Store.create": "skim ingest"}  # of Python users
EXPECTED = (ValueError, TypeError, OSError, ImportError, ArithmeticError)  # errors that explain

LINE = "skim.line"  # where the context of a command keeps the words of the command line
PLACES = {"DATA", "FILE", "FOLDER", "MODEL", "PATH", "PAYOFFS", "STORE"}  # what paths are shown as


UsageError: Any = typer.BadParameter.__base__  # of click, which some versions of typer contain


class _Commands(typer.core.TyperGroup):
    """The commands, and the line that was given: models remember the one that made them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[LINE] = ["skim", *args]
        return super().parse_args(ctx, args)

    def main(self, *args: Any, **more: Any) -> Any:
        """As typer's; but what is wrong with a command line is said in one line."""
        if not more.pop("standalone_mode", True):
            return super().main(*args, standalone_mode=False, **more)  # type: ignore[misc]
        try:
            code = super().main(*args, standalone_mode=False, **more)  # type: ignore[misc]
        except UsageError as error:
            _tell_usage(error)
            code = error.exit_code
        except typer.Abort:  # Ctrl-C, before a command has begun
            code = INTERRUPTED
        sys.exit(code if isinstance(code, int) else 0)


def _tell_usage(error: Any) -> None:
    if error.ctx is None or type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    path = error.ctx.command_path
    text = " ".join(error.format_message().split())
    print(f"{path}: {text} ({path} -h explains it)", file=sys.stderr)


app = typer.Typer(
    name="skim",
    cls=_Commands,
    help="Learn linear models from files, with a certificate for every answer.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)

Json = Annotated[
    bool,
    typer.Option(
        "--json", metavar="", help="Write one JSON document to standard output, nothing else."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="No messages, no progress.")]
Debug = Annotated[bool, typer.Option("--debug", metavar="", help="Show the traceback of an error.")]


def command(
    name: str,
    *,
    panel: str,
    takes: Iterable[str] = (),
    leave_out: Iterable[str] = (),
    reads: Sequence[str] = (),
) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Make a function a command of ``skim``.

    Its first parameter is the `Output`; ``parameters``, if it has them, are the options of the
    classes or functions that it takes, ``reading`` those that say how data are read. It returns its
    exit code, None for 0.
    """

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        options = options_of(takes, leave_out)
        own = inspect.signature(function, eval_str=True).parameters
        shown = [p for p in own.values() if p.name not in ("out", "parameters", "reading")]
        shown += reading_options(reads)
        shown += [option.parameter(key) for key, option in options.items()]
        for key, kind in (("json", Json), ("quiet", Quiet), ("debug", Debug)):
            shown.append(
                inspect.Parameter(
                    key, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind
                )
            )

        def run(context: typer.Context, **values: Any) -> None:
            debug = values.pop("debug")
            words = context.meta[LINE]
            out = Output(
                as_json=values.pop("json"), quiet=values.pop("quiet"), line=shlex.join(words),
                origin=shlex.join(without_folders(words, _paths(context))),
            )  # fmt: skip
            if "parameters" in own:
                values["parameters"] = given(options, {key: values.pop(key) for key in options})
            if "reading" in own:
                values["reading"] = Reading(**{key: values.pop(key) for key in reads})
            with guarded(out, debug):
                code = function(out, **values)
                out.finish()
            if code:
                raise typer.Exit(code)

        first = inspect.Parameter(
            "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
        run.__signature__ = inspect.Signature([first, *shown])  # type: ignore[attr-defined]
        run.__doc__, run.__annotations__ = function.__doc__, {}
        app.command(name, rich_help_panel=panel)(run)
        return function

    return register


def _paths(context: typer.Context) -> list[str]:
    """The paths among the values that a command was given."""
    found: list[str] = []
    for parameter in context.command.params:
        if (getattr(parameter, "metavar", None) or "").rstrip(".") in PLACES:
            value = context.params.get(parameter.name or "")
            found += [value] if isinstance(value, str) else value or []
    return found


def without_folders(words: Iterable[str], paths: Iterable[str]) -> list[str]:
    """The words of a command line, with the names of files only in the place of their paths.

    Examples
    --------
    >>> without_folders(["skim", "train", "/home/ada/rows.svm"], ["/home/ada/rows.svm"])
    ['skim', 'train', 'rows.svm']
    """
    names = {path: Path(path).name or path for path in sorted(paths, key=len, reverse=True)}

    def shortened(word: str) -> str:  # the path itself, or an option and its value in one word
        path = next((path for path in names if word.endswith(path)), "")
        return word.removesuffix(path) + names.get(path, "")

    return [shortened(word) for word in words]


@contextlib.contextmanager
def guarded(out: Output, debug: bool) -> Iterator[None]:
    """Turn errors into one message and an exit code, and warnings into notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        # names are compared, or taken care of, where data are read
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.filterwarnings("ignore", "the fit was interrupted")  # the command says it
        warnings.showwarning = lambda message, *rest, **more: out.note(f"note: {message}")
        try:
            yield
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(PIPE) from None
        except KeyboardInterrupt:
            raise _ended(out, "interrupted: nothing was written", INTERRUPTED, debug) from None
        except MemoryError:
            text = "there is not enough memory: make a store of the file first (skim ingest)"
            raise _ended(out, text, FAILED, debug) from None
        except EXPECTED as error:
            raise _ended(out, _described(error), FAILED, debug) from None
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            text = f"internal error ({type(error).__name__}: {error}); --debug shows where"
            raise _ended(out, " ".join(text.split()), FAILED, debug) from None


def _ended(out: Output, text: str, code: int, debug: bool) -> typer.Exit:
    if debug:
        import traceback

        traceback.print_exc(file=sys.stderr)
    out.fail(text, code)
    try:
        out.finish()
    except OSError:  # a closed pipe, a full disk
        _forget_stdout()
    return typer.Exit(code)


def _described(error: BaseException) -> str:
    """The message of an error, in one line."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    for python, command in WORDS.items():
        text = text.replace(python, command)
    return " ".join(text.split()) or type(error).__name__


def _forget_stdout() -> None:
    """Have what is still in the buffer go nowhere, so that the end of the process is silent."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _version(value: bool) -> None:
    if value:
        from skimlearn import __version__

        print(f"skimlearn {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass
