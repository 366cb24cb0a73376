"""Figures of a pair of tensors: held against their definitions in float64, for every type and shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from traindoctor.engine.model import TensorFigures
from traindoctor.probes.files import RunFile
from traindoctor.probes.tensors import figures
from traindoctor.probes.tensors import pairs as sharing
from traindoctor.probes.tensors.figures import Sums, compare_blocks, ulp_distance
from traindoctor.probes.tensors.npy import read_npy
from traindoctor.probes.tensors.numbers import TYPES, type_of
from traindoctor.probes.tensors.pairs import compare_pairs


def of(a: Any, b: Any) -> TensorFigures:
    types = (TYPES[str(a.dtype)], TYPES[str(b.dtype)])
    sums = Sums()
    compare_blocks([(a.ravel(), b.ravel())], types, sums)
    return sums.figures(types[0] is types[1] and types[0].kind == "float")


def expected(a: Any, b: Any) -> dict[str, float]:
    a, b = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
    good = np.isfinite(a) & np.isfinite(b)
    a, b = a[good], b[good]
    apart, some = np.abs(a - b), b != 0
    relative = apart[some] / np.abs(b[some])
    inside = [np.count_nonzero(relative < x) + np.count_nonzero(apart[~some] == 0) for x in (1e-3, 5e-3)]
    return {
        "cosine": float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)),
        "relative": float(np.linalg.norm(a - b) / np.linalg.norm(b)),
        "max_abs": float(apart.max()),
        "mean_abs": float(apart.mean()),
        "max_rel": float(relative.max()),
        "mean_rel": float(relative.mean()),
        "within_1": inside[0] / a.size,
        "within_5": inside[1] / a.size,
        "norm": float(np.linalg.norm(a)),
        "benchmark_norm": float(np.linalg.norm(b)),
    }


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("size", [1, 7, 8192, 40_000])
def test_figures_are_what_their_definitions_say(dtype: str, zeros: bool, size: int) -> None:
    random = np.random.default_rng(size)
    b = (random.standard_normal(size) + 0.5).astype(dtype)
    a = (b * (1 + 3e-3 * random.standard_normal(size))).astype(dtype)
    if zeros and size > 1:
        b[::3] = 0
        a[::6] = 0
    found = of(a, b)
    for name, value in expected(a, b).items():
        assert getattr(found, name) == pytest.approx(value, rel=2e-5, abs=2e-6), name
    assert found.count == size and not found.misplaced


def raw(kind: str, values: Any) -> Any:
    """Values as raw elements of a type that numpy does not have: the nearest towards zero."""
    if kind == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    table = TYPES[kind].decode(np.arange(128, dtype=np.uint8))
    table = table[np.isfinite(table)]
    near = np.searchsorted(table, np.abs(values), side="right") - 1
    return (near + 128 * (values < 0)).astype(np.uint8)


def in_blocks(a: Any, b: Any, kind: str, size: int) -> TensorFigures:
    sums = Sums()
    compare_blocks(
        ((a[at : at + size], b[at : at + size]) for at in range(0, a.size, size)), (TYPES[kind],) * 2, sums
    )
    return sums.figures(TYPES[kind].kind == "float")


@pytest.mark.parametrize(
    "kind", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32", "float64"]
)
@pytest.mark.parametrize("size", [5, 2047, 2049, 70_001])
def test_every_float_type_over_several_blocks(kind: str, size: int) -> None:
    random = np.random.default_rng(size)
    values = random.standard_normal(size) + 0.2
    values[::7] = 0
    coarse = 0.3 if kind.startswith("float8") else 0.02
    others = values * (1 + coarse * random.standard_normal(size))
    if kind in ("float16", "float32", "float64"):
        a, b = others.astype(kind), values.astype(kind)
    else:
        a, b = raw(kind, others), raw(kind, values)
    found = in_blocks(a, b, kind, 4099)
    wide = [TYPES[kind].decode(x).astype(np.float64) for x in (a, b)]
    for name, value in expected(*wide).items():
        assert getattr(found, name) == pytest.approx(value, rel=2e-5, abs=2e-6), name
    assert found.max_ulp == slow_ulp(a, b) > 0


def slow_ulp(a: Any, b: Any) -> int:
    """One element after the other, with Python's integers."""
    top = 1 << (8 * a.itemsize - 1)
    places = [[-(n & ~top) if n & top else n for n in x.view(f"u{x.itemsize}").tolist()] for x in (a, b)]
    return max(abs(m - n) for m, n in zip(*places, strict=True))


@pytest.mark.parametrize("scale", [1e-30, 1e-21, 1e-19, 1e-17, 1e17, 1e19, 1e37])
def test_sums_keep_their_accuracy_where_squares_leave_float32(scale: float) -> None:
    random = np.random.default_rng(3)
    b = (scale * random.standard_normal(5000)).astype(np.float32)
    a = (b * (1 + 1e-3 * random.standard_normal(5000))).astype(np.float32)
    found = of(a, b)
    for name, value in expected(a, b).items():
        assert getattr(found, name) == pytest.approx(value, rel=2e-5), name
    assert found.count == 5000 and found.misplaced == found.inf == 0
    assert of(b, b.copy()).norm == pytest.approx(expected(b, b)["norm"], rel=2e-5)


@pytest.mark.parametrize("ratio", [1e-6, 0.1, 1, 3, 5, 1e3, 1e8])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_cosine_holds_at_every_ratio_of_norms(ratio: float, sign: int) -> None:
    random = np.random.default_rng(4)
    b, other = random.standard_normal((2, 30_000)).astype(np.float32)
    for mixed in (b, b + other, other, b + np.float32(1e-3) * other):
        a = (sign * ratio * mixed).astype(np.float32)
        assert of(a, b).cosine == pytest.approx(expected(a, b)["cosine"], abs=1e-5)


def test_a_cosine_near_one_is_told_from_one() -> None:
    random = np.random.default_rng(5)
    b = random.standard_normal(50_000).astype(np.float32)
    a = (b * (1 + 1e-5 * random.standard_normal(50_000))).astype(np.float32)
    wanted = 1 - expected(a, b)["cosine"]
    assert 1 - (of(a, b).cosine or 0) == pytest.approx(wanted, rel=0.01)


def test_complex_tensors_over_several_blocks(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    b = (random.standard_normal(100_003) + 1j * random.standard_normal(100_003)).astype(np.complex64)
    a = (b * np.complex64(1.001)).astype(np.complex64)
    found = compare_pairs([(stored(tmp_path / "a.npy", a), stored(tmp_path / "b.npy", b))])[0]
    assert isinstance(found, TensorFigures) and found.count == b.size
    for name, value in expected(a.view(np.float32), b.view(np.float32)).items():
        assert getattr(found, name) == pytest.approx(value, rel=2e-5, abs=2e-6), name


@pytest.mark.parametrize("kind", [">f4", ">f2", ">c8", ">f8"])
def test_the_byte_order_changes_nothing(kind: str, tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    b = (random.standard_normal(3000) + 2).astype(kind[1:])
    a = (b * 1.01).astype(kind[1:])
    there = [stored(tmp_path / f"{n}.npy", x.astype(kind)) for n, x in (("a", a), ("b", b))]
    here = [stored(tmp_path / f"{n}.npy", x) for n, x in (("c", a), ("d", b))]
    found = compare_pairs([(there[0], there[1]), (here[0], here[1])])
    assert found[0] == found[1]


def test_products_of_rows_without_vecdot(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(8)
    a, b = random.standard_normal((2, 9000)).astype(np.float32)
    found = of(a, b)
    monkeypatch.setattr(figures, "_products", figures._row_products)
    other = of(a, b)
    for name in ("norm", "benchmark_norm", "relative", "mean_abs", "mean_rel", "cosine"):
        assert getattr(other, name) == pytest.approx(getattr(found, name), rel=1e-5), name


def test_signed_zeros_are_one_value() -> None:
    a, b = np.array([0.0, -0.0, 1.0], np.float32), np.array([-0.0, 0.0, 1.0], np.float32)
    found = of(a, b)
    assert (found.max_abs, found.max_ulp, found.within_1, found.identical) == (0, 0, 1, False)


def test_what_is_not_finite_is_counted_and_left_out() -> None:
    b = np.linspace(1, 2, 10, dtype=np.float32)
    a = b.copy()
    a[[0, 1, 2, 3]] = [np.nan, np.inf, -np.inf, 5]
    b[[0, 2]] = [np.nan, np.inf]
    found = of(a, b)
    assert (found.nan, found.inf, found.benchmark_nan, found.benchmark_inf, found.misplaced) == (
        1,
        2,
        1,
        1,
        2,
    )
    assert found.max_abs == pytest.approx(5 - b[3])
    assert of(a, a).identical and of(a, a).nan == 1 and of(a, a).misplaced == 0


def test_values_whose_squares_leave_float32() -> None:
    b = np.array([1e30, -2e30, 3e25], np.float32)
    found = of(b * np.float32(1.001), b)
    assert found.relative == pytest.approx(1e-3, rel=1e-3)
    assert found.cosine == pytest.approx(1)
    assert found.inf == 0 and found.misplaced == 0


def test_all_zero_and_empty() -> None:
    zero = np.zeros(4, np.float32)
    assert of(zero, zero).identical
    one = of(zero + 1, zero)
    assert one.relative == np.inf and one.cosine == 0 and one.within_1 == 0
    assert of(zero[:0], zero[:0]).identical


def test_integers_and_mixed_types() -> None:
    a = np.arange(5)
    assert of(a, a).identical and of(a, a).max_ulp is None
    assert not of(a, a + (a == 3)).identical
    assert of(a.astype(np.int32), a).max_abs in (0.0, 0)
    assert of(a.astype(np.float16), a.astype(np.float32)).relative == 0


@given(hnp.arrays(np.float32, 6, elements=st.floats(-1e3, 1e3, width=32)), st.integers(0, 40))
def test_ulp_counts_representable_values(a: Any, steps: int) -> None:
    b = a.copy()
    for _ in range(steps):
        b = np.nextafter(b, np.float32(np.inf))
    if np.any((a <= 0) & (b >= 0)):  # -0 and 0 are two patterns of one value
        assert abs(ulp_distance(a, b) - steps) <= 1
    else:
        assert ulp_distance(a, b) == steps


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "bfloat16", "float8_e5m2"])
def test_ulp_of_unrelated_values_of_both_signs(kind: str) -> None:
    random = np.random.default_rng(9)
    a, b = random.standard_normal((2, 4000)) * 10.0 ** random.integers(-3, 3, 4000)
    a[::50], b[::70] = 0.0, -0.0
    numpys = kind in ("float16", "float32", "float64")
    sides = [x.astype(kind) if numpys else raw(kind, x) for x in (a, b)]
    assert ulp_distance(*sides) == slow_ulp(*sides) == in_blocks(*sides, kind, 999).max_ulp


def test_fp8_and_bf16_have_the_values_of_their_formats() -> None:
    e4m3, e5m2 = (TYPES[f"float8_{n}"].decode(np.arange(256, dtype=np.uint8)) for n in ("e4m3fn", "e5m2"))
    assert (np.nanmax(e4m3), e4m3[1], np.count_nonzero(np.isnan(e4m3))) == (448, 2**-9, 2)
    assert (e5m2[np.isfinite(e5m2)].max(), e5m2[1], np.count_nonzero(np.isinf(e5m2))) == (57344, 2**-16, 2)
    assert e4m3[0x38] == e5m2[0x3C] == 1
    assert TYPES["bfloat16"].decode(np.array([0x3F80, 0xC000], np.uint16)).tolist() == [1.0, -2.0]
    assert [
        type_of(n).name for n in ("torch.bfloat16", "DT_FLOAT16", "BF16", "HalfStorage") if type_of(n)
    ] == [  # type: ignore[union-attr]
        "bfloat16",
        "float16",
        "bfloat16",
        "float16",
    ]
    assert type_of("quint4x2") is None


def stored(path: Path, array: Any) -> Any:
    np.save(path, array)
    return read_npy(RunFile(path.parent, path.name, path.stat().st_size))


def test_many_pairs_over_processes_give_what_one_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(1)
    arrays = [random.standard_normal(n).astype(np.float32) for n in (10, 200_000, 3, 70_000)]
    pairs = [
        (stored(tmp_path / f"a{i}.npy", x * 1.001), stored(tmp_path / f"b{i}.npy", x))
        for i, x in enumerate(arrays)
    ]
    alone = compare_pairs(pairs)
    monkeypatch.setattr(sharing, "LARGE", 1)
    monkeypatch.setattr(sharing, "PART", 50_000)
    monkeypatch.setattr(sharing, "WORKERS", 2)
    for one, other in zip(alone, compare_pairs(pairs), strict=True):
        assert isinstance(one, TensorFigures) and isinstance(other, TensorFigures)
        assert other.count == one.count and other.max_abs == one.max_abs
        assert other.relative == pytest.approx(one.relative, rel=1e-6)


def test_a_file_cut_off_after_it_was_found_costs_its_pair(tmp_path: Path) -> None:
    a, b = (
        stored(tmp_path / "a.npy", np.ones(1000, np.float32)),
        stored(tmp_path / "b.npy", np.ones(1000, np.float32)),
    )
    (tmp_path / "b.npy").write_bytes((tmp_path / "b.npy").read_bytes()[:900])
    assert compare_pairs([(a, a), (a, b)])[1] == "ends before its last element"
