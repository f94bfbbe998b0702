"""Read files, bring two tables to the same columns, and encode mixed tables as numbers."""

from counterpoise.encoding.encoder import EncodedPair, TableEncoder, encode_pair
from counterpoise.encoding.pairing import TablePair, pair_tables
from counterpoise.encoding.reading import read_table

__all__ = [
    "EncodedPair",
    "TableEncoder",
    "TablePair",
    "encode_pair",
    "pair_tables",
    "read_table",
]
