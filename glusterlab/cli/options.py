"""What commands take: their help, and options that several of them have, with completion."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import typer

F = TypeVar("F", bound=Callable[..., Any])


def examples(*lines: str) -> str:
    """The end of a command's help: how it is called."""
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


def commands(**settings: Any) -> tuple[typer.Typer, Callable[..., Callable[[F], F]]]:
    """What holds the commands of a module, and a decorator that puts one there: how it is called, and what is more."""
    app = typer.Typer(**settings)

    def command(*lines: str, more: str = "", name: str | None = None) -> Callable[[F], F]:
        return app.command(name, epilog=examples(*lines, *([more] if more else [])))

    return app, command


def complete_raw(incomplete: str) -> Iterator[str]:
    """Campaign folders that the word under the cursor can become."""
    for place in dict.fromkeys((_folder(incomplete), Path("raw"))):
        for path in sorted(place.glob("*/campaign.yaml")):
            if str(path.parent).startswith(incomplete):
                yield str(path.parent)


def complete_yaml(incomplete: str) -> Iterator[str]:
    """YAML files, and the folders on the way to them."""
    return complete_files(incomplete, ".yaml", ".yml")


def complete_files(incomplete: str, *suffixes: str) -> Iterator[str]:
    """Files with one of these suffixes, and the folders on the way to them."""
    for path in sorted(_folder(incomplete).glob("[!.]*")):
        if str(path).startswith(incomplete) and (path.is_dir() or path.suffix in suffixes):
            yield f"{path}/" if path.is_dir() else str(path)


def _folder(incomplete: str) -> Path:
    return Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent


def local_path(text: str | Path) -> Path:
    """The path that an argument names; a URL is refused as it was typed."""
    from glusterlab.store.files import local

    return local(text)


def option(metavar: str | None, text: str, *names: str, default: Any = None, **more: Any) -> Any:
    """An option that takes a value; with the default ``...`` it has to be given."""
    return typer.Option(default, *names, metavar=metavar, help=text, **more)


def path_option(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """An option that is a path of this machine."""
    return option(metavar, text, *names, parser=local_path, **more)


def flag(names: str, text: str, **more: Any) -> Any:
    """An option that is there or not, such as ``--watch/-w``."""
    return typer.Option(False, *names.split(), help=text, **more)


def argument(metavar: str, text: str, *, default: Any = ..., **more: Any) -> Any:
    """An argument that is a path of this machine."""
    return typer.Argument(default, metavar=metavar, help=text, parser=local_path, **more)


def _every_byte(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        from glusterlab.store.digests import every_byte

        context.with_resource(every_byte())
    return wanted


RAW = argument("RAW", "Folder of a campaign below raw/.", autocompletion=complete_raw)
RAWS = argument(
    "RAW...", "Folders of campaigns below raw/; of several the first is the reference.", autocompletion=complete_raw
)
RAWS_OR_ALL = argument(
    "[RAW]...",
    "Folders of campaigns; default: all below raw/ that are no baselines.",
    default=None,
    autocompletion=complete_raw,
)
RAW_ROOT = path_option("DIR", "Where campaigns are kept.", "--raw", default=Path("raw"))
JSON = flag("--json", "JSON on stdout, for scripts.")
# its callback does what it says: whoever opens a campaign then need not be told
VERIFY = flag("--verify", "Hash all raw bytes again, not only of files that look touched.", callback=_every_byte)
