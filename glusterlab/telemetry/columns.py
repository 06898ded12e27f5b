"""Rows of one table as typed columns, parsed at once; text that does not fit is refused as a whole."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class NotRegular(Exception):  # noqa: N818 - no error: whoever catches it reads line by line
    """The rows are not regular."""


def parse(text: bytes, sep: str, types: Mapping[str, str], decimal: str = ".") -> pd.DataFrame:
    r"""Columns of rows that all have the same number of fields.

    Parameters
    ----------
    text : bytes
        Whole lines.
    sep : str
        As in `pandas.read_csv`.
    types : mapping of str to str
        Name and dtype of every column, in order.
    decimal : str

    Raises
    ------
    NotRegular
        When a row has more or fewer fields, or a field is no number where one is due.

    Examples
    --------
    >>> parse(b"a 1.5\nb 2\n", r"\s+", {"name": "category", "value": "float64"})["value"].tolist()
    [1.5, 2.0]
    """
    import pandas as pd

    try:
        with warnings.catch_warnings():
            # pandas would only warn of fields that it leaves out
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
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
