"""Tables of answers and of weights over ranks: what is worked out of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import answer_table, rank_table
from traindoctor.probes.readers.text import label_lists, orders


def made(folder: Path, text: str, name: str = "table.csv") -> RunFile:
    """A file with this text."""
    (folder / name).write_text(text)
    return RunFile(folder, name, len(text))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda n: n % 7 + 1, True),  # one more class here than there
        (lambda n: (n % 7) * 3 % 7, True),  # the order of names
        (lambda n: n % 7, False),
        (lambda n: n // 100, False),  # one class is answered for all
        (lambda n: (n * n) % 5, False),
    ],
)
def test_answers_under_other_numbers(tmp_path: Path, answer: object, told: bool) -> None:
    """Right answers once all are moved, or once classes are numbered anew; neither of a bad model."""
    rows = "".join(f"{n}.jpg,{n % 7},{answer(n)}\n" for n in range(84))  # type: ignore[operator]
    file = made(tmp_path, "image,label,pred\n" + rows)

    assert answer_table.sniff(file)
    assert bool(answer_table.read(file).events) is told


def test_other_names_of_the_columns(tmp_path: Path) -> None:
    rows = "".join(f"{n}.bmp;{1 + n % 9};{n % 9}\n" for n in range(90))
    file = made(tmp_path, "filename;true_class;predicted_class\n" + rows)
    assert answer_table.sniff(file) and answer_table.read(file).events


@pytest.mark.parametrize("header", ["image,label,score", "step,loss,pred", "a,b,c"])
def test_no_table_of_answers(tmp_path: Path, header: str) -> None:
    assert not answer_table.sniff(made(tmp_path, header + "\n" + "1,2,3\n" * 60))


@pytest.mark.parametrize(("step", "told"), [(1e-4, True), (0.0, False)])
@pytest.mark.parametrize("wide", [True, False])
def test_weights_that_part_over_ranks(tmp_path: Path, step: float, told: bool, wide: bool) -> None:
    """In a column, or in a row, for each rank."""
    cells = [(s, r, f"{1.234567 + s * r * step:.6f}") for s in range(0, 50, 10) for r in range(3)]
    if wide:
        rows = [f"{s},w,{','.join(v for t, _, v in cells if t == s)}" for s in range(0, 50, 10)]
        text = "step,param,rank0,rank1,rank2\n" + "\n".join(rows)
    else:
        text = "step,rank,param,norm\n" + "\n".join(f"{s},{r},w,{v}" for s, r, v in cells)
    file = made(tmp_path, text + "\n")

    assert rank_table.sniff(file)
    assert bool(rank_table.read(file).events) is told


def test_parts_of_a_model_are_never_alike(tmp_path: Path) -> None:
    rows = "".join(f"{s},w,{1.234567 + s:.6f},{2.345678 + s:.6f}\n" for s in range(9))
    assert not rank_table.read(made(tmp_path, "step,param,tp0,tp1\n" + rows)).events


ORDER = "[dbg] epoch {e} rank 2 sampler head: [{a}, 18022, 903, 77120, 51209]\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (ORDER, True),
        (ORDER.replace("{a}", "44{e}"), False),
        (ORDER.replace("sampler", "val sampler"), False),  # a validation is read in one order
        (ORDER.replace("sampler head", "milestones"), False),
        (ORDER.replace("[dbg] epoch {e} rank 2 sampler head", "epoch {e} recall for indices"), False),
        (ORDER.replace("[dbg] epoch {e} rank 2 sampler head", "epoch {e} class ids"), False),
        (ORDER.replace("sampler head", "shuffled indices of train data"), True),
        (ORDER.replace("sampler head", "sanity check on samples"), False),
        (ORDER.replace("sampler head", "gpu ids"), False),
        (ORDER.replace("[dbg] epoch {e} rank 2 sampler head", "epoch {e} logging sample images idx"), False),
    ],
)
def test_an_order_that_comes_again(line: str, told: bool) -> None:
    text = "".join(line.format(e=e, a=4411) for e in range(4))
    found = orders.come_again(text.encode(), "log.txt", None)

    assert [e.rank for e in found] == ([2] if told else [])


@pytest.mark.parametrize(("empty", "told"), [(3, True), (0, False), (40, False)])
def test_steps_that_count_no_token(empty: int, told: bool) -> None:
    text = "".join(f"iter {n} valid tokens {0 if n < empty else 900} / 4096 loss 1.2\n" for n in range(40))
    assert bool(label_lists.none_counted(text.encode(), "log.txt", 1)) is told
