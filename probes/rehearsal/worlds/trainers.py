"""Trainers that are handed a network in a rehearsal: Hugging Face's `Trainer`, DeepSpeed's engine."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..journal import Saved
from ..libraries import Call, base, function, method
from ..objects import Namespace
from ..statements import EPOCHS
from ..values import Instance, Loader, Net, Optimizer, Routine, State, Tensor, Thing, Unknown
from .graph import backward
from .lightning import divided, evaluating, hook
from .mindspore import round_of, switched
from .tensors import joined
from .training import step

if TYPE_CHECKING:
    from ..machine import Machine

Named = dict[str, Any]
_HF = ("transformers.", "sentence_transformers.", "trl.", "peft.")
_NAMES = ("model", "args", "data_collator", "train_dataset", "eval_dataset")


@dataclass(eq=False)
class Arguments(Thing):
    """`TrainingArguments`."""


@function("TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", of=_HF)
def _arguments(call: Call) -> Any:
    return Arguments(fields=dict(call.named))


@dataclass(eq=False)
class HFTrainer(Thing):
    """Hugging Face's `Trainer`, not derived from by the program."""

    given: Named = field(default_factory=dict)


@function("Trainer", "Seq2SeqTrainer", "SFTTrainer", of=_HF)
def _trainer(call: Call) -> Any:
    given = {**dict(zip(_NAMES, call.given, strict=False)), **call.named}
    return HFTrainer(given=given, fields=_fields(call.machine, given, call.node))


@base("Trainer", "Seq2SeqTrainer", "SFTTrainer", of=_HF)
def _derived(machine: Machine, made: Any, given: list[Any], named: Named, node: ast.AST) -> None:
    held = {**dict(zip(_NAMES, given, strict=False)), **named}
    made.attributes["<given>"] = held
    made.attributes.update(_fields(machine, held, node))


def _fields(machine: Machine, given: Named, node: ast.AST) -> Named:
    model = given.get("model")
    if model is None and given.get("model_init") is not None:
        model = given["model"] = machine.call(given["model_init"], [], {}, node)
    return {**given, "model": model, "state": Namespace(), "optimizer": None, "lr_scheduler": None}


def _of(owner: Any, name: str) -> Any:
    held = owner.attributes.get("<given>", {}) if isinstance(owner, Instance) else owner.given
    return held.get(name)


def _is_trainer(owner: Any) -> bool:
    return isinstance(owner, HFTrainer) or (isinstance(owner, Instance) and "<given>" in owner.attributes)


# ------------------------------------------------------------------------------------ train


@method(Instance, "train")
@method(HFTrainer, "train")
def _trained(call: Call) -> Any:
    owner, machine, node = call.callee.owner, call.machine, call.node
    if not _is_trainer(owner):
        return NotImplemented
    model = _of(owner, "model")
    if not isinstance(model, Net):
        return Unknown("train")
    data = _loader(machine, owner, "train", node)
    optimizer = _optimizer(machine, owner, model, node)
    every = _setting(owner, "gradient_accumulation_steps")
    every = every if isinstance(every, int) and every > 0 else 1
    for number in range(EPOCHS):
        with round_of(machine, node, number):
            switched(machine, model, True, node)
            for count, batch in enumerate(machine.iterated(data, node)):
                with round_of(machine, node, count):
                    loss = divided(machine, _loss(machine, owner, model, batch, node), every)
                    _step(machine, loss, optimizer, (count + 1) % every == 0, node)
            if _of(owner, "eval_dataset") is not None and _setting(owner, "eval_strategy") != "no":
                _evaluate(machine, owner, _of(owner, "eval_dataset"), "eval", node)
            state = State(model, model.version, copied=True)
            machine.note(Saved(**machine.now(node), path="<checkpoint>", value=state))
    return Unknown("train")


def _setting(owner: Any, name: str) -> Any:
    args = _of(owner, "args")
    held = args.fields if isinstance(args, Arguments) else {}
    return held.get(name, held.get("evaluation_strategy") if name == "eval_strategy" else None)


def _loader(machine: Machine, owner: Any, part: str, node: ast.AST, data: Any = None) -> Any:
    own = hook(machine, owner, f"get_{part}_dataloader", [] if data is None else [data], node)
    if own is not None and not isinstance(own, Unknown):
        return own
    data = data if data is not None else _of(owner, f"{part}_dataset")
    named = (
        {"collate_fn": _of(owner, "data_collator")}
        if isinstance(_of(owner, "data_collator"), Routine)
        else {}
    )
    made = Loader(data, node, named, shuffles=part == "train")
    machine.loaders.append(made)
    return made


def _optimizer(machine: Machine, owner: Any, model: Net, node: ast.AST) -> Optimizer:
    given = _of(owner, "optimizers")
    held = given[0] if isinstance(given, tuple) and given else None
    if held is None:
        told = hook(machine, owner, "create_optimizer", [], node)
        held = told if told is not None else getattr(owner, "attributes", {}).get("optimizer")
    if isinstance(held, Optimizer):
        return held
    weights = [w for w in model.parameters() if w.trains] if held is None else None
    made = Optimizer("AdamW", weights, {"lr": _setting(owner, "learning_rate")}, node)
    machine.optimizers.append(made)
    return made


def _step(machine: Machine, loss: Any, optimizer: Optimizer, steps: bool, node: ast.AST) -> None:
    if not isinstance(loss, Tensor):
        return
    backward(machine, loss, node)
    if steps:
        step(machine, optimizer, node)
        machine.clear(optimizer.weights, node)


def _loss(machine: Machine, owner: Any, model: Net, batch: Any, node: ast.AST) -> Any:
    own = owner.kind.find("compute_loss") if isinstance(owner, Instance) and owner.kind is not None else None
    if own is not None:
        told = hook(machine, owner, "compute_loss", [model, batch], node)
        return told[0] if isinstance(told, (tuple, list)) and told else told
    answer = _asked(machine, model, batch, node)
    if isinstance(answer, dict):
        answer = answer.get("loss")
    elif isinstance(answer, Instance):
        answer = answer.attributes.get("loss")
    elif isinstance(answer, (tuple, list)) and answer:
        answer = answer[0]
    return answer.like(scalar=True, rows=None) if isinstance(answer, Tensor) else answer


def _asked(machine: Machine, model: Any, batch: Any, node: ast.AST) -> Any:
    if not isinstance(model, Net):
        return Unknown("answer")
    if isinstance(batch, dict):
        return machine.ask(model, [], {str(k): v for k, v in batch.items()}, node)
    return machine.ask(model, [batch], {}, node)


@method(Instance, "compute_loss")
def _base_loss(call: Call) -> Any:
    owner = call.callee.owner
    if not _is_trainer(owner):
        return NotImplemented
    given = {**dict(zip(("model", "inputs"), call.given, strict=False)), **call.named}
    answer = _asked(call.machine, given.get("model"), given.get("inputs"), call.node)
    loss = answer.like(scalar=True, rows=None) if isinstance(answer, Tensor) else answer
    return (loss, answer) if call.named.get("return_outputs") is True else loss


# ------------------------------------------------------------------------------------ evaluate, predict


@method(Instance, "evaluate", "predict")
@method(HFTrainer, "evaluate", "predict")
def _evaluated(call: Call) -> Any:
    owner = call.callee.owner
    if not _is_trainer(owner):
        return NotImplemented
    data = call.given[0] if call.given else call.named.get("eval_dataset", call.named.get("test_dataset"))
    data = data if data is not None else _of(owner, "eval_dataset")
    told, answers = _evaluate(call.machine, owner, data, "eval", call.node)
    if call.callee.name == "evaluate":
        return told
    labels = answers.like(asked=frozenset(), deps=frozenset(), held=frozenset(("labels",)))
    return Thing(fields={"predictions": answers, "label_ids": labels, "metrics": told})


def _evaluate(machine: Machine, owner: Any, data: Any, before: str, node: ast.AST) -> tuple[Named, Tensor]:
    model = _of(owner, "model")
    if not isinstance(model, Net):
        return {}, Tensor()
    found: list[Tensor] = []
    loader = _loader(machine, owner, "eval", node, data)
    with evaluating(machine, model, node):
        for count, batch in enumerate(machine.iterated(loader, node)):
            with round_of(machine, node, count):
                found += list(machine.tensors([_asked(machine, model, batch, node)]))[:1]
    if not found:
        return {}, Tensor()
    answers = joined(machine, found, "concatenate")
    loss = answers.like(scalar=True, rows=None)
    told: Named = {f"{before}_loss": loss}
    compute = _of(owner, "compute_metrics")
    if compute is not None:
        labels = answers.like(asked=frozenset(), deps=frozenset(), held=frozenset(("labels",)))
        prediction = Prediction(fields={"predictions": answers, "label_ids": labels})
        held = machine.call(compute, [prediction], {}, node)
        told.update({f"{before}_{k}": v for k, v in held.items()} if isinstance(held, dict) else {})
    for label, value in told.items():
        machine.tell(label, value, node)
    return told, answers


@dataclass(eq=False)
class Prediction(Thing):
    """What `compute_metrics` is given; it can be taken apart into predictions and labels."""


@method(
    Instance, "log", "save_model", "save_state", "log_metrics", "save_metrics", "add_callback", "push_to_hub"
)
@method(HFTrainer, "*")
def _other(call: Call) -> Any:
    owner = call.callee.owner
    if not _is_trainer(owner):
        return NotImplemented
    if call.callee.name == "save_model":
        model = _of(owner, "model")
        if isinstance(model, Net):
            state = State(model, model.version, copied=True)
            call.machine.note(Saved(**call.machine.now(call.node), path="<model>", value=state))
    return Unknown(call.callee.name)


@method(
    Instance,
    "prediction_step",
    "create_scheduler",
    "create_optimizer_and_scheduler",
    "get_decay_parameter_names",
)
def _overridden(call: Call) -> Any:
    return Unknown(call.callee.name) if _is_trainer(call.callee.owner) else NotImplemented


# ------------------------------------------------------------------------------------ DeepSpeed


@function("initialize", of=("deepspeed.",))
def _initialized(call: Call) -> Any:
    names = ("args", "model", "optimizer", "model_parameters", "training_data", "lr_scheduler")
    given = {**dict(zip(names, call.given, strict=False)), **call.named}
    model = given.get("model")
    if not isinstance(model, Net):
        return NotImplemented
    held = given.get("optimizer")
    if not isinstance(held, Optimizer):
        known = call.machine.items_known(given.get("model_parameters"))
        weights = model.parameters() if known is None else [w for w in known if hasattr(w, "serial")]
        held = Optimizer("engine", weights, {}, call.node)
        call.machine.optimizers.append(held)
    model.attributes["<engine>"] = held
    settings = given.get("config", given.get("config_params"))
    every = settings.get("gradient_accumulation_steps", 1) if isinstance(settings, dict) else 1
    model.attributes["<every>"] = every if isinstance(every, int) and every > 0 else 1
    data = given.get("training_data")
    loader = Loader(data, call.node, {}, shuffles=True) if data is not None else None
    schedule = given.get("lr_scheduler")
    return (model, held, loader, schedule if schedule is not None else Unknown("schedule"))


@method(Net, "backward")
def _engine_backward(call: Call) -> Any:
    owner = call.callee.owner
    if "<engine>" not in owner.attributes:
        owner.escaped = True
        return NotImplemented
    loss = call.given[0] if call.given else call.named.get("loss")
    backward(call.machine, divided(call.machine, loss, owner.attributes["<every>"]), call.node)
    return loss


@method(Net, "step")
def _engine_step(call: Call) -> Any:
    owner = call.callee.owner
    held = owner.attributes.get("<engine>")
    if not isinstance(held, Optimizer):
        owner.escaped = True
        return NotImplemented
    owner.attributes["<steps>"] = owner.attributes.get("<steps>", 0) + 1
    if owner.attributes["<steps>"] % owner.attributes["<every>"] == 0:
        step(call.machine, held, call.node)
        call.machine.clear(held.weights, call.node)
    return None


__all__ = ["HFTrainer", "Prediction"]
