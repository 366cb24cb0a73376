"""Headers and ends of FLAC, Ogg and MP3, and whether a WAV file is silent. Nothing is decoded.

Formats: FLAC (RFC 9639), Ogg (RFC 3533) with Vorbis or Opus (RFC 7845), MPEG audio (ISO 11172-3, 13818-3).
"""

from __future__ import annotations

import math
import struct
import wave
from collections.abc import Sequence

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from .media import Damaged, Header

TAIL = 64 * 1024
HEARD = 4_000_000  # bytes of one recording in which something is looked for
FULL = 32_760  # of 16 bits
CLIPPED = 0.001  # share of the samples of a recording that stay at a limit for three in a row
LEAST_STAYS = 20
LISTENED = 400  # recordings that are looked at for silence
QUIET = frozenset({"silence", "silent", "background", "background_noise", "noise", "blank", "empty", "none"})
_RATES = (44100, 48000, 32000)
_BLOCKS = {1: 192, **{i: 576 << (i - 2) for i in range(2, 6)}, **{i: 256 << (i - 8) for i in range(8, 16)}}


def read_flac(file: RunFile, head: bytes) -> Header:
    """Read STREAMINFO, and the number of the last frame. Raises Damaged."""
    if len(head) < 42 or head[4] & 0x7F:
        raise Damaged("ends in its header")
    told = int.from_bytes(head[18:26], "big")
    rate, channels, total = told >> 44, ((told >> 41) & 7) + 1, told & (2**36 - 1)
    if not rate:
        raise Damaged("its header gives no sampling rate")
    least, most = struct.unpack(">HH", head[8:12])
    if total and least == most:
        reached = _flac_end(_tail(file), most)
        if reached is not None and reached < total:
            raise Damaged(f"cut off: about {reached} of {total} samples")
    return Header("FLAC", frames=total, rate=rate, channels=channels)


def _flac_end(tail: bytes, block: int) -> int | None:
    """The samples up to the end of the last frame that begins in these bytes; None where none is found."""
    at = len(tail)
    while (at := tail.rfind(b"\xff\xf8", 0, at)) >= 0:
        number, length = _utf8(tail[at + 4 : at + 11])
        code, end = tail[at + 2] >> 4 if at + 2 < len(tail) else 0, at + 4 + length
        extra = {6: 1, 7: 2}.get(code, 0)
        extra += {12: 1, 13: 2, 14: 2}.get(tail[at + 2] & 15 if at + 2 < len(tail) else 0, 0)
        whole = end + extra
        if number is not None and whole < len(tail) and _crc8(tail[at:whole]) == tail[whole]:
            size = _BLOCKS.get(code, block)
            if code in (6, 7):
                size = int.from_bytes(tail[end : end + code - 5], "big") + 1
            return number * block + size
    return None


def _utf8(data: bytes) -> tuple[int | None, int]:
    """A number coded as UTF-8 codes characters, up to 36 bits, and its length."""
    if not data:
        return None, 0
    first = data[0]
    length = next((i for i in range(8) if not first & (0x80 >> i)), 8)
    if length == 0:
        return first, 1
    if length == 1 or length > 7 or len(data) < length:
        return None, 0
    value = first & (0x7F >> length)
    for byte in data[1:length]:
        if byte & 0xC0 != 0x80:
            return None, 0
        value = value << 6 | byte & 0x3F
    return value, length


def _crc8(data: bytes) -> int:
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value << 1 ^ (0x07 if value & 0x80 else 0)) & 0xFF
    return value


def read_ogg(file: RunFile, head: bytes) -> Header:
    """Read the first page and the flag of the last one. Raises Damaged."""
    rate = channels = 0
    at = head.find(b"\x01vorbis")
    if 0 <= at < 200 and len(head) >= at + 16:
        channels, rate = head[at + 11], int(struct.unpack("<I", head[at + 12 : at + 16])[0])
    at = head.find(b"OpusHead")
    if not rate and 0 <= at < 200 and len(head) >= at + 10:
        channels, rate = head[at + 9], 48000
    if not rate:
        return Header("OGG", mode="another coding")
    tail = _tail(file)
    at = tail.rfind(b"OggS")
    if at >= 0 and len(tail) >= at + 27:
        segments = tail[at + 26]
        held = sum(tail[at + 27 : at + 27 + segments])
        if at + 27 + segments + held > len(tail):
            raise Damaged("cut off: its last page is incomplete")
        if not tail[at + 5] & 4:
            raise Damaged("cut off: no page says that it is the last")
    return Header("OGG", rate=rate, channels=channels)


def read_mp3(file: RunFile, head: bytes) -> Header:
    """Read the first frame's header, behind an ID3 tag. Raises Damaged."""
    at = 0
    if head.startswith(b"ID3") and len(head) >= 10:
        at = 10 + sum((b & 0x7F) << 7 * (3 - i) for i, b in enumerate(head[6:10]))
    if at + 4 > len(head):
        with file.open() as handle:
            handle.seek(at)
            head, at = handle.read(TAIL), 0
    while 0 <= (at := head.find(b"\xff", at)) < len(head) - 3:
        one, two, three = head[at + 1 : at + 4]
        version, layer = one >> 3 & 3, one >> 1 & 3
        if one & 0xE0 == 0xE0 and version != 1 and layer and two >> 4 not in (0, 15) and two >> 2 & 3 != 3:
            rate = _RATES[two >> 2 & 3] >> {3: 0, 2: 1, 0: 2}[version]
            return Header("MP3", rate=rate, channels=1 if three >> 6 == 3 else 2)
        at += 1
    raise Damaged("no frame of MPEG audio in it")


def _tail(file: RunFile) -> bytes:
    with file.open() as handle:
        handle.seek(max(0, file.size - TAIL))
        return handle.read(TAIL)


def heard(file: RunFile) -> tuple[bool, bool, float] | None:
    """Whether a WAV file is silent throughout its beginning, and whether clipped; its level in decibels.

    The level is NaN but for 16 bits. None where the file is no PCM.
    """
    try:
        with file.open() as handle, wave.open(handle) as sound:
            width, channels = sound.getsampwidth(), sound.getnchannels()
            data = sound.readframes(max(1, HEARD // max(1, width * sound.getnchannels())))
    except (wave.Error, EOFError, RuntimeError, struct.error, OSError):
        return None
    values = np.frombuffer(data, dtype=np.uint8)
    rows = values[: len(values) // width * width].reshape(-1, width)
    if not len(rows):
        return None
    silent = bool((rows == rows[0]).all())
    if width != 2:
        return silent, False, math.nan
    heights = rows.view("<i2").reshape(-1)
    level = math.nan if silent else 10 * math.log10(float(np.mean((heights / 32768.0) ** 2)) or 1e-10)
    return silent, _clipped(heights, channels), level


def _clipped(values: np.ndarray[tuple[int, ...], np.dtype[np.int16]], channels: int) -> bool:
    """Whether samples of 16 bits stay at a limit again and again; a peak that is brought to it touches it."""
    sound = values[: len(values) // channels * channels].reshape(-1, channels)
    full = (sound >= FULL) | (sound <= -FULL)
    stays = full[:-2] & full[1:-1] & full[2:] & (np.sign(sound[:-2]) == np.sign(sound[2:]))
    return bool(stays.sum() >= max(LEAST_STAYS, CLIPPED * sound.size))


def listen(
    files: Sequence[RunFile], seed: int
) -> tuple[tuple[Place, ...], tuple[Place, ...], int, list[float]]:
    """Return the silent and the clipped ones of a seeded few, how many were listened to, and their levels."""
    wanted = [f for f in files if f.suffix == ".wav" and not set(f.path.lower().split("/")[:-1]) & QUIET]
    if len(wanted) > LISTENED:
        chosen = np.random.default_rng(seed).choice(len(wanted), LISTENED, replace=False)
        wanted = [wanted[i] for i in sorted(chosen.tolist())]
    told = [(f, q) for f in wanted if (q := heard(f)) is not None]
    silent, clipped = (tuple(Place(f.path) for f, q in told if q[i]) for i in (0, 1))
    return silent, clipped, len(told), [q[2] for _, q in told if math.isfinite(q[2])]
