"""The character sets of clients, as Python decodes them."""

from __future__ import annotations

from dataclasses import dataclass

from paraply.schema.collations import CLIENT_CODECS

__all__ = ["ClientCharset", "client_charset"]

#: Character sets in which the second byte of a character may be a quote, a backslash or a parenthesis of ASCII.
_WIDE = frozenset({"big5", "cp932", "gb18030", "gbk", "sjis"})
#: Character sets in which some bytes of the upper half are characters of their own: half-width katakana.
_WITH_KATAKANA = frozenset({"cp932", "sjis"})
#: Bytes of latin1 that Windows-1252 leaves free. The servers take them as control characters (seen on MySQL 9.7 and MariaDB 10.11).
_LATIN1_CONTROLS = {byte: chr(byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
#: Characters as Python's codecs read them, and as the servers read the same bytes (asked of MySQL 9.7 and MariaDB 11.8).
_AS_SERVERS = {
    "cp866": {"\u2116": "\u207f", "\u00a4": "\u00b2"},
    "eucjpms": {
        "\u301c": "\uff5e", "\u2016": "\u2225", "\u2212": "\uff0d", "\u00a2": "\uffe0", "\u00a3": "\uffe1", "\u00ac": "\uffe2",
    },
    "gb18030": {"\ue7c7": "\u1e3f", "\u1e3f": "\ue7c7"},
    "greek": {"\u2018": "\u02bd", "\u2019": "\u02bc"},
    "hebrew": {"\u00af": "\u203e"},
    "koi8u": {"\u2219": "\u2022"},
}  # fmt: skip
_DECODED = {name: str.maketrans(read) for name, read in _AS_SERVERS.items()}
_ENCODED = {name: str.maketrans({server: codec for codec, server in read.items()}) for name, read in _AS_SERVERS.items()}
#: A character of these sets that the servers read as a backslash which escapes nothing: such a statement is refused.
_NO_BACKSLASH = {"sjis": b"\x81\x5f", "ujis": b"\xa1\xc0"}
_WIDE_BACKSLASH = "\uff3c"


@dataclass(frozen=True, slots=True)
class ClientCharset:
    """A client's character set.

    Attributes:
        name: Its name.
        codec: Python's name of it.
    """

    name: str
    codec: str

    @property
    def is_utf8(self) -> bool:
        """True if text of the client and of the server are the same bytes."""
        return self.codec == "utf-8"

    def decode(self, data: bytes) -> str:
        """Return the text of bytes.

        Raises:
            UnicodeDecodeError: The bytes are no text in this character set.
        """
        if self.name == "latin1":
            return "".join(_LATIN1_CONTROLS.get(byte) or bytes((byte,)).decode(self.codec) for byte in data)
        text = data.decode(self.codec)
        if self.name in _NO_BACKSLASH and _WIDE_BACKSLASH in text:
            at = max(data.find(_NO_BACKSLASH[self.name]), 0)
            raise UnicodeDecodeError(self.name, data, at, at + 2, "the servers read it as a backslash")
        return text.translate(_DECODED[self.name]) if self.name in _DECODED else text

    def encode(self, text: str) -> bytes | None:
        """Return the bytes of a text, or None if it has no bytes from which a server would read the same text."""
        try:
            if self.name == "latin1":
                data = b"".join(self._encoded(character) for character in text)
            else:
                data = (text.translate(_ENCODED[self.name]) if self.name in _ENCODED else text).encode(self.codec)
            return data if self.decode(data) == text else None
        except UnicodeError:
            return None

    def masked(self, data: bytes) -> bytes:
        """Return bytes of the same length without ASCII bytes that are part of another character."""
        if self.name not in _WIDE:
            return data
        masked, place = bytearray(data), 0
        while place < len(data):
            if data[place] < 0x80 or (self.name in _WITH_KATAKANA and 0xA1 <= data[place] <= 0xDF):
                place += 1
                continue
            long = self.name == "gb18030" and data[place + 1 : place + 2] in _DIGITS
            end = min(place + (4 if long else 2), len(data))
            masked[place:end] = b"\x80" * (end - place)
            place = end
        return bytes(masked)

    def _encoded(self, character: str) -> bytes:
        byte = ord(character)
        return bytes((byte,)) if byte in _LATIN1_CONTROLS else character.encode(self.codec)


_DIGITS = tuple(bytes((digit,)) for digit in range(0x30, 0x3A))


def client_charset(name: str | None) -> ClientCharset | None:
    r"""Return a character set by its name, or None if it cannot be decoded.

    >>> client_charset("latin1").decode(b"\xe9\x81"), client_charset("sjis").masked("表`ｱ`".encode("shift_jis"))
    ('é\x81', b'\x80\x80`\xb1`')
    """
    codec = CLIENT_CODECS.get(name or "")
    return None if name is None or codec is None else ClientCharset(name, codec)
