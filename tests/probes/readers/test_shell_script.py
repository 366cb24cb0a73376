"""Launch scripts: options with lines, variables, arrays; flags never swallow the next option."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.readers import shell_script


def file(tmp_path: Path, name: str, text: str) -> RunFile:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return next(f for f in walk(tmp_path)[0] if f.path == name)


def options(tmp_path: Path, text: str, name: str = "run.sh") -> dict[str, object]:
    made = file(tmp_path, name, text)
    assert shell_script.sniff(made)
    return {s.key: s.value for s in shell_script.read(made).settings}


def test_both_forms_of_an_option_are_read(tmp_path: Path) -> None:
    """`--lr 1e-4` and `--lr=1e-4` mean the same, and 1e-4 is a number."""
    assert options(tmp_path, "python train.py --lr 1e-4\n") == {"lr": 1e-4}
    assert options(tmp_path, "python train.py --lr=1e-4\n") == {"lr": 1e-4}


def test_a_flag_never_swallows_the_next_option(tmp_path: Path) -> None:
    """`--bf16 --use-flash-attn --lr 1` is two flags and one value."""
    found = options(tmp_path, "python train.py --bf16 --use-flash-attn --lr 1 --last\n")

    assert found == {"bf16": True, "use_flash_attn": True, "lr": 1, "last": True}


def test_continued_lines_keep_their_own_numbers(tmp_path: Path) -> None:
    """Each option knows the line on which it stands."""
    made = file(
        tmp_path, "run.sh", "#!/bin/bash\ntorchrun --nproc_per_node=8 \\\n  train.py \\\n  --lr 0.1\n"
    )

    lines = {s.key: s.line for s in shell_script.read(made).settings}

    assert lines == {"nproc_per_node": 2, "lr": 4}


def test_variables_and_arrays_are_put_in_once(tmp_path: Path) -> None:
    """Options in a variable are read where it is set, values where they are used."""
    text = (
        'LR=1e-4\nBS=${BS:-16}\nARGS="--wd 0.1 \\\n --clip 1.0"\n'
        "MORE=(\n  --micro-batch-size 4  # comment\n  --bf16\n)\n"
        "python train.py --lr $LR --bs=${BS} $ARGS ${MORE[@]} --unknown $NOT_SET --end\n"
    )

    found = options(tmp_path, text)

    assert found["lr"] == 1e-4
    assert found["bs"] == 16
    assert (found["wd"], found["clip"], found["micro_batch_size"], found["bf16"]) == (0.1, 1.0, 4, True)
    assert "unknown" not in found
    assert found["end"] is True
    made = shell_script.read(file(tmp_path, "run.sh", text)).settings
    assert sum(s.key == "wd" for s in made) == 1


def test_a_model_that_a_variable_names_is_named(tmp_path: Path) -> None:
    """A trained model is gone on from, whatever its name; other options without a known value say nothing."""
    for way in ("=$MODEL --lr=$LR", " $MODEL --lr $LR"):
        found = options(
            tmp_path, f"accelerate launch train.py --pretrained_model_name_or_path{way} --seed 3\n"
        )
        assert found["pretrained_model_name_or_path"] and not found.get("lr") and found["seed"] == 3


def test_several_numbers_are_one_value(tmp_path: Path) -> None:
    """`--betas 0.9 0.95` is a pair; a word after a value is not part of it; -1 is a number."""
    found = options(tmp_path, "python train.py --betas 0.9 0.95 --name a b --seed -1\n")

    assert found == {"betas": (0.9, 0.95), "name": "a", "seed": -1}


def test_comments_redirections_and_other_commands_are_no_options(tmp_path: Path) -> None:
    """What follows `#`, `|` or `>` or stands after echo is not read."""
    text = "# python a.py --lr 9\necho --lr 8\npython t.py --lr 1 > out.txt 2>&1 | tee --append x\n"

    assert options(tmp_path, text) == {"lr": 1}


def test_an_apostrophe_in_a_here_document_does_not_eat_the_script(tmp_path: Path) -> None:
    """Quotes inside a here-document do not matter."""
    text = "cat <<EOF\ndon't --lr 5\nEOF\npython t.py --lr 1\n"

    assert options(tmp_path, text) == {"lr": 1}


def test_an_open_quote_costs_its_own_command_at_most(tmp_path: Path) -> None:
    """A quote that is never closed does not hide the rest of the file."""
    text = "echo it's done\n" + "\n" * 150 + "python t.py --lr 1\n"

    assert options(tmp_path, text)["lr"] == 1


def test_hydra_assignments_and_the_environment_are_settings(tmp_path: Path) -> None:
    """`optimizer.lr=0.1` after the script, and NCCL_/HCCL_ variables that are set for it."""
    text = "export HCCL_DETERMINISTIC=true\nexport EDITOR=vi\nNCCL_ALGO=Ring python t.py optimizer.lr=0.1 url=http://x\n"

    assert options(tmp_path, text) == {"HCCL_DETERMINISTIC": True, "NCCL_ALGO": "Ring", "optimizer.lr": 0.1}


def test_secrets_on_the_command_line_are_dropped(tmp_path: Path) -> None:
    """Neither named nor shaped secrets come through."""
    content = shell_script.read(
        file(
            tmp_path,
            "run.sh",
            "export HF_TOKEN=hf_aaaaaaaaaaaaaaaaaaaaaaaa\npython t.py --api-key abcd --note hf_" + "b" * 24,
        )
    )

    assert "abcd" not in repr(content)
    assert "hf_" not in repr(content)


def test_a_saved_command_is_recognised_without_a_suffix(tmp_path: Path) -> None:
    """cmd.txt with one command counts; prose does not."""
    assert options(tmp_path, "deepspeed --num_gpus 8 train.py --lr 1\n", "cmd.txt") == {
        "num_gpus": 8,
        "lr": 1,
    }
    assert not shell_script.sniff(file(tmp_path, "readme.txt", "python is nice - really\n"))


def test_the_arguments_that_wandb_recorded_are_read(tmp_path: Path) -> None:
    """wandb-metadata.json holds the command line as a list."""
    text = '{"python": "3.10.1", "args": [\n"--lr",\n"0.1",\n"--fp16"], "host": "h"}'

    assert options(tmp_path, text, "wandb-metadata.json") == {"lr": 0.1, "fp16": True}


@given(st.text(alphabet="ab-= \n\\\"'$(){}[]#<>|;&0.1", max_size=120))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """The scanner neither raises nor hangs."""
    for words in shell_script._commands(text):
        shell_script._Script("x")._options(words, from_command=True)
    reading = shell_script._Script("x")
    for words in shell_script._commands(text):
        reading.take(words)


@pytest.mark.parametrize(
    "text", ['"' * 50_000, "$(" * 20_000, "A=" * 20_000, "\\\n" * 20_000, "((((" * 10_000]
)
def test_hostile_scripts_end_quickly(tmp_path: Path, text: str) -> None:
    """Unbalanced input is read in time that grows with its size."""
    shell_script.read(file(tmp_path, "x.sh", text))


LOOP = "for i in $(seq 0 7)\ndo\n"
LOOP += "  python main.py --world-size 1 --rank 0 --gpu $i --dist-backend hccl {} > $i.log 2>&1 &\ndone\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LOOP, {"nproc_per_node": 8, "nnodes": 1}),
        (LOOP.replace("&\ndone", "\ndone"), {"world_size": 1}),  # one after the other
        ("for s in 1 2 3; do python main.py --seed $s --lr 1 & done\n", {}),  # runs of their own
        (
            "for((RANK_ID=0;RANK_ID<4;RANK_ID++));\ndo\n RANK_ID=$RANK_ID python t.py --lr 1 &\ndone\n",
            {"nproc_per_node": 4},
        ),
    ],
)
def test_a_loop_starts_a_process_for_each_device(tmp_path: Path, text: str, expected: dict[str, int]) -> None:
    """Ascend's launch scripts start them in the background; `--world-size` counts machines there."""
    found = options(tmp_path, text.replace("{}", ""))

    assert {k: v for k, v in found.items() if k in ("nproc_per_node", "nnodes", "world_size")} == expected


def test_what_slurm_is_asked_for(tmp_path: Path) -> None:
    """Tasks of a node count where srun starts them, and not where a launcher of its own does."""
    head = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n"
    assert options(tmp_path, head + "srun python train.py --lr 0.1\n") == {
        "nodes": 2,
        "ntasks_per_node": 4,
        "lr": 0.1,
    }
    assert "ntasks_per_node" not in options(tmp_path, head + "python train.py --lr 0.1\n")
