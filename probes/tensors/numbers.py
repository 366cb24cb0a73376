"""Element types of dumped tensors: one name for each, how wide it is, and how its bits become numbers.

bf16 and fp8 have no numpy type: their bits are read as unsigned integers and widened to float32, which
holds each of their values exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Class = Literal["float", "int", "bool", "complex"]


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type. `storage` is the numpy type that its bits are read as, in the file's byte order."""

    name: str
    storage: str
    kind: Class
    mantissa: int = 0  # explicit bits of the significand; the spacing at 1.0 is 2**-mantissa

    @property
    def width(self) -> int:
        """Bytes of one element."""
        return np.dtype(self.storage).itemsize

    @property
    def eps(self) -> float:
        """Spacing of the numbers at 1.0 (0 for integers)."""
        return float(2.0**-self.mantissa) if self.kind in ("float", "complex") else 0.0

    @property
    def decoded(self) -> np.dtype[Any]:
        """The type of the numbers that `decode` gives."""
        wide = self.name not in _NARROW and not self.name.startswith("float8")
        return np.dtype(np.float64 if wide else np.float32)

    @property
    def parts(self) -> int:
        """How many numbers one element becomes: 2 for a complex one."""
        return 2 if self.kind == "complex" else 1

    def decode(self, raw: Array, out: Array | None = None) -> Array:
        """Widen raw elements to real numbers, flat: float64 for 64-bit and integer types, else float32.

        A complex element becomes its two parts, one after the other. Where `out` (at least as long as the
        result, of its type or a wider one) is given the numbers have its type, and stand in it unless they
        can be used where they are.
        """
        if self.kind == "complex":
            real = "f4" if self.width == 8 else "f8"
            raw = np.ascontiguousarray(raw).view(np.dtype(raw.dtype.byteorder + real))
        wanted = self.decoded if out is None else out.dtype
        if raw.dtype == wanted and self.storage[0] in "fc":
            return raw
        values = np.empty(raw.size, wanted) if out is None else out[: raw.size]
        if self.name == "bfloat16" and wanted == np.float32:  # its bits are the upper half of a float32's
            wide = values.view(np.uint32)
            np.copyto(wide, raw)
            np.left_shift(wide, 16, out=wide)
        elif self.name == "bfloat16":
            np.copyto(values, self.decode(raw))
        elif self.name.startswith("float8"):
            table = _fp8_table(self.name)
            np.take(table.astype(wanted, copy=False), raw, out=values, mode="clip")
        else:
            np.copyto(values, raw)
        return values


_NARROW = ("bfloat16", "float16", "float32", "complex64", "bool", "int8", "uint8", "int16", "uint16")


TYPES = {
    t.name: t
    for t in (
        ElementType("float64", "f8", "float", 52),
        ElementType("float32", "f4", "float", 23),
        ElementType("float16", "f2", "float", 10),
        ElementType("bfloat16", "u2", "float", 7),
        ElementType("float8_e4m3fn", "u1", "float", 3),
        ElementType("float8_e4m3fnuz", "u1", "float", 3),
        ElementType("float8_e5m2", "u1", "float", 2),
        ElementType("float8_e5m2fnuz", "u1", "float", 2),
        ElementType("complex64", "c8", "complex", 23),
        ElementType("complex128", "c16", "complex", 52),
        ElementType("int64", "i8", "int"),
        ElementType("int32", "i4", "int"),
        ElementType("int16", "i2", "int"),
        ElementType("int8", "i1", "int"),
        ElementType("uint64", "u8", "int"),
        ElementType("uint32", "u4", "int"),
        ElementType("uint16", "u2", "int"),
        ElementType("uint8", "u1", "int"),
        ElementType("bool", "u1", "bool"),
    )
}
_OTHER_NAMES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "boolean": "bool",
    "bool_": "bool",
    "complexfloat": "complex64",
    "complexdouble": "complex128",
    "float8_e4m3": "float8_e4m3fn",
    "float8e4m3": "float8_e4m3fn",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e5m2": "float8_e5m2",
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "f8_e4m3": "float8_e4m3fn",
    "f8_e5m2": "float8_e5m2",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
}


def type_of(name: str) -> ElementType | None:
    """Return the element type that a dump means: "torch.bfloat16", "Float32", "DT_FLOAT16", "BF16", ...

    None for a name that means no element type here (a quantised or packed one, a Python class).
    """
    word = name.strip().rsplit(".", 1)[-1].lower()
    word = re.sub(r"^(?:dt_|ktype|knumbertype|type_)|(?:storage|tensor)$", "", word)
    return TYPES.get(_OTHER_NAMES.get(word, word))


@lru_cache(maxsize=8)
def _fp8_table(name: str) -> NDArray[np.float32]:
    """The 256 values of an 8-bit float. Formats: OCP "8-bit Floating Point Specification" 1.0, table 1.

    The `fnuz` variants (one more in the exponent bias, one NaN at minus zero) are those of AMD MI300.
    """
    exponent_bits = 4 if "e4m3" in name else 5
    fraction_bits = 7 - exponent_bits
    unsigned_zero = name.endswith("fnuz")
    bias = 2 ** (exponent_bits - 1) - (0 if unsigned_zero else 1)
    bits = np.arange(256)
    sign = np.where(bits & 0x80, -1.0, 1.0)
    exponent = (bits >> fraction_bits) & (2**exponent_bits - 1)
    fraction = bits & (2**fraction_bits - 1)
    scale = np.where(exponent == 0, 1.0, exponent).astype(np.float64) - bias
    values = sign * 2.0**scale * ((exponent > 0) + fraction / 2**fraction_bits)
    if unsigned_zero:
        values[0x80] = np.nan
    elif exponent_bits == 4:
        values[[0x7F, 0xFF]] = np.nan
    else:
        top = exponent == 31
        values = np.where(top, np.where(fraction == 0, sign * np.inf, np.nan), values)
    table: NDArray[np.float32] = values.astype(np.float32)
    return table
