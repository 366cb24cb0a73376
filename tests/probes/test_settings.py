"""Canonical settings: names, values, trust, what follows from what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.probes.run import Event, Setting
from traindoctor.probes.settings import (
    candidates,
    canonical_key,
    class_counts,
    is_harmless,
    make_table,
    number,
    resolve,
    same,
    table,
)


def setting(key: str, value: object, trust: int = 50, file: str = "config.yaml", line: int = 1) -> Setting:
    return Setting(key, value, file, line, trust)  # type: ignore[arg-type]


def in_force(*rows: tuple[str, object], facts: dict[str, object] | None = None) -> dict[str, object]:
    made = [setting(k, v, line=n) for n, (k, v) in enumerate(rows, 1)]
    return {k: c.value for k, c in resolve(made, (), facts).items()}  # type: ignore[arg-type]


def test_no_name_means_two_settings() -> None:
    """Every word belongs to one canonical setting, and is in the form that keys are brought to."""
    rows = [(w, key) for w, (key, _) in table().words.items()]

    assert len(rows) == len({w for w, _ in rows})
    assert all(w == w.lower() and "-" not in w for w, _ in rows)
    assert set(table().hyperparameters) <= set(table().specs)
    assert all(set(d) <= set(table().specs) for d in table().defaults.values())


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        ("--lr", "learning_rate"),
        ("learning-rate", "learning_rate"),
        ("learningRate", "learning_rate"),
        ("SOLVER.BASE_LR", "learning_rate"),
        ("optimizer.params.lr", "learning_rate"),
        ("lr_schedule.learning_rate", "learning_rate"),
        ("optimizer.type", "optimizer"),
        ("optim", "optimizer"),
        ("runner_config.batch_size", "batch_size"),
        ("per_device_train_batch_size", "batch_size"),
        ("optim_wrapper.clip_grad.max_norm", "max_grad_norm"),
        ("zero_optimization.stage", "zero_stage"),
        ("fp16.initial_scale_power", "initial_scale_power"),
        ("train_dataset.data_loader.shuffle", "shuffle"),
    ],
)
def test_names_of_frameworks_are_known(raw: str, key: str) -> None:
    """Aliases are found by the longest dotted end, in any spelling."""
    found = canonical_key(raw)

    assert found is not None
    assert found[0] == key


@pytest.mark.parametrize(
    "raw",
    [
        "eval_dataset.data_loader.shuffle",
        "val.batch_size",
        "teacher.lr",
        "callbacks.0.type",
        "foo",
        "",
        "lr.note",
    ],
)
def test_settings_of_something_else_are_left_alone(raw: str) -> None:
    """What stands below evaluation, teachers or callbacks is not the training setting of that name."""
    assert canonical_key(raw) is None


@pytest.mark.parametrize(
    ("key", "raw", "value"),
    [
        ("lr", "1e-5", 1e-5),
        ("lr", "3", 3),
        ("optim", "adamw_torch_fused", "adamw"),
        ("optim", "paged_adamw_8bit", "adamw"),
        ("optim", "distributed_fused_adam", "adam"),
        ("optim", "Adam8bit", "adam"),
        ("optimizer", "torch.optim.SGD", "sgd"),
        ("optimizer", "Momentum", "sgd"),
        ("optimizer", "FusedAdam", "adam"),
        ("optimizer", "AdamWeightDecay", "adamweightdecay"),
        ("lr_scheduler_type", "cosine_with_restarts", "cosine-restarts"),
        ("scheduler", "CosineAnnealingLR", "cosine"),
        ("scheduler", "MultiStepLR", "multistep"),
        ("scheduler", "get_linear_schedule_with_warmup", "linear"),
        ("precision", "16-mixed", "fp16"),
        ("precision", 32, "fp32"),
        ("precision", "bf16-mixed", "bf16"),
        ("hidden_act", "gelu_new", "gelu-tanh"),
        ("norm_layer", "nn.BatchNorm2d", "batchnorm"),
        ("loss_scale", "dynamic", "dynamic"),
        ("loss_scale", 0, "dynamic"),
        ("shuffle", "False", False),
        ("shuffle", 10000, True),
        ("clip_grad", None, None),
        ("milestones", "[30, 60]", (30, 60)),
        ("pretrained", "none", False),
        ("dataset", "/data/ImageNet/", "imagenet"),
    ],
)
def test_values_are_brought_to_one_form(key: str, raw: object, value: object) -> None:
    """Numbers written as text, class names and framework spellings end as one value."""
    found = candidates([setting(key, raw)])

    assert next(iter(found.values()))[0].value == value


@pytest.mark.parametrize("value", ["auto", "${oc.env:LR}", "***", None, True, "abc", (1, "x")])
def test_values_that_say_nothing_are_left_out(value: object) -> None:
    """Automatic, interpolated, hidden and foreign values are as if they had not been written."""
    assert in_force(("lr", value)) == {}


def test_the_most_trusted_source_wins() -> None:
    """Recorded arguments beat a file that lies there; the last of equals wins within a file."""
    rows = [setting("lr", 0.1, 50), setting("learning_rate", 0.2, 90, "args.json"), setting("lr", 0.3, 50)]

    assert resolve(rows)["learning_rate"].value == 0.2
    assert resolve(rows)["learning_rate"].file == "args.json"
    assert resolve([rows[0], rows[2]])["learning_rate"].value == 0.3
    assert [c.value for c in candidates(rows)["learning_rate"]] == [0.2, 0.3, 0.1]


def test_settings_that_follow_from_others() -> None:
    """Precision, global batch, world size, betas, keep probability and scale power are derived."""
    found = in_force(
        ("fp16", True),
        ("per_device_train_batch_size", 8),
        ("gradient_accumulation_steps", "4"),
        ("nproc_per_node", 8),
        ("nnodes", 2),
        ("betas", (0.9, 0.95)),
        ("keep_prob", 0.9),
        ("initial_scale_power", 16),
    )

    assert found["precision"] == "fp16"
    assert found["world_size"] == 16
    assert found["global_batch_size"] == 8 * 4 * 16
    assert (found["adam_beta1"], found["adam_beta2"]) == (0.9, 0.95)
    assert found["dropout"] == pytest.approx(0.1)
    assert found["initial_loss_scale"] == 65536


@pytest.mark.parametrize(
    ("rows", "precision"),
    [
        ([("fp16", False), ("bf16", True)], "bf16"),
        ([("fp16", False), ("bf16", False)], "fp32"),
        ([("amp_level", "O2")], "fp16"),
        ([("amp_level", "O0")], "fp32"),
        ([("mixed_precision", "no")], "fp32"),
        ([("amp", True), ("amp_dtype", "bfloat16")], "bf16"),
        ([("amp", True)], "fp16"),
        ([("amp", True), ("device", "cpu")], None),
        ([("torch_dtype", "float32")], None),
        ([("fp16.enabled", False), ("bf16.enabled", True)], "bf16"),
    ],
)
def test_the_number_format_is_derived_from_any_flags(
    rows: list[tuple[str, object]], precision: str | None
) -> None:
    """Flags of all frameworks end in one word; a checkpoint's stored dtype alone says nothing."""
    assert in_force(*rows).get("precision") == precision


def test_training_all_weights_is_no_adapter() -> None:
    """LLaMA-Factory names it beside its adapters."""
    assert "adapter" not in in_force(("finetuning_type", "full"))
    assert in_force(("finetuning_type", "lora"))["adapter"] == "lora"


def test_a_block_that_is_switched_off_says_nothing() -> None:
    """DeepSpeed's fp16 block with enabled: false has no loss scale in force."""
    assert "loss_scale" not in in_force(("fp16.enabled", False), ("fp16.loss_scale", 128))
    assert in_force(("fp16.enabled", True), ("fp16.loss_scale", 128))["loss_scale"] == 128


def test_deepspeed_calls_the_global_batch_train_batch_size() -> None:
    """The same key means one device's batch elsewhere."""
    assert in_force(("zero_optimization.stage", 2), ("train_batch_size", 64))["global_batch_size"] == 64
    assert in_force(("train_batch_size", 64))["batch_size"] == 64


MEGATRON = (("micro_batch_size", 4), ("global_batch_size", 64))


@pytest.mark.parametrize(
    ("more", "steps"),
    [
        ([("world_size", 8)], 2),
        ([("world_size", 8), ("tensor_model_parallel_size", 1)], 2),
        ([("world_size", 8), ("tensor_model_parallel_size", 2)], None),
        ([("world_size", 8), ("tensor_model_parallel_size", 2), ("data_parallel_size", 4)], 4),
        ([("world_size", 7)], None),
        ([], None),
    ],
)
def test_megatron_accumulates_what_lies_between_its_batches(
    more: list[tuple[str, int]], steps: int | None
) -> None:
    """The global batch is so many micro batches of all replicas; unknown where the replicas are."""
    assert in_force(*MEGATRON, *more).get("gradient_accumulation_steps") == steps


def test_mindformers_scale_block_is_dynamic() -> None:
    """A dynamic scale sense starts at the value that is written."""
    found = in_force(
        ("runner_wrapper.scale_sense.type", "DynamicLossScaleUpdateCell"),
        ("runner_wrapper.scale_sense.loss_scale_value", 65536),
    )

    assert (found["loss_scale"], found["initial_loss_scale"]) == ("dynamic", 65536)


def test_a_switch_that_says_no_is_negated() -> None:
    """--no-shuffle is shuffle: False."""
    assert in_force(("no_shuffle", True))["shuffle"] is False
    assert in_force(("use_clip_grad", False), ("max_grad_norm", 1.0))["max_grad_norm"] is None


def test_yolo_ignores_lr0_with_an_automatic_optimizer() -> None:
    """optimizer: auto chooses the learning rate itself."""
    found = in_force(("optimizer", "auto"), ("lr0", 0.01), ("cos_lr", False))

    assert "learning_rate" not in found
    assert found["lr_scheduler"] == "linear"


def test_class_counts_give_classes_and_samples() -> None:
    """Recorded counts per class are the data's number of classes and their sum the training set."""
    rows = [
        setting("class_counts.cat", 10),
        setting("class_counts.dog", 30),
        setting("val.class_counts.cat", 99),
    ]

    counts = class_counts(rows)

    assert counts is not None
    assert counts[0] == (10.0, 30.0)
    assert resolve(rows)["data_num_classes"].value == 2
    assert resolve(rows)["train_samples"].value == 40


def test_the_log_fills_in_the_number_of_processes() -> None:
    """A world size that only the log tells is used, with little trust."""
    found = resolve([setting("batch_size", 8)], (), {"world_size": 4})

    assert found["global_batch_size"].value == 32
    assert found["world_size"].trust < 50


def test_a_resume_in_the_log_is_a_setting() -> None:
    """The log's word stands in where no configuration names a checkpoint."""
    assert resolve([], [Event("resume", "log.txt", 3)])["resume_from"].value is True


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_finite_number_survives_as_text(value: float) -> None:
    """Writing a number and reading it gives the number."""
    assert number(repr(value)) == value


@given(
    st.text(max_size=30),
    st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=10), st.integers()),
)
def test_anything_can_be_resolved(key: str, value: object) -> None:
    """No key and no value makes resolve fail."""
    resolve([setting(key, value), setting(f"x.{key}", (value,))])


def test_equality_of_values() -> None:
    """Numbers are compared as numbers, truth values only with truth values."""
    assert same(1e-5, "0.00001")
    assert same((1, 2), (1.0, 2.0))
    assert same(float("nan"), float("nan"))
    assert not same(True, 1)
    assert not same((1, 2), (1, 2, 3))


def test_paths_and_names_are_harmless() -> None:
    """What cannot change a result is known by its name."""
    assert all(
        map(is_harmless, ("output_dir", "run_name", "wandb.project", "train_data_path", "log_interval"))
    )
    assert not is_harmless("mosaic")
    assert not is_harmless("lr")


def test_a_table_can_be_given() -> None:
    """The table is made of plain data."""
    made = make_table(
        {"settings": {"a": {"kind": "number", "words": ["x"]}}, "elsewhere": [], "harmless": []}
    )

    assert made.words == {"x": ("a", 0)}


def test_what_a_log_says_in_passing_stands_in() -> None:
    facts: dict[str, object] = {"epochs_planned": 20, "samples_train": 500, "samples_eval": 50}
    found = in_force(("n_train", 800), facts=facts)
    assert (found["epochs"], found["train_samples"], found["eval_samples"]) == (20, 800, 50)
    assert "epochs" not in in_force(("n_train", 800))


def test_a_list_of_sample_counts_is_summed() -> None:
    """One count per class, site or file; the first of them is not all."""
    assert in_force(("num_train", (1500, 710, 90)))["train_samples"] == 2300
    assert in_force(("num_train", 1500))["train_samples"] == 1500


def test_class_names_tell_the_number_of_classes_and_whose_counts_they_are() -> None:
    names = setting("data.class_names", ("cat", "dog", "owl"))
    assert in_force(("data.class_names", ("cat", "dog", "owl")))["num_classes"] == 3
    assert in_force(("data.class_names", ("cat", "dog")), ("num_classes", 5))["num_classes"] == 5
    assert "num_classes" not in in_force(("data.class_names", "names.txt"))
    assert class_counts([names, setting("num_train", (500, 20, 10))]) is not None
    assert class_counts([names, setting("num_train", (500, 20))]) is None


def test_counted_classes_stand_in_for_those_of_the_model() -> None:
    found = in_force(("class_counts.cat", 50), ("class_counts.dog", 5))
    assert (found["num_classes"], found["data_num_classes"]) == (2, 2)


def test_what_is_evaluated_on_has_settings_of_its_own() -> None:
    """Paddle's readers, loaders and pipelines of held-out data, whatever their names look like."""
    rows = (("TrainReader.batch_size", 2), ("EvalReader.batch_size", 8), ("TestReader.shuffle", False))
    assert in_force(*rows)["batch_size"] == 2
    assert "shuffle" not in in_force(*rows)
    assert "batch_size" not in in_force(("val_input_pipeline.batch_size", 8))


def test_batches_in_tokens_are_no_samples() -> None:
    """OpenNMT and Sockeye say in what a batch is counted."""
    found = in_force(("batch_type", "tokens"), ("batch_size", 4096))
    assert found["batch_tokens"] == 4096
    assert "batch_size" not in found
    assert in_force(("batch_type", "sents"), ("batch_size", 64))["batch_size"] == 64


def test_layers_are_no_penalties() -> None:
    """l1 and l2 may be the layers of a net, as in Ray's tutorial."""
    assert "weight_decay" not in in_force(("l1", 128), ("l2", 64), ("lr", 0.1))
    assert in_force(("l1", 0.0), ("l2", 3), ("lr", 0.1))["weight_decay"] == 3
    assert in_force(("l2", 0.01))["weight_decay"] == 0.01


def test_words_of_policy_optimisation_mean_other_things() -> None:
    """gamma is the discount there, n_steps counts steps of an environment."""
    found = in_force(("gamma", 0.99), ("n_steps", 512), ("gae_lambda", 0.95), ("learning_rate", 1e-4))
    assert found == {"learning_rate": 1e-4}
    assert in_force(("gamma", 0.1), ("n_steps", 512))["max_steps"] == 512


def test_a_class_of_a_package_of_optimizers_is_the_optimizer() -> None:
    """SpeechBrain and litGPT name it below keys of their own; a schedule of that package is none."""
    assert in_force(("model_opt_class._target_", "torch.optim.Adadelta"))["optimizer"] == "adadelta"
    assert in_force(("G_opt_kwargs.class_name", "torch.optim.Adam"))["optimizer"] == "adam"
    assert "optimizer" not in in_force(("sched.class_path", "torch.optim.lr_scheduler.StepLR"))


def test_a_learner_may_be_another_thing_than_an_optimizer() -> None:
    """RecBole calls its optimizer so, PyMARL the algorithm."""
    assert in_force(("learner", "adam"))["optimizer"] == "adam"
    assert "optimizer" not in in_force(("learner", "q_learner"))


def test_a_share_is_no_rank_of_adapters() -> None:
    """`-r 0.1` of some programs is a learning rate."""
    assert "lora_rank" not in in_force(("r", 0.1))
    assert in_force(("r", 16))["lora_rank"] == 16
