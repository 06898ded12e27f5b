"""The one way to open a raw file: no waiting, nothing but a regular file of bounded size, no link out of its campaign.

What is refused is an OSError whose strerror says what was expected, what was found, and what to do.
"""

import errno
import os
import stat
from io import BufferedReader, FileIO
from pathlib import Path

MAX_BYTES = 8 << 30  # of a file on the disk: what is hashed and streamed may be long, but ends
MAX_JSON_BYTES = 16 << 20  # of a JSON file of the suite's own; raw files from elsewhere are hostile
MAX_RATIO, SMALL_BYTES = 500, 4 << 20
"""So many times its bytes may a packed file unpack to, or to `SMALL_BYTES`; telemetry of an idle host reaches 240."""

_MAX_LINKS = 40
_OF_A_CAMPAIGN = ("MANIFEST.sha256", "environment.json")
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device", stat.S_IFLNK: "a link",
}  # fmt: skip


def open_raw(path: Path, most: int = MAX_BYTES) -> BufferedReader:
    """Open a regular file of at most so many bytes."""
    place = os.path.abspath(path)  # noqa: PTH100  a link is followed step by step
    for step in range(_MAX_LINKS):
        try:
            # a FIFO without a writer would be waited for
            descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ELOOP:
                place = _target(place)
            elif error.errno == errno.ENXIO:
                raise _refused(path, "a socket") from error
            elif step and error.errno == errno.ENOENT:
                raise _refused(path, f"a link to {place}, where nothing is") from error
            else:
                raise
            continue
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise _refused(path, kind_of(state.st_mode))
            if state.st_size > most:
                raise OSError(errno.EFBIG, f"expected at most {most:,} bytes, found {state.st_size:,}", str(path))
        except OSError:
            os.close(descriptor)
            raise
        return BufferedReader(FileIO(descriptor))
    raise _refused(path, "links that lead in a circle")


def read_raw(path: Path, most: int = MAX_JSON_BYTES) -> bytes:
    """The bytes of a file that `open_raw` opens."""
    with open_raw(path, most) as file:
        return file.read()


def most_unpacked(packed_bytes: int) -> int:
    """How many bytes a packed file of this size may unpack to: more is made to fill memory, or to take hours."""
    return max(SMALL_BYTES, MAX_RATIO * packed_bytes)


def kind_of(mode: int) -> str:
    """What is no regular file, in words."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def leads_out(link: Path, folder: Path) -> bool:
    """Whether a link leads out of a folder, in the end."""
    return not Path(os.path.realpath(link)).is_relative_to(os.path.realpath(folder))


def _target(link: str) -> str:
    """Where a link leads, in one step; refused when that is out of the campaign in which it lies."""
    place, target = Path(link), os.readlink(link)  # noqa: PTH115
    for folder in place.parents:
        # a link is no mark: a temporary folder has links to all files of a campaign
        if any(_is_regular(folder / name) for name in _OF_A_CAMPAIGN):
            if leads_out(place, folder):
                raise _refused(place, f"a link out of the campaign, to {target}")
            break
    return os.path.join(os.path.dirname(link), target)  # noqa: PTH118, PTH120


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _refused(path: Path, found: str) -> OSError:
    number = errno.EISDIR if found == "a folder" else errno.EINVAL
    return OSError(number, f"expected a regular file, found {found}; put the file itself there, from a copy", str(path))
