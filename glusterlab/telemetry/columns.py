"""Rows of one table as typed columns, parsed at once; text that does not fit is refused as a whole."""

import warnings
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glusterlab.telemetry.blocks import Names


class NotRegular(Exception):  # noqa: N818 - no error: whoever catches it reads line by line
    """The rows are not regular."""


SMALL_BYTES = 1 << 16  # text for which plain Python is done before pandas has begun: its start costs some milliseconds
Columns = dict[str, Any]  # of texts `Names`, of numbers an array of float64


def line_numbers(firsts: Sequence[int], counts: Sequence[int]) -> NDArray[np.int64]:
    """The numbers of the lines of texts that are joined, by each text's first and how many it has."""
    sizes = np.array(counts, dtype=np.int64)
    offsets = np.array(firsts, dtype=np.int64) - (np.cumsum(sizes) - sizes)
    return np.repeat(offsets, sizes) + np.arange(int(sizes.sum()))


def parse(text: bytes, sep: str, types: Mapping[str, str], decimal: str = ".") -> Columns:
    r"""Columns of rows that all have the same number of fields.

    `sep` is one character, or ``\s+``; `types` has ``category`` or ``float64`` by column. `NotRegular` when a row has
    more or fewer fields, or a field is no number where one is expected.
    """
    if len(text) > SMALL_BYTES:
        return _large(text, sep, types, decimal)
    between = None if sep == r"\s+" else sep.encode()
    # an empty line has one empty field where fields have something between them, none where white space is that
    rows = [row for line in text.split(b"\n") if line and (row := line.split(between))]
    if set(map(len, rows)) != {len(types)}:
        raise NotRegular
    found: Columns = {}
    for (name, dtype), column in zip(types.items(), zip(*rows, strict=True), strict=True):
        if dtype == "category":
            codes = {word: code for code, word in enumerate(dict.fromkeys(column))}
            places = np.array([codes[word] for word in column], dtype=np.int32)
            found[name] = Names(places, tuple(word.decode("utf-8", "replace") for word in codes))
            continue
        # Python's numbers may have underscores
        if b"_" in text and any(b"_" in word for word in column):
            raise NotRegular
        words = column if decimal == "." else [word.replace(decimal.encode(), b".") for word in column]
        try:
            found[name] = np.array(list(map(float, words)), dtype=np.float64)
        except ValueError as error:
            raise NotRegular from error
    return found


def _large(text: bytes, sep: str, types: Mapping[str, str], decimal: str) -> Columns:
    import pandas as pd

    try:
        with warnings.catch_warnings():
            # pandas would only warn of fields that it leaves out
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                BytesIO(text),
                sep=sep,
                header=None,
                names=list(types),
                index_col=False,
                dtype=dict(types),
                engine="c",
                na_filter=False,
                quoting=3,
                decimal=decimal,
                low_memory=False,
                encoding_errors="replace",
            )
    except (ValueError, OverflowError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise NotRegular from error
    found: Columns = {}
    for name, dtype in types.items():
        column: Any = frame[name].array
        if dtype != "category":
            found[name] = column.to_numpy()
        elif column.categories.dtype.kind == "f":
            # pandas takes names that are all numbers as numbers
            raise NotRegular
        else:
            found[name] = Names(column.codes, tuple(str(name) for name in column.categories))
    return found
