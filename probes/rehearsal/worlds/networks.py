"""Networks, layers and weights in a rehearsal."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from ...script_diff.vocabulary import word_set
from .. import marks
from ..asking import FORWARD
from ..forms import of_function, of_layer
from ..journal import Loaded, Switched, Taken
from ..libraries import Call, base, function, method
from ..objects import ASLEEP, home_of
from ..values import Net, Routine, State, Tensor, Unknown, Way, Weight, mixed
from .known_numbers import computed

if TYPE_CHECKING:
    from ..machine import Machine

Named = dict[str, Any]
LAYERS = (
    "torch.nn.",
    "mindspore.nn.",
    "torchvision.",
    "timm.",
    "transformers.",
    "monai.networks.",
    "torch_geometric.nn.",
    "segmentation_models_pytorch.",
    "torchaudio.models",
    "efficientnet_pytorch.",
    "paddle.nn.",
)
_HOLDERS = frozenset(("Sequential", "ModuleList", "ModuleDict", "SequentialCell", "CellList", "LayerList"))
_NO_WEIGHTS = re.compile(
    r"^(?:\w*ReLU\w*|GELU|SiLU|Mish|ELU|SELU|CELU|Tanh|Sigmoid|Softmax\w*|LogSoftmax|LogSigmoid|Softplus|Hard\w+|Identity|Flatten|Unflatten"
    r"|\w*Pool\w*|\w*Dropout\w*|DropPath|Upsample\w*|PixelShuffle|ZeroPad2d|\w*Pad\w*|Unfold|Fold|Softsign|Threshold|GLU"
    r"|\w*Loss|CosineSimilarity|PairwiseDistance|ChannelShuffle|StochasticDepth|\w*Entropy\w*"
    r"|Activation|Reshape|Permute|RepeatVector|Lambda|Masking|Add|Concatenate|Multiply|Average|Maximum|Minimum|Subtract|Dot|Rescaling|Resizing|CenterCrop"
    r"|Random\w+|GaussianNoise|Cropping\w+|ZeroPadding\w+|UpSampling\w+|StringLookup|IntegerLookup|TextVectorization|CategoryEncoding|Discretization"
    r"|Hashing|Normalization|Bidirectional|TimeDistributed|ActivityRegularization)$"
)
MODAL = re.compile(
    r"^(?:Sync)?(?:\w*Dropout\w*|BatchNorm\w*|InstanceNorm\w*|DropPath|StochasticDepth|RReLU|LazyBatchNorm\w*|GaussianNoise|Random[A-Z]\w+)$"
)
_NORM, _BUFFERS = (
    re.compile(r"^(?:Sync)?(?:Batch|Layer|Group|Instance)Norm"),
    re.compile(r"^(?:Sync)?BatchNorm"),
)
_OPAQUE = re.compile(
    r"^(?:resnet\w*|efficientnet\w*|mobilenet\w*|vgg\w*|densenet\w*|convnext\w*|vit_\w*|swin\w*|regnet\w*|alexnet|googlenet|inception\w*|squeezenet\w*"
    r"|(?:faster|mask|keypoint)rcnn\w*|retinanet\w*|ssd\w*|lraspp\w*|maxvit\w*|mnasnet\w*|shufflenet\w*|wide_resnet\w*|resnext\w*|raft\w*|r3d_\w*|mvit\w*|s3d"
    r"|create_model|Unet\w*|UNet\w*|FPN|DeepLab\w*|deeplab\w*|fcn_\w*|MLP|AutoModel\w*|\w+For(?:Sequence|Token|Causal|Masked|Question|Image|Audio|CTC|Conditional|Pre)\w*|\w+Model|LSTMModel|unet\w*)$"
)


@function("*", of=LAYERS)
def _made_layer(call: Call) -> Any:
    name = call.callee.last
    if ".functional." in call.callee.name or (name[:1].islower() and not _OPAQUE.match(name)):
        if ".utils." in call.callee.name or ".init." in call.callee.name:
            return NotImplemented
        return function_of(call.machine, name, call.given, call.named, call.node)
    if name in ("Parameter",):
        return _parameter(call.machine, call.given, call.named)
    if re.search(
        r"\.(?:transforms|datasets|optim|utils|data|trainer|lr_scheduler|io|tokenization\w*|schedulers)\b",
        call.callee.name,
    ):
        return NotImplemented
    if re.search(
        r"(?:Tokenizer|Config|Processor|FeatureExtractor|Trainer|Arguments|Collator\w*|Callback|Scheduler)\w*$",
        name,
    ):
        return NotImplemented
    home = home_of([call.callee.name])
    return make_layer(call.machine, name, call.given, call.named, call.node, home)


@function("from_pretrained", "from_config", of=LAYERS)
def _pretrained(call: Call) -> Any:
    of = call.callee.name.split(".")[-2]
    if re.search(r"Tokenizer|Config|Processor|Extractor|Scheduler", of):
        return NotImplemented
    made = make_layer(call.machine, of, call.given, call.named, call.node)
    made.opaque = True
    return made


@function("Parameter", of=("torch.", "mindspore.", "torch.nn."))
def _parameter_of(call: Call) -> Any:
    return _parameter(call.machine, call.given, call.named)


def _parameter(machine: Machine, given: list[Any], named: Named) -> Weight:
    made = machine.weight("parameter", trains=named.get("requires_grad") is not False)
    if given and isinstance(given[0], Tensor):
        made.done = given[0].done
    return made


def make_layer(
    machine: Machine, name: str, given: list[Any], named: Named, node: ast.AST, home: str = ""
) -> Net:
    """A layer of a library: it has one weight where layers of its name have any."""
    made = Net(layer=name, given=tuple(given), named=named, serial=len(machine.nets), node=node, home=home)
    made.mode = home not in ASLEEP
    machine.nets.append(made)
    if name in _HOLDERS:
        _fill(machine, made, given, node)
        return made
    if not _NO_WEIGHTS.match(name):
        plain = not (_BUFFERS.match(name) and named.get("affine") is False)
        if plain and not (
            name.startswith(("LayerNorm", "GroupNorm", "InstanceNorm"))
            and named.get("elementwise_affine", named.get("affine")) is False
        ):
            made.weights["weight"] = machine.weight(f"{name}.weight", ndim=_axes(name))
        if home == "mindspore" and _NORM.match(name):
            made.weights = {"gamma": made.weights["weight"], "beta": machine.weight(f"{name}.beta")}
        biased = named.get("bias", named.get("has_bias", not (home == "mindspore" and "Conv" in name)))
        if biased is not False and re.match(r"^(?:Linear|Conv|Dense)", name):
            made.weights["bias"] = machine.weight(f"{name}.bias", ndim=1)
        if _BUFFERS.match(name):
            made.weights["running"] = machine.weight(f"{name}.running", trains=False, buffer=True)
    if _OPAQUE.match(name):
        made.opaque = True
    for place, one in enumerate((*given, *named.values())):  # TransformerEncoder(layer, 6)
        if isinstance(one, Net):
            made.children[f"given{place}"] = one
    return made


def _axes(name: str) -> int | None:
    """How many axes the weight of a layer has."""
    if re.match(r"^(?:Linear|Embedding|Dense)", name):
        return 2
    if "Norm" in name or name == "PReLU":
        return 1
    conv = re.match(r"^(?:Lazy)?Conv(?:Transpose)?([123])d", name)
    return int(conv[1]) + 2 if conv else None


def _fill(machine: Machine, made: Net, given: list[Any], node: ast.AST) -> None:
    held: list[Any] = list(given)
    if len(given) == 1 and not isinstance(given[0], Net):
        if isinstance(given[0], dict):
            made.children.update({str(k): v for k, v in given[0].items() if isinstance(v, Net)})
            return
        known = machine.items_known(given[0])
        if known is None or any(isinstance(k, Unknown) for k in known):
            made.opaque = True
            made.weights["unknown"] = machine.weight("unknown")
        held = known or []
    for one in held:
        if isinstance(one, Net):
            made.children[str(len(made.children))] = one
        elif not isinstance(one, (int, str)):
            made.opaque = True
            if "unknown" not in made.weights:
                made.weights["unknown"] = machine.weight("unknown")


@base("Sequential", "SequentialCell", "ModuleList", "CellList", of=(*LAYERS, "torch.nn.", "mindspore.nn."))
def _filled(machine: Machine, made: Net, given: list[Any], named: Named, node: ast.AST) -> None:
    """`class Block(nn.Sequential)` whose `__init__` hands its layers on."""
    if isinstance(made, Net):
        _fill(machine, made, given, node)


# ------------------------------------------------------------------------------------ asked


def layer(machine: Machine, net: Net, given: list[Any], named: Named, node: ast.AST) -> Any:
    """What a layer of a library gives to what it is given."""
    if net.layer.endswith("Loss") or "CrossEntropy" in net.layer:
        return marks.of_loss(machine, net, given, named, function_of(machine, net.layer, given, named, node))
    if net.home == "mindspore":
        from .mindspore import cell_asked

        answer = cell_asked(machine, net, given, node)
        if answer is not NotImplemented:
            return answer
    if not machine.inside_net and (net.parameters() or net.opaque):
        return machine.noted(net, given, named, node, lambda: _given_by(machine, net, given, named, node))
    return _given_by(machine, net, given, named, node)


def _given_by(machine: Machine, net: Net, given: list[Any], named: Named, node: ast.AST) -> Any:
    net.used = getattr(net, "used", 0) + 1  # type: ignore[attr-defined]
    if machine.modal and MODAL.match(net.layer) and net.home != "equinox":  # told by an argument there
        machine.modal[-1] += marks.modes_told(net, named)
    if machine.modal and not net.home and marks.drops_within(net):
        machine.modal[-1].append((f"Dropout of {net.layer}", net.mode))
    if net.layer in ("Sequential", "SequentialCell"):
        held: list[Any] = list(given)
        for child in list(net.children.values()):
            held = [machine.ask(child, held, {}, node)]
        return held[0] if held else Unknown("Sequential")
    # `base(x, training=False)` of a body of Keras, as its guide to transfer learning has it
    kept_still = net.home == "keras" and net.attributes.get("<fixed>") is False
    kept_still |= net.layer == "KerasLayer"  # most of the hub have no modes
    if machine.modal and net.opaque and not kept_still:
        machine.modal[-1].append((net.layer, net.mode))
    found = list(machine.tensors([*given, *named.values()]))
    made = machine.joined_tensors(net.layer, found, marked=False) if found else Tensor(done=(net.layer,))
    made.mark = marks.layer(machine, net, given, named, modal=bool(MODAL.match(net.layer)) or net.opaque)
    made.how = Way(net.layer, (*given, *named.values()), {"<layer>": net})
    if machine.graph:
        made.deps = made.deps | frozenset(w.serial for w in net.parameters() if w.trains)
    made.scalar = False
    made.form = of_layer(net, given)
    if net.layer in ("LSTM", "GRU", "RNN", "MultiheadAttention", "LSTMCell") and net.home != "keras":
        state: Any = made.like(mark=mixed(made.mark, "state"), how=None)
        cell = made.like(mark=mixed(made.mark, "cell"), how=None)
        if net.layer == "LSTM":
            state = (state, cell)
        return (made, cell) if net.layer == "LSTMCell" else (made, state)
    return made


_LOSS = re.compile(
    r"(?i)loss$|^(?:binary_)?cross_entropy\w*$|^kl_div$|_entropy$|_loss_with_logits$|^binary_cross_entropy_with_logits$"
)


def function_of(machine: Machine, name: str, given: list[Any], named: Named, node: ast.AST) -> Any:
    """A function of `nn.functional`, or a loss."""
    found = list(machine.tensors([*given, *named.values()]))
    if name.startswith(("dropout", "alpha_dropout", "feature_alpha")):
        trains = named.get("training", given[2] if len(given) > 2 else True)
        if machine.modal and isinstance(trains, bool):
            machine.modal[-1].append(("dropout", trains))
    if not found:
        return Unknown(name)
    made = machine.joined_tensors(name, found, marked=False)
    made.mark, made.how = marks.called(machine, name, given, named), Way(name, tuple(given), named)
    if machine.numbers is not None:
        made.number = computed(name, given, named)
    of_function(machine, name, given, named, made)
    if _LOSS.search(name):
        machine.losses.append((name, tuple(found)))
        made.scalar = named.get("reduction") != "none"
        if made.scalar:
            made.rows = None
    return made


# ------------------------------------------------------------------------------------ methods


@method(Net, "train", "eval", "set_train")
def _switched(call: Call) -> Any:
    net: Net = call.callee.owner
    asked = call.given[0] if call.given else call.named.get("mode", True)
    if call.callee.name == "eval":
        asked = False
    if isinstance(asked, Unknown) or not isinstance(asked, (bool, int)):
        net.escaped = net.unsure = True
        return net
    for one in net.nets():
        own = one.kind.find("train") if one.kind is not None and one is not net else None
        if own is not None and isinstance(own[1], Routine):
            call.machine.call_routine(
                Routine(own[1].node, own[1].around, one, own[0]), [bool(asked)], {}, call.node
            )
        else:
            one.mode = bool(asked)
    call.machine.note(Switched(**call.machine.now(call.node), net=net, mode=bool(asked)))
    return net


@method(Net, "parameters", "trainable_params", "get_parameters")
def _parameters(call: Call) -> Any:
    if call.callee.owner.home == "mindspore":
        for name, weight in named_weights(call.callee.owner):
            weight.name = name
    if call.named.get("recurse", call.given[0] if call.given else True) is False:
        return [w for w in call.callee.owner.weights.values() if not w.buffer]
    return [w for w in call.callee.owner.parameters() if call.callee.name != "trainable_params" or w.trains]


@method(Net, "named_parameters", "parameters_and_names")
def _named_parameters(call: Call) -> Any:
    if call.named.get("recurse") is False:
        return [(n, w) for n, w in call.callee.owner.weights.items() if not w.buffer]
    return [(n, w) for n, w in named_weights(call.callee.owner) if not w.buffer]


@method(Net, "buffers", "named_buffers")
def _buffers(call: Call) -> Any:
    held = [(n, w) for n, w in named_weights(call.callee.owner) if w.buffer]
    return held if call.callee.name == "named_buffers" else [w for _, w in held]


def named_weights(net: Net, before: str = "") -> list[tuple[str, Weight]]:
    """Weights with their dotted names."""
    found = [(f"{before}{n}", w) for n, w in net.weights.items()]
    for name, child in net.children.items():
        if isinstance(child, Net):
            found += named_weights(child, f"{before}{name}.")
    return found


@method(Net, "modules", "children", "named_modules", "named_children", "cells", "cells_and_names")
def _modules(call: Call) -> Any:
    net: Net = call.callee.owner
    direct = "children" in call.callee.name or call.callee.name == "cells"
    held = [(n, c) for n, c in net.children.items() if isinstance(c, Net)] if direct else _named_nets(net)
    return held if "named" in call.callee.name or "names" in call.callee.name else [c for _, c in held]


def _named_nets(net: Net, before: str = "") -> list[tuple[str, Net]]:
    found = [(before.rstrip("."), net)]
    for name, child in net.children.items():
        if isinstance(child, Net):
            found += _named_nets(child, f"{before}{name}.")
    return found


@method(Net, "apply")
def _applied(call: Call) -> Any:
    if call.callee.owner.home == "flax":
        from .jax import asked_with

        return asked_with(call)
    for one in reversed(list(call.callee.owner.nets())[:200]):
        call.machine.call(call.given[0], [one], {}, call.node)
    return call.callee.owner


_STAYS = word_set("to cuda cpu npu float double half bfloat16 share_memory to_float type to_empty compile")


@method(Net, *sorted(_STAYS))
def _moved(call: Call) -> Any:
    return call.callee.owner if call.callee.name != "compile" or not call.callee.owner.opaque else None


@method(Net, "requires_grad_")
def _requires(call: Call) -> Any:
    asked = call.given[0] if call.given else call.named.get("requires_grad", True)
    for one in call.callee.owner.parameters():
        one.trains = asked is not False
    return call.callee.owner


@method(Net, "zero_grad")
def _cleared(call: Call) -> Any:
    call.machine.clear(call.callee.owner.parameters(), call.node)
    return None


@method(Net, "add_module", "register_module", "append", "insert", "extend", "update")
def _registered(call: Call) -> Any:
    net: Net = call.callee.owner
    if call.callee.name == "append" and call.given and isinstance(call.given[0], Net):
        net.children[str(len(net.children))] = call.given[0]
    elif call.callee.name in ("extend", "update"):
        held = call.given[0] if call.given else None
        pairs = (
            held.items()
            if isinstance(held, dict)
            else ((str(len(net.children) + i), h) for i, h in enumerate(call.machine.items_known(held) or ()))
        )
        net.children.update({str(k): v for k, v in pairs if isinstance(v, Net)})
    elif call.callee.name == "insert" and len(call.given) == 2 and isinstance(call.given[1], Net):
        held_children = list(net.children.values())
        held_children.insert(call.given[0] if isinstance(call.given[0], int) else 0, call.given[1])
        net.children = {str(i): c for i, c in enumerate(held_children)}
    elif len(call.given) == 2 and isinstance(call.given[1], Net):
        net.children[str(call.given[0])] = call.given[1]
    return net


@method(Net, "register_buffer", "register_parameter")
def _buffered(call: Call) -> Any:
    values = [*call.given, *call.named.values()]
    if len(values) >= 2 and isinstance(values[0], str):
        held = values[1]
        if call.callee.name == "register_parameter" and isinstance(held, Weight):
            call.callee.owner.weights[values[0]] = held
        elif isinstance(held, Tensor):
            made = call.machine.weight(values[0], trains=False, buffer=True)
            made.become(held)
            call.callee.owner.weights[values[0]] = made
        else:
            call.callee.owner.attributes[values[0]] = held
    return None


@method(
    Net,
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_backward_hook",
    "print_trainable_parameters",
    "gradient_checkpointing_enable",
    "gradient_checkpointing_disable",
    "get_num_params",
    "_register_hook",
    "save_pretrained",
    "summary",
)
def _hooks(call: Call) -> Any:
    return Unknown(call.callee.name)


@method(Net, "forward", "construct", "__call__")
def _forwarded(call: Call) -> Any:
    if call.callee.owner.layer or not any(call.callee.owner.kind.find(f) for f in FORWARD):
        return layer(call.machine, call.callee.owner, call.given, call.named, call.node)
    return call.machine.ask(call.callee.owner, call.given, call.named, call.node)


@method(Net, "state_dict")
def _state(call: Call) -> Any:
    net: Net = call.callee.owner
    call.machine.note(Taken(**call.machine.now(call.node), net=net, version=net.version))
    return State(net, net.version)


@method(Net, "load_state_dict", "load_weights")
def _load(call: Call) -> Any:
    state = call.given[0] if call.given else call.named.get("state_dict")
    loaded(call.machine, call.callee.owner, state, call.node)
    return Unknown("keys")


def loaded(machine: Machine, net: Any, state: Any, node: ast.AST) -> None:
    """A network takes over weights: it is what it was when they were kept."""
    before = net.version
    held = state if isinstance(state, State) else None
    machine.note(Loaded(**machine.now(node), net=net, state=held, version=before))
    if held is not None and isinstance(held.net, Net):
        net.version = held.now if held.net is net else net.version
    else:
        machine.versions += 1
        net.version = machine.versions


@method(Net, "*")
def _any_method(call: Call) -> Any:
    net: Net = call.callee.owner
    if net.layer:
        found = list(call.machine.tensors([*call.given, *call.named.values()]))
        if found:
            return layer(call.machine, net, call.given, call.named, call.node)
        if net.opaque or call.callee.name in ("reset_parameters", "flatten_parameters"):
            return Unknown(call.callee.name)
    net.escaped = net.escaped or call.callee.name not in ("extra_repr", "flatten_parameters")
    return NotImplemented


def net_field(machine: Machine, owner: Net, name: str) -> Any:
    """A field of a layer: its weights, its sizes; of an opaque network a part of it."""
    if owner.home == "keras":
        from .keras import keras_field

        return keras_field(machine, owner, name)
    if name in (
        "in_features",
        "out_features",
        "in_channels",
        "out_channels",
        "num_features",
        "hidden_size",
        "config",
        "p",
        "kernel_size",
        "embedding_dim",
        "num_embeddings",
        "device",
        "dtype",
        "normalized_shape",
        "batch_first",
    ):
        places = {"in_features": 0, "out_features": 1, "in_channels": 0, "out_channels": 1, "num_features": 0}
        place = places.get(name)
        if place is not None and len(owner.given) > place:
            return owner.given[place]
        return owner.named.get(name, Unknown(name))
    if name in ("bias",) and owner.layer and "weight" in owner.weights:
        return None if owner.named.get("bias") is False else machine.weight("bias")
    if name == "module" and "module" not in owner.children:
        return owner
    if owner.opaque and owner.layer and not name.startswith("_") and name not in _NET_METHODS:
        if name in ("weight", "bias"):
            return Unknown(name)
        made = make_layer(machine, name, [], {}, owner.node or ast.Pass())
        made.opaque, made.mode = True, owner.mode
        owner.children[name] = made
        for one in machine.optimizers:  # what has the whole has its parts
            if any(w in owner.weights.values() for w in one.weights or ()):
                one.weights = [*(one.weights or ()), *made.parameters()]
        return made
    if name.startswith("running_"):
        return owner.weights.get("running", Unknown(name))
    return None


_NET_METHODS = word_set(
    "parameters named_parameters train eval to cuda state_dict load_state_dict modules children "
    "named_modules named_children zero_grad requires_grad_ apply forward half float "
    "register_forward_hook buffers named_buffers generate save_pretrained resize_token_embeddings "
    "get_input_embeddings construct register_buffer set_train trainable_params get_parameters "
    "add_module append npu cpu double bfloat16 compile gradient_checkpointing_enable "
    "print_trainable_parameters register_full_backward_hook extend insert keys values items update"
)


def net_item(machine: Machine, owner: Net, index: Any) -> Any:
    """`layers[2]`, `layers[:-1]`, `blocks["head"]`."""
    held = list(owner.children.values())
    if isinstance(index, str) and index in owner.children:
        return owner.children[index]
    if isinstance(index, int) and -len(held) <= index < len(held):
        return held[index]
    if isinstance(index, slice) and held:
        made = make_layer(machine, owner.layer or "Sequential", [], {}, owner.node or ast.Pass())
        made.children = {str(i): c for i, c in enumerate(held[index])}
        return made
    if owner.opaque:
        return net_field(machine, owner, f"part{index if isinstance(index, (int, str)) else ''}") or Unknown(
            "layer"
        )
    return Unknown("layer")


def net_items(owner: Net) -> list[Any] | None:
    """The layers of a holder; the names of a mapping of them."""
    if owner.layer == "ModuleDict":
        return list(owner.children)
    return list(owner.children.values()) if owner.layer in _HOLDERS else None


@method(Net, "items", "values", "keys")
def _of_holder(call: Call) -> Any:
    held = call.callee.owner.children
    return (
        [tuple(i) for i in held.items()]
        if call.callee.name == "items"
        else list(getattr(held, call.callee.name)())
    )


@function(
    "DataParallel",
    "DistributedDataParallel",
    "DDP",
    "FullyShardedDataParallel",
    "convert_sync_batchnorm",
    "convert_model",
    "compile",
    "script",
    "trace",
    "prepare_model_for_kbit_training",
    of=("torch.", "torch.nn.", "apex.", "thop.", "peft.prepare"),
)
def _wrapped(call: Call) -> Any:
    return call.given[0] if call.given else NotImplemented


@function("*", of=("torch.nn.init.",))
def _initialised(call: Call) -> Any:
    held = call.given[0] if call.given else None
    if isinstance(held, Weight):
        call.machine.written(held, call.given[1:], f"init.{call.callee.last}", call.node)
    return held
