"""Logs that are no plain files: compressed, from standard input, or in a cloud storage; each becomes a plain file first."""

from __future__ import annotations

from paraply.logs.inputs.compression import compression_of, plain_name
from paraply.logs.inputs.index_file import is_index, logs_of_index
from paraply.logs.inputs.locations import STANDARD_INPUT, is_url, joined_url
from paraply.logs.inputs.staging import plain_files

__all__ = ["STANDARD_INPUT", "compression_of", "is_index", "is_url", "joined_url", "logs_of_index", "plain_files", "plain_name"]
