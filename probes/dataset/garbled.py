"""Texts that were decoded in another encoding than they were written in."""

from __future__ import annotations

import re

# The bytes 0x80 to 0xBF, which follow the first one of a letter in UTF-8, as Latin-1 and Windows-1252 show
# them; without the marks that may close a sentence in capitals ("IRMÃ”", "CAFÉ»").
_FOLLOW = "".join(
    sorted(
        {chr(b) for b in range(0x80, 0xC0)}
        | {c for b in range(0x80, 0xA0) if (c := bytes([b]).decode("cp1252", "ignore"))} - set("»”’“‘–…")
    )
).replace("»", "")
_ANY = f"[{re.escape(_FOLLOW)}”’“‘–…]"
_TWICE = re.compile(
    f"Ã[{re.escape(_FOLLOW)}]"  # é, ü, ñ
    f"|Â[\xa0-\xba\xbf]"  # a space that keeps together, degrees
    f"|â€{_ANY}?"  # quotes and dashes
    f"|(?:[ÐÑ]{_ANY}){{2}}"  # Cyrillic
    f"|(?:[ä-é]{_ANY}{_ANY}){{2}}"  # Chinese and Japanese
    "|ï¿½"
)
LOST = "\ufffd"  # what decoders write for bytes that they cannot read


def fragment(text: str) -> str | None:
    """Return what tells that a text is miscoded: UTF-8 read as Latin-1, or lost letters; else None."""
    if text.isascii():
        return None
    if LOST in text:
        return LOST
    found = _TWICE.search(text)
    return found[0] if found is not None else None
