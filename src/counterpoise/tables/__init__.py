"""Files in, encoded arrays out."""

from counterpoise.tables.encoding import AsNumbers, DateParts, TableEncoding, fit_encoding
from counterpoise.tables.pairing import Pair, pair_tables
from counterpoise.tables.reading import InputError, read_table

__all__ = [
    "AsNumbers",
    "DateParts",
    "InputError",
    "Pair",
    "TableEncoding",
    "fit_encoding",
    "pair_tables",
    "read_table",
]
