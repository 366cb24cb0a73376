"""Calls of what is not in the program: builtins, the frameworks' arithmetic, losses; the rest are events."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from . import losses
from . import values as v
from .expressions import Expressions
from .objects import CHAINS, Chain, Count, Instance, Routine, builtin_name, written
from .terms import Term
from .values import Tensor, Thing, mark
from .vocabulary import FUNCTIONAL, word_set

PURE = word_set(
    "parameters named_parameters trainable_params items keys values get lower upper split strip "
    "replace join format startswith endswith modules children isinstance getattr hasattr type "
    "id set sorted reversed str repr bool bytes Path device dtype shape size numel dim ndim "
    "ndimension is_available deepcopy copy zeros_like ones_like count index most_common groupby "
    "iloc loc columns head named_modules kl_div ctc_loss cosine_similarity one_hot normalize "
    "pad interpolate Subset"
)
_STATELESS = (frozenset(FUNCTIONAL.values()) | {"silu"}) - {"flatten"}
_LOSSES = word_set(
    "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits kl_div"
)
# what is done to a sample: made without chance, and equal where it is made in the same way
_TRANSFORMS = word_set(
    "Compose Resize CenterCrop ToTensor ToTensorV2 Normalize RandomCrop RandomHorizontalFlip Rescale HWC2CHW "
    "RandomVerticalFlip RandomResizedCrop RandomRotation ColorJitter RandomErasing Grayscale ToImage ToDtype "
    "RandomAffine RandAugment AutoAugment GaussianBlur TypeCast HorizontalFlip VerticalFlip"
)
_KERAS = word_set("Dense Conv1D Conv2D Conv3D SeparableConv2D DepthwiseConv2D Conv2DTranspose")
_KERAS_LAYERS = _KERAS | word_set(
    "LayerNormalization BatchNormalization GroupNormalization LSTM GRU SimpleRNN Bidirectional Embedding "
    "Dropout SpatialDropout1D SpatialDropout2D MultiHeadAttention Activation Flatten Reshape Permute "
    "MaxPooling1D MaxPooling2D AveragePooling1D AveragePooling2D GlobalAveragePooling1D TimeDistributed "
    "GlobalAveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D Add Subtract Multiply Concatenate"
)
_MERGES = {"Add": "+", "Subtract": "-", "Multiply": "*", "Concatenate": "cat"}
# modules of keras.applications whose preprocess_input scales to -1..1 (keras-docs, imagenet_utils, mode "tf")
_TO_ONE = (
    "mobilenet",
    "mobilenet_v2",
    "xception",
    "inception_v3",
    "inception_resnet_v2",
    "resnet_v2",
    "nasnet",
)
_ALIAS = {
    "reduce_sum": "sum",
    "reduce_mean": "mean",
    "reduce_max": "max",
    "reduce_min": "min",
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "fmod": "mod",
}


DEVICE = Thing(mark("device"))  # whichever it is


class Library(Expressions):
    """What is known of functions and methods of others."""

    @abstractmethod
    def invoke(self, callee: Any, given: list[Any], named: dict[str, Any]) -> Any:
        """Call a value."""

    def outside(self, label: str, given: list[Any], named: dict[str, Any], quiet: bool, term: Term) -> Any:
        """The value of a call of a function by its name."""
        label = _ALIAS.get(label, label)
        if "axis" in named:
            named["dim"] = named.pop("axis")
        if "keepdims" in named:
            named["keepdim"] = named.pop("keepdims")
        if label in _STATELESS and not given and "input" not in named:
            parts, shaky = self._given([], named)
            return Thing(mark("function", label, parts), shaky, attributes={"__function__": (label, named)})
        if label == "device" and given:
            return DEVICE
        if label == "partial" and given and isinstance(given[0], Routine):
            bound = given[0]
            more = (*bound.given, *given[1:])
            return replace(bound, given=more, named={**bound.named, **named})
        done, value = self._builtin(label, given, named)
        if done:
            return value
        if label in CHAINS:
            items = given[0] if len(given) == 1 and isinstance(given[0], list) else given
            if len(items) == 1 and isinstance(items[0], dict):
                items = list(items[0].values())
            return Chain(list(items), CHAINS[label])
        if label in ("detach", "item", "data") and len(given) == 1 and not named:
            return self._cut(given[0])
        if label == "arange" and len(given) == 1 and isinstance(given[0], float) and not named:
            if given[0].is_integer() and 0 < given[0] <= v.MAX_ELEMENTS:
                return Tensor(np.arange(given[0]), made=frozenset({"whole"}))
        if label == "tensor" and len(given) == 1 and isinstance(given[0], (int, float)):
            if set(named) <= {"dtype"}:  # a sum that is kept on the device
                return given[0]
        if label in ("tensor", "as_tensor") and len(given) == 1 and _of_numbers(given[0]):
            under, self.under = self.under, ()  # numbers are the same in every context
            try:
                return self.pure("tensor", given, {k: x for k, x in named.items() if k != "device"})
            finally:
                self.under = under
        if label == "one_hot" and (shares := self._one_hot(given, named)) is not None:
            return shares
        if label in ("std_mean", "var_mean") and given:
            return [self.computed(x, given, named) for x in label.split("_")]
        if label == "random_split" and (parts := self._split_at_random(given, named)) is not None:
            return parts
        if label in ("clone", "identity") and len(given) == 1:
            return self.pure(label, given, named)
        if label == "take_along" and len(given) == 1 and "index" in named:
            given = [*given, named.pop("index")]
        if label in v.COMPUTED and label not in ("type", "to"):
            if label in ("float", "int", "bool") and given and isinstance(given[0], (int, float, bool)):
                return self._converted(label, given[0])
            if (
                label == "float"
                and len(given) == 1
                and isinstance(given[0], (Thing, Tensor))
                and term.node is not None
            ):
                if isinstance(term.node, ast.Call) and isinstance(term.node.func, ast.Name):
                    return self._cut(given[0])  # float(loss)
            if (
                label in ("sum", "max", "min", "sorted")
                and given
                and isinstance(given[0], list)
                and label != "sum"
            ):
                return self.pure(label, given, named)
            if label == "sum" and given and isinstance(given[0], list) and builtin_name(term):
                total: Any = given[1] if len(given) > 1 else 0.0
                for x in given[0]:
                    plain = isinstance(x, (int, float)) and isinstance(total, (int, float))
                    total = total + x if plain else self.computed("+", [total, x], {})
                return total
            if given and not any(
                isinstance(x, (str, dict, Instance, Routine)) for x in given[1:] if label != "einsum"
            ):
                return self.computed(label, given, named)
        if label == "size" and given:
            return self._size(given, named)
        if label in ("to", "type", "type_as") and (cast := self._cast(given, named)) is not None:
            return cast
        if label == "compute_average_loss" and len(given) == 1 and set(named) == {"global_batch_size"}:
            return self.computed("/", [self.computed("sum", given, {}), named["global_batch_size"]], {})
        if label == "preprocess_input" and len(given) == 1 and written(term, _TO_ONE):
            return self.computed("-", [self.computed("/", [given[0], 127.5], {}), 1.0], {})
        if label in _LOSSES:
            return self._loss(label, given, named)
        if label in PURE or label in _TRANSFORMS or quiet:
            return self.pure(label, given, named)
        if label in _KERAS_LAYERS and not self._named_elsewhere(named.get("name")):
            named.pop("name", None)
        if label in _MERGES and not given and set(named) <= {"dim"}:
            merges = {"label": _MERGES[label], "dim": named.get("dim", -1.0)}
            return Thing(mark("merge", sorted(merges.items())), attributes={"__merges__": merges})
        then = named.get("activation")
        if label in _KERAS and isinstance(then, str):
            made = self.event(label, given, {k: x for k, x in named.items() if k != "activation"})
            return Thing(
                mark("then", made.mark, then), made.shaky, attributes={"__layer__": made, "__then__": then}
            )
        if label == "Activation" and len(given) == 1 and isinstance(given[0], str):
            return Thing(mark("activation", given[0]), attributes={"__then__": given[0]})
        return self.event(label, given, named)

    def _one_hot(self, given: list[Any], named: Mapping[str, Any]) -> Tensor | None:
        """Zeros and a one for each label, on a last axis; None where the number of classes is not known."""
        known = {**dict(zip(("target", "num_classes"), given, strict=False)), **named}
        target, count = known.get("target", known.get("tensor")), known.get("num_classes")
        if target is None or not isinstance(count, (int, float)) or not 1 < count <= v.MAX_ELEMENTS:
            return None
        try:
            x = self.tensor(target)
        except v.Unfit:
            return None
        if x.array.dtype == bool or x.array.size * count > v.MAX_ELEMENTS:
            return None
        return Tensor(np.eye(int(count))[v.classes(x.array, int(count))], x.shaky, x.under, True)

    def _loss(self, label: str, given: list[Any], named: dict[str, Any]) -> Any:
        """A loss by what it is made of: log-softmax and the negative log-likelihood, a mean of squares."""
        named = {k: x for k, x in named.items() if x is not None}
        first = named.pop("input", None) if "input" in named else given.pop(0) if given else None
        second = named.pop("target", None) if "target" in named else given.pop(0) if given else None
        if given or first is None or second is None:
            return self.pure(label, [first, second, *given], named)
        reduction = named.pop("reduction", "mean")
        try:
            return losses.loss(self, label, first, second, dict(named), str(reduction))
        except v.Unfit:
            pass
        shaky = label in ("cross_entropy", "nll_loss")  # the shapes do not fit
        if label == "cross_entropy":
            label, first = "nll_loss", self.computed("log_softmax", [first], {"dim": 1.0})
        if label == "nll_loss":
            first, second = self._by_sample(first, second)
        elif label == "binary_cross_entropy_with_logits":
            label, first = (
                "binary_cross_entropy" if "pos_weight" not in named else label,
                self.computed("sigmoid", [first], {}),
            )
        each: Any = self.pure(label, [first, second], named)
        if label == "nll_loss" and reduction != "none":
            each = self.pure(label + str(reduction), [first, second], named)
            each.scalar = True
            each.shaky = each.shaky or shaky
            return each
        if isinstance(each, (Thing, Tensor)):
            each.shaky = each.shaky or shaky
        return each if reduction == "none" else self.computed(str(reduction), [each], {})

    def _by_sample(self, logs: Any, target: Any) -> tuple[Any, Any]:
        """Log-probabilities of (samples, classes) and targets of (samples), whatever the axes before."""
        try:
            x, y = self.tensor(logs), self.tensor(target)
        except v.Unfit:
            return logs, target
        if x.array.ndim > 2:
            x = Tensor(np.moveaxis(x.array, 1, -1).reshape(-1, x.array.shape[1]), x.shaky, x.under, x.cut)
        return x, Tensor(y.array.reshape(-1), y.shaky, y.under, y.cut)

    def _size(self, given: list[Any], named: Mapping[str, Any]) -> Any:
        try:
            shape = self.tensor(given[0]).array.shape
            dim = named.get("dim", given[1] if len(given) > 1 else None)
            return [float(n) for n in shape] if dim is None else float(shape[int(dim)])
        except (v.Unfit, IndexError, TypeError, ValueError):
            made = self.pure("size", given, named)
            made.shaky, made.scalar = True, True
            return made

    def _named_elsewhere(self, name: Any) -> bool:
        """Whether a layer is asked for by its name: as a loss's key, in a file of weights."""
        if self.read_names & {"get_layer", "load_weights"}:
            return True
        return isinstance(name, str) and self._texts[name] > 1

    @cached_property
    def _texts(self) -> Counter[str]:
        """How often the program writes a text, or a key."""
        found: Counter[str] = Counter()
        for line in self.program.lines:
            for term in line.term.walk():
                if term.kind in ("constant", "key"):
                    found[term.label.strip("'\"")] += 1
                elif term.kind == "mapping":
                    found.update(edge for edge, _ in term.parts)
        return found

    def merged(self, merges: Mapping[str, Any], values: list[Any]) -> Any:
        """What a layer without weights makes of several: `Add()([x, y])` is x + y."""
        if merges["label"] == "cat":
            return self.computed("cat", [values], {"dim": merges["dim"]})
        total = values[0]
        for x in values[1:]:
            total = self.computed(merges["label"], [total, x], {})
        return total

    def _cast(self, given: list[Any], named: Mapping[str, Any]) -> Any:
        """`x.to(dtype)` of a tensor: every element by itself; None where it may be anything else."""
        to = given[1] if len(given) == 2 and not named else named.get("dtype") if len(given) == 1 else None
        if len(named) > 1 or not isinstance(to, Thing) or not isinstance(given[0], (Thing, Tensor)):
            return None
        if isinstance(given[0], Thing) and not given[0].item:
            return None
        try:
            x = self.tensor(given[0])
        except v.Unfit:
            return None
        return Tensor(v.converted(x.array, to.mark), x.shaky or to.shaky, x.under, x.cut)

    def _split_at_random(self, given: list[Any], named: Mapping[str, Any]) -> list[Any] | None:
        """Subsets by the parts of one permutation (torch.utils.data.random_split); None for shares."""
        names = ("dataset", "lengths", "generator")
        known = {**dict(zip(names, given, strict=False)), **named}
        lengths = known.get("lengths")
        whole = known.get("dataset")
        if whole is None or not isinstance(lengths, list) or not lengths:
            return None
        if any(not isinstance(n, (int, float)) or 0 < n < 1 for n in lengths):
            return None
        kept = {"generator": known["generator"]} if known.get("generator") is not None else {}
        count = Count(len(whole)) if isinstance(whole, range) else self._builtin("len", [whole], {})[1]
        order = self.event("randperm", [count], kept)
        found, start = [], 0.0
        for i, n in enumerate(lengths):
            ends = slice(start if i else None, start + n if i < len(lengths) - 1 else None)
            start += n
            part = self.pure("Subset", [whole, indices := self.item(order, ends)], {})
            part.attributes.update(indices=indices, dataset=whole)
            found.append(part)
        return found

    def _converted(self, label: str, value: float) -> Any:
        """float(), int() or bool() of a number."""
        if abs(value) > 1e15 or value != value:
            return value if label == "float" else self.pure(label, [value], {})
        if isinstance(value, Count) and (label == "bool" or not float(value).is_integer()):
            return self.pure(label, [value], {})
        if label == "float":
            return value
        return bool(value) if label == "bool" else type(value)(int(value))

    def _cut(self, value: Any) -> Any:
        try:
            x = self.tensor(value)
        except v.Unfit:
            return self.pure("detach", [value], {})
        return x if x.cut else Tensor(v.real(x.array) * v.CUT, x.shaky, x.under, True)

    def _builtin(self, label: str, given: list[Any], named: Mapping[str, Any]) -> tuple[bool, Any]:
        first = given[0] if given else None
        if label == "len" and len(given) == 1:
            if isinstance(first, (list, dict)):
                return True, Count(len(first))
            if isinstance(first, Chain):
                return True, float(len(first.items))
            if isinstance(first, Tensor) and first.array.ndim:
                return True, Count(first.array.shape[0])
            if isinstance(first, Thing):
                return True, Count(self.length(first))
            return True, self.pure("len", given, named)
        if label == "range" and given and all(isinstance(x, (int, float)) for x in given):
            try:
                return True, range(*(int(x) for x in given))
            except ValueError:
                return False, None
        if label == "reversed" and isinstance(first, list) and len(given) == 1:
            return True, first[::-1]
        if label == "enumerate" and first is not None:
            start = named.get("start", 0.0)
            counted = isinstance(first, (list, dict, Chain)) and isinstance(start, (int, float))
            made = self.mark(first)
            return True, [
                [
                    start + i
                    if counted
                    else Thing(
                        mark("count", i, made) if start == 0 else mark("count", made, i, self.mark(start))
                    ),
                    x,
                ]
                for i, x in enumerate(self.each(first))
            ]
        if label == "zip" and given:
            every = [list(self.each(x)) for x in given]
            return True, [list(pair) for pair in zip(*every, strict=False)]
        if label == "dict" and len(given) <= 1:
            if not given:
                return True, dict(named)
            if isinstance(first, dict):
                return True, {**first, **named}
            if isinstance(first, list) and all(isinstance(x, list) and len(x) == 2 for x in first):
                return True, {self.key(k): x for k, x in first}
        if label == "super":
            return True, Thing(mark("super"))
        if label == "vars" and isinstance(first, Thing) and self.options:
            return True, dict(self.options)
        if label == "getattr" and len(given) >= 2 and isinstance(given[1], str):
            return True, self.attribute(first, given[1])
        if label in ("isinstance", "hasattr"):
            return True, self.pure(label, given, named)
        return False, None

    def option(self, given: list[Any], named: dict[str, Any]) -> Any:
        """An option of the command line, by its default."""
        names = [x for x in given if isinstance(x, str)]
        long = next((n for n in names if n.startswith("--")), names[0])
        plain = {"default", "type", "required", "dest"} >= set(named) and not isinstance(
            named.get("default"), bool
        )
        default = named.get("default")
        key = str(named.get("dest", long.lstrip("-").replace("-", "_")))
        if not long.startswith("-") and not named.get("nargs"):
            self.places += 1
            self.options[key] = Thing(mark("argv", float(self.places)), item=True)
            return None
        if plain and default not in (None, ""):  # else it is given where it is used
            self.options[key] = default
        else:
            made = self.pure("option", [], {k: x for k, x in named.items() if k != "dest"})
            off = {"__off__": True} if named.get("action") == "store_true" or default is False else {}
            self.options[key] = Thing(mark(long if "default" not in named else "", made.mark), attributes=off)
        return None

    def collection(self, label: str, owner: Any, given: list[Any]) -> tuple[bool, Any]:
        """(whether it is known, the value) of a method of a list or a dict."""
        if isinstance(owner, list):
            if label == "append" and len(given) == 1:
                owner.append(given[0])
                return True, None
            if label == "extend" and len(given) == 1:
                more = list(self.each(given[0]))
                owner.extend(more if len(owner) + len(more) <= v.MAX_ELEMENTS else ())
                return True, None
            if label == "pop" and not given and owner:
                return True, owner.pop()
        else:
            if label == "items" and not given:
                return True, [[self.unkeyed(k), x] for k, x in owner.items()]
            if label == "keys" and not given:
                return True, [self.unkeyed(k) for k in owner]
            if label == "values" and not given:
                return True, list(owner.values())
            if label == "update" and len(given) == 1 and isinstance(given[0], dict):
                owner.update(given[0])
                return True, None
            if label == "get" and given:
                key = self.key(given[0])
                return True, owner.get(key, given[1] if len(given) > 1 else None)
            if label == "setdefault" and len(given) == 2:
                return True, owner.setdefault(self.key(given[0]), given[1])
        return False, None


def _of_numbers(value: Any) -> bool:
    """A list of numbers that are written out: it is one wherever it is made."""
    return isinstance(value, list) and bool(value) and all(type(x) in (int, float) for x in value)
