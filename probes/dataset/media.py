"""Headers of images and recordings: size, channels, whole or cut off. Nothing is decoded.

Sound files but WAV: `sounds`. Formats: PNG (ISO 15948), JPEG (ITU T.81), GIF89a, BMP, WebP (RFC 9649),
RIFF WAVE.
"""

from __future__ import annotations

import struct
import wave
import zlib
from dataclasses import dataclass

from ..files import RunFile

IMAGES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"})
AUDIO = frozenset({".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3"})
_MODES = {0: "grey", 2: "RGB", 3: "palette", 4: "grey+alpha", 6: "RGBA"}
_FRAMES = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})
_TABLES, _APP1 = 0xDB, 0xE1
_ORIENTATION = 0x0112  # EXIF 2.3: tag of the first directory, a SHORT of 1 to 8
TAIL = 64
_PNG_END = b"IEND\xaeB`\x82"  # the last chunk has no content, hence always this checksum


@dataclass(frozen=True, slots=True)
class Header:
    """Width and height in pixels and the colour mode; for audio, `frames`, `rate` and `channels`."""

    form: str
    width: int = 0
    height: int = 0
    mode: str = ""
    frames: int = 0
    rate: int = 0
    channels: int = 0
    turned: int = 1  # EXIF's orientation: 1 as it is, 5 to 8 with rows for columns
    steps: int = 0  # of a JPEG: the sum of the 64 steps by which brightness is rounded; 64 is the finest

    @property
    def shape(self) -> str:
        """In words: "32x32 RGB", "16000 Hz, 1 channel"."""
        if self.rate:
            return f"{self.rate} Hz, {self.channels} channel{'s' * (self.channels != 1)}"
        return f"{self.width}x{self.height} {self.mode}".strip()


class Damaged(ValueError):
    """A file that cannot be read as what it is; the message says why, without the file's name."""


def read_header(file: RunFile) -> Header:
    """Read the header of an image or a recording. Raises Damaged or OSError."""
    if file.size == 0:
        raise Damaged("empty")
    with file.open() as handle:
        head = handle.read(64 * 1024)
        handle.seek(max(0, file.size - TAIL))
        tail = handle.read(TAIL)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png(head, tail)
    if head.startswith(b"\xff\xd8"):
        return _jpeg(file, head, tail)
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return _gif(head, tail)
    if head.startswith(b"BM"):
        return _bmp(head, file.size)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp(head, file.size)
    if head.startswith(b"RIFF") and head[8:12] == b"WAVE":
        return _wav(file)
    if file.suffix in AUDIO:
        from . import sounds

        if head.startswith(b"fLaC"):
            return sounds.read_flac(file, head)
        if head.startswith(b"OggS"):
            return sounds.read_ogg(file, head)
        if file.suffix == ".mp3" and not head.lstrip().startswith(b"<"):
            return sounds.read_mp3(file, head)
    raise Damaged(f"not a {file.suffix[1:].upper() or 'known'} file by its content")


def _png(head: bytes, tail: bytes) -> Header:
    if len(head) < 29 or head[12:16] != b"IHDR":
        raise Damaged("ends in its header")
    width, height, _, colour = struct.unpack(">IIBB", head[16:26])
    if _PNG_END not in tail:
        raise Damaged("cut off: the end of the PNG is missing")
    return _sound(Header("PNG", width, height, _MODES.get(colour, "")))


def rotten_png(data: bytes) -> bool:
    """Whether the checksum of a chunk of a whole PNG file is not that of its content."""
    at = 8
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        end = at + 8 + length
        if end + 4 > len(data):
            return False
        if zlib.crc32(data[at + 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            return True
        if data[at + 4 : at + 8] == b"IEND":
            return False
        at = end + 4
    return False


def _jpeg(file: RunFile, head: bytes, tail: bytes) -> Header:
    found = _frame(head)
    if found is None and file.size > len(head):
        found = _frame(file.read_bytes(1024**2))  # a large thumbnail or colour profile stands before it
    if found is None:
        raise Damaged("no picture in it: the JPEG has no frame header")
    if b"\xff\xd9" not in tail:
        raise Damaged("cut off: the end of the JPEG is missing")
    return _sound(found)


def _frame(data: bytes) -> Header | None:
    at, steps, turned = 2, 0, 1
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in _FRAMES:
            height, width, parts = struct.unpack(">HHB", data[at + 5 : at + 10])
            mode = {1: "grey", 3: "RGB", 4: "CMYK"}.get(parts, "")
            return Header("JPEG", width, height, mode, steps=steps, turned=turned)
        if (
            marker == _TABLES and data[at + 4 : at + 5] == b"\0"
        ):  # the first table, of 8 bits each: brightness
            steps = sum(data[at + 5 : at + 69])
        if marker == _APP1 and data[at + 4 : at + 10] == b"Exif\0\0":
            turned = _orientation(data[at + 10 : at + 10 + 4096])
        if marker in (0x01, *range(0xD0, 0xD8)):
            at += 2
            continue
        at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])
    return None


def _orientation(data: bytes) -> int:
    """The orientation that the first directory of EXIF (a TIFF header) tells; 1 where it tells none."""
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    if order is None or len(data) < 10:
        return 1
    at = int(struct.unpack(f"{order}I", data[4:8])[0])
    for entry in range(struct.unpack(f"{order}H", data[at : at + 2])[0] if at + 2 <= len(data) else 0):
        one = data[at + 2 + 12 * entry : at + 14 + 12 * entry]
        if len(one) == 12 and struct.unpack(f"{order}H", one[:2])[0] == _ORIENTATION:
            value = int(struct.unpack(f"{order}H", one[8:10])[0])
            return value if 1 <= value <= 8 else 1
    return 1


def _gif(head: bytes, tail: bytes) -> Header:
    if len(head) < 13:
        raise Damaged("ends in its header")
    if b"\x3b" not in tail[-8:]:
        raise Damaged("cut off: the end of the GIF is missing")
    width, height = struct.unpack("<HH", head[6:10])
    return _sound(Header("GIF", width, height, "palette"))


def _bmp(head: bytes, size: int) -> Header:
    if len(head) < 30:
        raise Damaged("ends in its header")
    told = int(struct.unpack("<I", head[2:6])[0])
    width, height = struct.unpack("<ii", head[18:26])
    bits = int(struct.unpack("<H", head[28:30])[0])
    if told > size:
        raise Damaged(f"cut off: {size} of {told} bytes")
    return _sound(Header("BMP", width, abs(height), {8: "palette", 24: "RGB", 32: "RGBA"}.get(bits, "")))


def _webp(head: bytes, size: int) -> Header:
    told = int(struct.unpack("<I", head[4:8])[0]) + 8
    if told > size + 1:
        raise Damaged(f"cut off: {size} of {told} bytes")
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        mode = "RGBA" if head[20] & 0x10 else "RGB"
        width = int.from_bytes(head[24:27], "little") + 1
        return _sound(Header("WebP", width, int.from_bytes(head[27:30], "little") + 1, mode))
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return _sound(Header("WebP", (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1, "RGB"))
    if kind == b"VP8 " and len(head) >= 30:
        width, height = struct.unpack("<HH", head[26:30])
        return _sound(Header("WebP", width & 0x3FFF, height & 0x3FFF, "RGB"))
    raise Damaged("ends in its header")


def _sound(header: Header) -> Header:
    if not header.width or not header.height:
        raise Damaged("its header gives no size")
    return header


def _wav(file: RunFile) -> Header:
    try:
        with file.open() as handle, wave.open(handle) as sound:
            frames, rate = sound.getnframes(), sound.getframerate()
            channels, width = sound.getnchannels(), sound.getsampwidth()
    except (wave.Error, EOFError, RuntimeError, struct.error) as error:
        # The standard library reads PCM only; other codings are sound files all the same.
        if "unknown format" in str(error):
            return Header("WAV", mode="not PCM", rate=0)
        raise Damaged(f"ends in its header or is no sound: {error}") from error
    if frames * channels * width > file.size:
        held = max(0, file.size - 44)
        raise Damaged(f"cut off: {held} of {frames * channels * width} bytes of sound")
    if not frames:
        raise Damaged("holds no sound")
    return Header("WAV", frames=frames, rate=rate, channels=channels)
