"""The command line: one module per command, and one place where errors become sentences and exit codes."""

import errno
import os
import re
import sys
import traceback
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from glusterlab import __version__
from glusterlab.cli.console import complain
from glusterlab.cli.options import examples
from glusterlab.errors import GlusterlabError
from glusterlab.secrets import redact

DEBUG = "GLUSTERLAB_DEBUG"  # environment variable: 1 lets errors through with their tracebacks

INTERRUPTED = "stopped by Ctrl-C; what was complete is kept"
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
EXIT_CODES = (  # ends the help of every command, as `_Commands` finds it
    "Exit codes: 0 all well, 1 what was examined falls short, 2 wrong usage or specification, 3 could not be examined, "
    "130 stopped by Ctrl-C."
)

COMMANDS = {  # the module of each command, in the order in which a person comes to need them; loaded when it is called
    "init": "init", "testbed": "testbed", "prepare": "prepare", "check": "check", "plan": "run", "run": "run",
    "status": "store", "log": "store", "verify": "store", "publish": "store", "import": "import_", "fetch": "store",
    "parse": "reproduce", "tables": "reproduce", "reproduce": "reproduce", "site": "site", "trace": "reproduce",
    "claims": "claims", "compare": "compare", "size": "size", "schema": "reproduce",
}  # fmt: skip

_USAGE_ERROR: Any = typer.BadParameter.__base__  # of click or of the one in typer, as the release has it


class _Commands(TyperGroup):
    """Finds commands in their modules; turns what they raise into a sentence on stderr and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  as TyperGroup has it
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            group = typer.main.get_group(import_module(f"{__name__}.{COMMANDS[cmd_name]}").app)
            command: Any = group.commands.get(cmd_name, group)
            for each in (command, *getattr(command, "commands", {}).values()):
                each.epilog = f"{each.epilog}\n\n{EXIT_CODES}"
            return command
        # what is suggested in place of a typing error
        self.commands = {name: self.get_command(ctx, name) for name in COMMANDS}
        return None

    def invoke(self, ctx: Any) -> Any:
        if os.environ.get(DEBUG) == "1":
            return super().invoke(ctx)
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except GlusterlabError as error:
            _fail(str(error), error.exit_code)
        except _USAGE_ERROR as error:
            error.message = redact(error.message + _nearest_choice(error.message))
            raise
        except KeyboardInterrupt:
            _fail(INTERRUPTED, EXIT_INTERRUPTED)
        except BrokenPipeError:
            # what reads our output has gone, and the interpreter's own flush at the end must not complain either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(EXIT_BROKEN_PIPE) from None
        except OSError as error:
            _fail(_os_sentence(error), GlusterlabError.exit_code)
        return result


def _nearest_choice(message: str) -> str:
    """What may have been meant, behind a message such as ``'hol' is not one of 'holm', 'fdr'.``."""
    from glusterlab.spec.fields import nearest

    found, _, choices = message.partition(" is not one of ")
    near = nearest(found.rpartition(" ")[2].strip("'"), re.findall(r"'([^']*)'", choices))
    return f" Did you mean {near[0]!r}?" if near else ""


def _fail(message: str, code: int) -> NoReturn:
    complain(message)
    raise typer.Exit(code) from None


def _os_sentence(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    advice = {
        errno.ENOSPC: "; make room on that disk, then run the same command again",
        errno.EDQUOT: "; make room within that quota, then run the same command again",
        errno.EACCES: "; run it as a user who may, or choose another place",
        errno.EPERM: "; run it as a user who may, or choose another place",
        errno.EROFS: "; choose another place",
        errno.EMFILE: "; raise the limit of open files (ulimit -n)",
    }.get(error.errno or 0, "")
    return f"{place}{error.strerror or error}{advice}"


app = typer.Typer(
    cls=_Commands,
    name="glusterlab",
    help="Measure a GlusterFS pool, keep every raw byte, and make every figure again from those bytes.",
    epilog=examples(
        "glusterlab testbed up",
        "glusterlab check ~/.local/state/glusterlab/testbed/default/cluster.yaml",
        "glusterlab run runbooks/testbed/campaign.yaml",
        "glusterlab reproduce",
    )
    + f"\n\n{EXIT_CODES}",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"glusterlab {__version__}")
        raise typer.Exit


@app.callback()
def _main_options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Measure a GlusterFS pool, keep every raw byte, and make every figure again from those bytes."""


def _open_what_is_closed() -> None:
    """Give the process the standard streams that its caller closed: what is written there goes nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # it gets the stream's own number, or the next file that is opened would, and what is written to the stream
            found = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(found, True)
            setattr(sys, name, open(found, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  for good


def main() -> None:
    """Entry point of the ``glusterlab`` command."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # a terminal or log that knows only ASCII still gets every message
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="glusterlab")
    except KeyboardInterrupt:
        sys.stderr.write(f"error: {INTERRUPTED}\n")
        sys.exit(EXIT_INTERRUPTED)
    except SystemExit as end:
        # a help that nobody reads to its end: Rich and Typer say 1 of that
        if isinstance(end.__context__, BrokenPipeError):
            sys.exit(EXIT_BROKEN_PIPE)
        raise
    except Exception as error:
        if os.environ.get(DEBUG) == "1":
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = " ".join(f"{type(error).__name__}: {error}".split())
        complain(
            f"an error of the suite itself, {what} ({place.filename}:{place.lineno}): please report it with what the "
            f"same command shows under {DEBUG}=1"
        )
        sys.exit(GlusterlabError.exit_code)
