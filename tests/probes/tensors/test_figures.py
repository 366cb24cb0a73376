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
from traindoctor.probes.tensors.figures import Sums, compare_blocks, compare_pairs, ulp_distance
from traindoctor.probes.tensors.npy import read_npy
from traindoctor.probes.tensors.numbers import TYPES, type_of


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
    monkeypatch.setattr(figures, "LARGE", 1)
    monkeypatch.setattr(figures, "PART", 50_000)
    monkeypatch.setattr(figures, "WORKERS", 2)
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
