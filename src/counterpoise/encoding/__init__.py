"""Read files, bring two tables to the same columns, and encode mixed tables as numbers."""

from counterpoise.encoding.encoder import EncodedPair, TableEncoder, encode_pair

__all__ = ["EncodedPair", "TableEncoder", "encode_pair"]
