"""Messages, endings and ranks: present, absent only where it could be seen, else unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.run import Event, Run

from ._build import run, series, written
from ._read import reading, symptoms

RNG = np.random.default_rng(0)
LOSS = 2.0 * np.exp(-np.arange(50) / 20) + 0.05 * RNG.normal(size=50)
OTHER = Event("known-warning", "log.txt", 1, text="a warning")


def state(symptom: str, given: Run) -> str:
    return str(reading("logs", symptom, given).state)


MESSAGES = [s for s, r in symptoms("logs").items() if r.probe == "events.seen" and "body" not in r.params]


@pytest.mark.parametrize("symptom", MESSAGES)
def test_a_message_is_present_absent_or_unknown(symptom: str) -> None:
    """Seen; not seen in a log that shows messages; or no such log."""
    asked = symptoms("logs")[symptom].params
    kind, data = asked["kinds"][0], asked.get("data", [""])[0]
    event = Event(kind, "log.txt", 7, step=3.0, text="the words", data=data, count=2)

    found = reading("logs", symptom, run(events=[event]))

    assert found.state == "present"
    assert "the words" in found.why
    assert (found.where[0].line, found.step, found.value) == (7, 3.0, 2)
    speaks = {f"version:{asked.get('said_by', ['any'])[0]}": "1.0"}
    assert state(symptom, run(events=[OTHER], facts=speaks)) == "absent"
    assert state(symptom, run(facts=speaks)) == "unknown"
    assert state(symptom, run(events=[OTHER])) == ("unknown" if "said_by" in asked else "absent")
    assert state(symptom, run(events=[Event("overflow", "log.txt", 1)])) == "unknown"
    assert state(symptom, run()) == "unknown"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("images and labels... 61213 found, 57074 missing, 0 empty, 0 corrupted", "present"),
        ("1,200 of 9,600 images could not be found", "present"),
        ("Scanning labels... 4952 found, 48 missing", "absent"),
        ("ignoring corrupt image/label: 000123.jpg", "unknown"),
    ],
)
def test_how_much_of_the_data_is_left_out(text: str, expected: str) -> None:
    event = Event("data-warning", "log.txt", 7, text=text)
    assert state("log-much-data-left-out", run(events=[event])) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "missing 48 keys: ['decoder.layers.0.linear_qkv.bias', 'decoder.layers.1.linear_qkv.bias', ...]",
            "present",
        ),
        ("not used when initializing A: ['layers.0.q_proj.bias', 'layers.1.q_proj.bias']", "present"),
        ("not used when initializing T5EncoderModel: ['decoder.block.0.q', 'decoder.block.1.k']", "absent"),
        ("329 parameters in the 'net' are not loaded, because they are not in the dict", "present"),
        ("2 parameters in the 'net' are not loaded, because they are not in the dict", "absent"),
        ("unexpected 28 keys: ['decoder.layers.0.qkv.bias', 'decoder.layers.1.qkv.bias']", "present"),
        ("missing keys: ['layers.0.rotary_emb.inv_freq', 'layers.1.rotary_emb.inv_freq']", "absent"),
        ("missing keys: ['layers.0.q.lora_A.weight', 'layers.1.q.lora_A.weight']", "absent"),
        ("size mismatch for head.weight: copying", "absent"),
        (
            "newly initialized: ['h.0.crossattention.c_attn.weight', 'h.1.crossattention.c_attn.weight']",
            "absent",
        ),
        ("newly initialized: ['layer.0.attention.q.weight', 'layer.0.attention.k.weight']", "present"),
    ],
)
def test_weights_of_layers_that_stand_on_one_side(text: str, expected: str) -> None:
    """What is computed anew, adapters, and a part that was left out on purpose are no missing weights."""
    event = Event("checkpoint-keys-mismatch", "log.txt", 7, text=text)
    assert state("log-layers-not-loaded", run(events=[event])) == expected
    assert state("log-layers-not-loaded", run()) == "unknown"


def test_adapters_that_are_counted_begin_new() -> None:
    """MindSpore counts what is not loaded, and MindFormers names it below: adapters are in no checkpoint."""
    counted = "128 parameters in the 'net' are not loaded, because they are not in the dict"
    named = "Network parameters are not loaded: (['layers.0.wq.{0}', 'layers.1.wq.{0}'])"
    texts = (counted, named.format("mindpet_delta_lora_a"))
    both = [Event("checkpoint-keys-mismatch", "log.txt", 7, text=t) for t in texts]
    assert state("log-layers-not-loaded", run(events=both)) == "absent"
    assert state("log-layers-not-loaded", run(events=both[:1])) == "present"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("layers.0.attention.wq.lora_a", "layers.1.attention.wq.lora_a"), "absent"),
        (("layers.0.attention.wq.weight", "layers.1.attention.wq.weight"), "present"),
        (("layers.0.attention.wq.weight", "layers.1.attention.wq.lora_a"), "present"),
    ],
)
def test_what_is_not_loaded_line_by_line(tmp_path: Path, names: tuple[str, ...], expected: str) -> None:
    """MindSpore counts in one line and gives a line to each name."""
    said = [
        "[WARNING] load_param_into_net: 32 parameters in the 'net' are not loaded, because they are not there"
    ]
    said += [f"[WARNING] [serialization.py:1636] model.{name} is not loaded." for name in names]
    rows = [f"epoch: 1 step: {i}, loss is {3 / i:.4f}" for i in range(1, 20)]
    (tmp_path / "info.log").write_text("\n".join([*said, *rows]) + "\n")
    assert state("log-checkpoint-keys-mismatch", open_run(tmp_path)) == expected


def test_layers_that_were_drawn_anew() -> None:
    """Cross attention begins anew by design."""
    name, text = "log-layers-drawn-anew", "newly initialized: ['h.0.{0}.q.weight', 'h.1.{0}.q.weight']"

    def told(part: str) -> str:
        return state(
            name, run(events=[Event("weights-newly-initialized", "log.txt", 7, text=text.format(part))])
        )

    assert (told("attention"), told("crossattention"), state(name, run())) == ("present", "absent", "unknown")


def test_a_converted_checkpoint_is_none_to_resume_from() -> None:
    """Megatron loads weights that were converted at iteration 1, and trains them from its first step on."""
    curve = series("train/loss", LOSS)
    for step, expected in ((1.0, "absent"), (0.0, "absent"), (2000.0, "present")):
        event = Event("resume", "log.txt", 1, step=step, text="loading checkpoint at iteration")
        assert state("run-resumed", run([curve], events=[event])) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("newly initialized: ['classifier.weight', 'classifier.bias']", "absent"),
        ("newly initialized: ['bert.pooler.dense.weight', 'score.weight']", "absent"),
        ("newly initialized: ['encoder.layer.0.attention.weight', 'classifier.bias']", "present"),
        ("unexpected key in source state_dict: fc.weight, fc.bias", "absent"),
        ("unexpected key in source state_dict: layer1.0.weight", "present"),
        ("Some weights were newly initialized", "present"),
    ],
)
def test_a_new_head_is_no_sign_of_trouble(text: str, expected: str) -> None:
    """Fine-tuning always starts a new head; anything in the body counts."""
    event = Event("weights-newly-initialized", "log.txt", 7, text=text)

    assert state("log-weights-newly-initialized", run(events=[event])) == expected


def test_how_the_run_ended() -> None:
    """An exception at the end, exit code 0 or the planned end, or nothing known."""
    crash = Event("traceback", "log.txt", 99, text="RuntimeError: boom", data="RuntimeError")
    early = Event("traceback", "log.txt", 10, text="RuntimeError: boom", data="RuntimeError")
    stopped = Event("traceback", "log.txt", 99, text="KeyboardInterrupt", data="KeyboardInterrupt")
    curve = series("train/loss", LOSS)

    assert state("run-crashed", run([curve], events=[crash])) == "present"
    assert state("run-crashed", run(events=[Event("exit", "x", value=1.0)])) == "present"
    assert state("run-crashed", run([curve], events=[early])) == "unknown"
    assert state("run-crashed", run([curve], events=[stopped])) == "unknown"
    assert state("run-crashed", run([curve], {"max_steps": 50})) == "absent"
    assert state("run-crashed", run(events=[Event("exit", "x", value=0.0)])) == "absent"


@pytest.mark.parametrize(
    ("settings", "curve", "expected"),
    [
        ({"max_steps": 50}, {}, "absent"),
        ({"max_steps": 51}, {}, "absent"),
        ({"max_steps": 500}, {}, "present"),
        ({"epochs": 50}, {"unit": "epoch"}, "absent"),
        ({"epochs": 50}, {"unit": "epoch", "steps": np.arange(50)}, "absent"),
        ({"epochs": 90}, {"unit": "epoch"}, "present"),
        ({"epochs": 3}, {"epochs": np.linspace(0.06, 3.0, 50)}, "absent"),
        ({"epochs": 5}, {"epochs": np.linspace(0.06, 3.0, 50)}, "present"),
        ({"epochs": 90}, {}, "unknown"),
        ({"epochs": 90, "max_steps": -1}, {}, "unknown"),
        ({}, {}, "unknown"),
    ],
)
def test_whether_the_run_reached_its_end(
    settings: dict[str, Any], curve: dict[str, Any], expected: str
) -> None:
    """The planned length counts in the unit of the log only; counting from zero is understood."""
    assert state("run-unfinished", run([series("train/loss", LOSS, **curve)], settings)) == expected


def test_early_stopping_is_a_reason_to_stop() -> None:
    """A run that may stop early is not called unfinished."""
    given = written({"max_steps": 500, "early_stopping_patience": 3}, [series("train/loss", LOSS)])

    assert state("run-unfinished", given) == "unknown"


def test_whether_the_run_was_resumed() -> None:
    """The log says so; it begins at the beginning; or it begins somewhere in the middle."""
    event = Event("rewind", "log.txt", 30, step=20.0, text="the step goes back")

    assert state("run-resumed", run([series("train/loss", LOSS)], events=[event])) == "present"
    assert state("run-resumed", run([series("train/loss", LOSS)])) == "absent"
    assert state("run-resumed", run([series("train/loss", LOSS, steps=np.arange(50) + 5000)])) == "unknown"
    assert state("run-resumed", run()) == "unknown"
    rates = np.tile(np.minimum(1.0, (np.arange(25) + 1) / 5) * (1 - np.arange(25) / 50), 2)
    anew = [series("train/loss", LOSS), series("learning_rate", rates)]
    assert state("run-resumed", run(anew)) == "unknown"


# ------------------------------------------------------------------------------------------------- ranks


def ranks(name: str, *values: Any, **rest: Any) -> Run:
    made = {k: {name: series(name, v, rank=k, file=f"rank{k}.log")} for k, v in enumerate(values)}
    return run(ranks=made, **rest)


NORM = 1.0 + 0.1 * RNG.normal(size=50)


def test_ranks_that_must_agree() -> None:
    """Gradient norms after the exchange are equal on all ranks, or replicas drift."""
    assert state("ranks-diverge", ranks("grad_norm", NORM, NORM * 1.02)) == "present"
    assert state("ranks-diverge", ranks("grad_norm", NORM, NORM * (1 + 1e-5))) == "absent"
    assert state("ranks-diverge", ranks("weight_sum", -NORM, -NORM * 1.02)) == "present"
    assert state("ranks-diverge", ranks("weight_sum", -NORM, -NORM)) == "absent"
    assert state("ranks-diverge", ranks("train/loss", LOSS, LOSS * 1.1)) == "unknown"
    assert state("ranks-diverge", ranks("learning_rate", NORM, NORM)) == "unknown"  # shares nothing
    assert state("ranks-diverge", run()) == "unknown"


def test_ranks_that_drift_later_say_when() -> None:
    """The first step at which ranks part is named."""
    drift = NORM * np.where(np.arange(50) < 30, 1.0, 1.1)

    assert reading("logs", "ranks-diverge", ranks("grad_norm", NORM, drift)).step == 31.0


def test_weights_that_part_after_they_were_equal() -> None:
    """Sums of weights that agree to the last digit and then differ in it; parts of a model never agree."""
    apart = NORM * np.where(np.arange(50) < 30, 1.0, 1 + 1e-6)
    again = NORM * np.where(np.arange(50) == 30, 1 + 1e-6, 1.0)

    assert reading("logs", "ranks-weights-part", ranks("weight_sum", NORM, apart)).step == 31.0
    assert state("ranks-weights-part", ranks("weight_sum", NORM, again)) == "absent"
    assert state("ranks-weights-part", ranks("weight_sum", NORM, NORM * (1 + 1e-6))) == "absent"
    assert state("ranks-weights-part", ranks("grad_norm", NORM, apart)) == "unknown"


def test_one_rank_whose_own_gradient_leaps() -> None:
    """Twice and more, a hundredfold, and on one rank alone: bad samples come to every rank."""
    leaps = NORM * np.where(np.isin(np.arange(50), (12, 31)), 1e4, 1.0)
    once = NORM * np.where(np.arange(50) == 12, 1e4, 1.0)

    found = reading("logs", "one-rank-leaps", ranks("grad_norm_of_rank", NORM, NORM, leaps, NORM))

    assert (found.state, found.step, found.where[0].file) == ("present", 13.0, "rank2.log")
    assert state("one-rank-leaps", ranks("grad_norm", NORM, NORM, leaps, NORM)) == "present"
    assert state("one-rank-leaps", ranks("grad_norm_of_rank", NORM, NORM, once, NORM)) == "absent"
    assert state("one-rank-leaps", ranks("grad_norm_of_rank", NORM, leaps, leaps, NORM)) == "absent"
    assert state("one-rank-leaps", ranks("grad_norm_of_rank", NORM, 1e4 * NORM, NORM, NORM)) == "absent"
    assert state("one-rank-leaps", ranks("grad_norm_of_rank", NORM, leaps)) == "unknown"


def test_ranks_that_start_apart() -> None:
    """First losses scatter with the data, but not by half their size; weight norms not at all."""
    assert state("ranks-first-loss-differs", ranks("train/loss", LOSS, LOSS * 3)) == "present"
    assert state("ranks-first-loss-differs", ranks("train/loss", LOSS, LOSS * 1.1)) == "unknown"
    assert state("ranks-first-loss-differs", ranks("train/loss", LOSS, LOSS)) == "absent"
    assert state("ranks-first-loss-differs", ranks("weight_norm", NORM, NORM)) == "absent"
    assert state("ranks-first-loss-differs", ranks("weight_norm", NORM, NORM * 1.1)) == "present"
    assert state("ranks-first-loss-differs", ranks("train/loss", [np.nan, 1.0], [1.0, 1.0])) == "unknown"
    assert state("ranks-first-loss-differs", run()) == "unknown"


def test_ranks_that_exchange_no_gradients() -> None:
    """After an exchange the norm is one on all ranks; one that differs at a few steps tells nothing."""
    once = np.where(np.arange(50) == 7, NORM * 1.1, NORM)

    assert state("ranks-gradients-differ", ranks("grad_norm", NORM, NORM * 1.1)) == "present"
    assert state("ranks-gradients-differ", ranks("grad_norm", NORM, NORM)) == "absent"
    assert state("ranks-gradients-differ", ranks("grad_norm", NORM, once)) == "unknown"
    assert state("ranks-gradients-differ", ranks("train/loss", NORM, NORM * 1.1)) == "unknown"


def test_weights_of_ranks_without_exchange_tell_nothing_of_the_start() -> None:
    """Norms of the weights that are first logged after updates have parted by then."""
    late = np.arange(20.0, 70.0)

    def logged(grads: Any) -> Run:
        both = (
            {
                "weight_norm": series("weight_norm", NORM * f, late, rank=i, file=f"rank{i}.log"),
                "grad_norm": series("grad_norm", g, late, rank=i, file=f"rank{i}.log"),
            }
            for i, (f, g) in enumerate(zip((1.0, 1.1), grads, strict=True))
        )
        return run(ranks=dict(enumerate(both)))

    assert state("ranks-first-loss-differs", logged((NORM, NORM * 1.1))) == "unknown"
    assert state("ranks-first-loss-differs", logged((NORM, NORM))) == "present"


def test_weights_that_part_as_training_goes_on_tell_nothing_of_the_start() -> None:
    """First logged after some updates, 0.2 % apart, and later five times as much."""
    late = np.arange(20.0, 70.0)
    near = np.where(np.arange(50) == 0, 1.002, 1.01)

    def logged(factor: Any) -> Run:
        both = enumerate((NORM, NORM * factor))
        curves = {i: series("weight_norm", v, late, rank=i, file=f"r{i}") for i, v in both}
        return run(ranks={i: {"weight_norm": c} for i, c in curves.items()})

    assert state("ranks-first-loss-differs", logged(near)) == "unknown"
    assert state("ranks-first-loss-differs", logged(np.full(50, 1.01))) == "present"
    assert state("ranks-first-loss-differs", logged(np.ones(50))) == "absent"


def test_ranks_that_evaluate_differently() -> None:
    """Results differ at every evaluation, or agree; a single differing one is no sign."""
    once = np.where(np.arange(50) == 7, LOSS * 1.1, LOSS)

    assert state("ranks-eval-differs", ranks("eval/loss", LOSS, LOSS * 1.01)) == "present"
    assert state("ranks-eval-differs", ranks("eval/loss", LOSS, LOSS)) == "absent"
    assert state("ranks-eval-differs", ranks("eval/loss", LOSS, once)) == "absent"
    assert state("ranks-eval-differs", ranks("train/loss", LOSS, LOSS * 1.01)) == "unknown"


def test_one_rank_alone() -> None:
    """NaN on one rank, or one of four far from the others; two ranks cannot name an outlier."""
    bad = np.where(np.arange(50) < 40, LOSS, np.nan)
    noisy = [LOSS * (1 + 0.01 * RNG.normal(size=50)) for _ in range(4)]

    found = reading("logs", "one-rank-bad", ranks("train/loss", LOSS, LOSS * 1.01, bad))

    assert (found.state, found.step) == ("present", 41.0)
    assert found.where[0].file == "rank2.log"
    assert state("one-rank-bad", ranks("train/loss", *noisy[:3], LOSS * 3)) == "present"
    assert state("one-rank-bad", ranks("train/loss", *noisy)) == "absent"
    assert state("one-rank-bad", ranks("train/loss", bad, bad, bad)) == "absent"
    assert state("one-rank-bad", ranks("train/loss", LOSS[:3], LOSS[:3])) == "unknown"
    assert state("one-rank-bad", run()) == "unknown"


def test_ranks_that_see_the_same_samples() -> None:
    """Identical losses at every step, unless the framework averages them before logging."""
    assert state("ranks-see-same-data", ranks("train/loss", LOSS, LOSS)) == "present"
    assert state("ranks-see-same-data", ranks("train/loss", LOSS, LOSS + 0.01)) == "absent"
    assert (
        state("ranks-see-same-data", ranks("train/loss", LOSS, LOSS, facts={"framework": "megatron"}))
        == "unknown"
    )
    assert state("ranks-see-same-data", ranks("train/loss", LOSS[:3], LOSS[:3])) == "unknown"
    shared = {k: {"train/loss": series("train/loss", LOSS, rank=k, raw="global_loss")} for k in (0, 1)}
    assert state("ranks-see-same-data", run(ranks=shared)) == "unknown"
    assert state("ranks-see-same-data", run()) == "unknown"


def test_an_index_out_of_range() -> None:
    """The exception tells: an index error is present, another one absent, none at all unknown."""
    index = Event("traceback", "x.log", data="IndexError", text="IndexError: Target 7 is out of bounds.")
    slip = Event("traceback", "x.log", data="IndexError", text="IndexError: list index out of range")
    other = Event("traceback", "x.log", data="ValueError", text="ValueError: bad shape")

    assert state("log-index-out-of-range", run(events=[index])) == "present"
    assert state("log-index-out-of-range", run(events=[other])) == "absent"
    assert state("log-index-out-of-range", run(events=[slip])) == "absent"  # of the program itself
    assert state("log-index-out-of-range", run()) == "unknown"


def test_an_embedding_without_a_row() -> None:
    """PyTorch words a lookup in an embedding in its own way; a label out of bounds is something else."""
    lookup = Event(
        "traceback", "log.txt", 99, text="IndexError: index out of range in self", data="IndexError"
    )
    label = Event(
        "traceback", "log.txt", 99, text="IndexError: Target 6 is out of bounds.", data="IndexError"
    )

    assert state("log-row-out-of-range", run(events=[lookup])) == "present"
    assert state("log-row-out-of-range", run(events=[label])) == "absent"
    assert state("log-row-out-of-range", run()) == "unknown"
    assert state("log-index-out-of-range", run(events=[lookup])) == "absent"


def _counted(**facts: float) -> Run:
    return run(facts={f"parameters_{k}": v for k, v in facts.items()})


def test_few_parameters_that_train_are_seen_unless_adapters_train() -> None:
    """A small share is present, all of them absent; adapters and logs without counts are unknown."""
    asked = "log-few-parameters-train"
    assert state(asked, _counted(trainable=2048, frozen=25_634_664)) == "present"
    assert state(asked, _counted(trainable=0)) == "present"
    assert state(asked, _counted(trainable=5130, total=11_173_962)) == "present"
    assert state(asked, _counted(trainable=11_000_000, total=11_173_962)) == "absent"
    assert state(asked, _counted(trainable=2048)) == "unknown"
    assert state(asked, run([series("train/loss", LOSS)])) == "unknown"
    with_adapters = run(settings={"lora_r": 8}, facts={"parameters_trainable": 9.0, "parameters_total": 1e6})
    assert state(asked, with_adapters) == "unknown"
    said = Event("known-warning", "log.txt", 1, text="trainable params: 0", data="nothing-trainable")
    assert state(asked, run(events=[said], facts={"parameters_trainable": 0.0})) == "unknown"


def test_a_loss_that_ends_within_the_first_epoch_is_told_from_one_that_ends_later() -> None:
    """Within the first epoch present, after a whole one absent; no NaN or no epochs unknown."""
    from traindoctor.engine.model import State
    from traindoctor.probes.curves import epochs
    from traindoctor.probes.registry import View

    def found(first: int, settings: dict[str, Any] | None = None) -> State:
        values = np.where(np.arange(60) < first, LOSS.mean(), np.nan)
        given = run([series("train/loss", values)], settings or {"steps_per_epoch": 20})
        return epochs.not_finite_in_first_epoch(View(given, None)).state

    assert found(12) is State.PRESENT
    assert found(45) is State.ABSENT
    assert found(60) is State.UNKNOWN
    assert found(0) is State.UNKNOWN
    assert found(12, {"seed": 1}) is State.UNKNOWN


@pytest.mark.parametrize(
    ("symptom", "text"),
    [
        (
            "ended-schedule-exhausted",
            "ValueError: Tried to step 136 times. The specified number of total steps is 135",
        ),
        ("ended-outputs-not-probabilities", "RuntimeError: all elements of input should be between 0 and 1"),
        ("ended-targets-not-in-range", "RuntimeError: all elements of target should be between 0 and 1"),
        (
            "ended-norm-single-value",
            "ValueError: Expected more than 1 value per channel when training, got [1, 64]",
        ),
        ("ended-loss-not-scalar", "RuntimeError: grad can be implicitly created only for scalar outputs"),
        ("ended-scaler-order", "AssertionError: No inf checks were recorded for this optimizer."),
    ],
)
def test_exceptions_that_name_the_fault(symptom: str, text: str) -> None:
    """The exception tells; another one is absent, none at all unknown."""
    end = Event("traceback", "x.log", data=text.split(":")[0], text=text)
    other = Event("traceback", "x.log", data="KeyError", text="KeyError: 'label'")

    assert reading("ended", symptom, run(events=[end])).state == "present"
    assert reading("ended", symptom, run(events=[other])).state == "absent"
    assert reading("ended", symptom, run()).state == "unknown"


def test_messages_that_the_run_refutes() -> None:
    """Nothing trains, says a log, and the loss falls; a single target is no wrong pair."""
    said = Event("known-warning", "log.txt", 1, text="trainable params: 0", data="nothing-trainable")
    falls, stands = np.linspace(2.0, 0.5, 40), np.full(40, 2.0)
    for losses, expected in ((falls, "unknown"), (stands, "present")):
        assert state("log-nothing-trainable", run([series("train/loss", losses)], events=[said])) == expected
    for target, given, expected in (
        ("[1]", "[]", "unknown"),
        ("[]", "[64, 1]", "unknown"),
        ("[64]", "[64, 1]", "present"),
        ("[32, 10]", "[32, 1]", "present"),
    ):
        sizes = f"(torch.Size({target})) that is different to the input size (torch.Size({given}))."
        text = f"Using a target size {sizes}"
        event = Event("shape-broadcast", "log.txt", 1, text=text)
        assert state("log-shape-broadcast", run(events=[event])) == expected


def test_what_comes_after_the_end_ended_nothing() -> None:
    """An exception after the words that training is over, or before its curve, is not its end."""
    raised = Event(
        "traceback", "log.txt", 90, text="IndexError: index out of range in self", data="IndexError"
    )
    over = Event("finished", "log.txt", 80, text="Training finished.")
    losses = series("train/loss", LOSS)
    assert state("log-row-out-of-range", run([losses], events=[raised])) == "present"
    assert state("log-row-out-of-range", run([losses], events=[over, raised])) != "present"
    assert state("run-crashed", run([losses], events=[over, raised])) == "absent"
    halfway = run([losses], {"max_steps": 10 * len(LOSS)}, events=[over, raised])
    assert state("run-crashed", halfway) == "present"


@pytest.mark.parametrize(
    ("model", "names", "expected"),
    [
        ("BertModel", "encoder.layer.{n}.output.dense.weight encoder.layer.{n}.output.dense.bias", "present"),
        (
            "DetrForObjectDetection",
            "model.decoder.layers.{n}.fc1.weight model.decoder.layers.{n}.fc2.weight",
            "absent",
        ),
        ("LongformerModel", "encoder.layer.{n}.attention.self.query_global.weight", "absent"),
    ],
)
def test_layers_that_may_begin_anew(model: str, names: str, expected: str) -> None:
    """Decoders of detectors, copies for a global attention and layers beyond the checkpoint begin anew."""
    for first, wanted in ((0, expected), (24, "absent")):
        named = [one.format(n=n) for one in names.split() for n in (first, first + 1)]
        text = f"Some weights of {model} were not initialized from x and are newly initialized: {named}"
        event = Event("weights-newly-initialized", "log.txt", 1, text=text)
        assert state("log-layers-drawn-anew", run(events=[event])) == wanted


def test_norms_of_parts_of_a_model_need_not_agree() -> None:
    """What differs in size from the start is of parts; copies without exchange scatter about one size."""
    apart = [NORM * f for f in (1.0, 1.3, 1.7)]
    alone = [NORM, np.roll(NORM, 7), np.roll(NORM, 19)]
    for symptom, name in (("ranks-diverge", "grad_norm"), ("ranks-gradients-differ", "grad_norm")):
        assert state(symptom, ranks(name, *apart)) == "unknown"
        assert state(symptom, ranks(name, *alone)) == "present"
    assert state("ranks-first-loss-differs", ranks("weight_norm", *apart)) == "unknown"
    assert state("ranks-diverge", ranks("weight_norm", *apart)) == "unknown"


def test_a_stage_without_a_loss_is_no_bad_rank() -> None:
    """Only the last stage of a pipeline has a loss; one that has had one and lost it is bad."""
    lost = np.where(np.arange(len(LOSS)) < 9, LOSS, np.nan)
    assert state("one-rank-bad", ranks("train/loss", LOSS, LOSS, LOSS * np.nan)) != "present"
    assert state("one-rank-bad", ranks("train/loss", LOSS, LOSS, lost)) == "present"
