"""How scripts number classes and words: by an order that changes, or once for each split."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from ...by_hand.inverses import classes_apart, words_apart
from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..evaluation.keras_fit import weights_by_rank
from ..method.own_answer_fed import languages_crossed
from ..method.tokens import numbered_for_pretrained, table_not_grown
from ..samples.by_side import label_by_side
from ..samples.recommended import first_item_is_padding
from ..shared.checks import at, first, ok, told_at
from ..shared.nodes import is_none
from ..shared.roles import is_table_of_words
from ..shared.sides import either, given, literal, side, words
from ..splits.sides_apart import numbered_apart
from ..tensorflow.slips import moved_in_loss_alone
from .keras_words import more_words_than_rows, numbered_anew
from .listed_classes import fewer_answers_than_classes
from .mapped_batches import numbered_by_batch
from .own_tables import classes_of_each_file, levels_of_each_part, numbered_in_turn, numbers_over_reserved
from .own_vocabularies import own_vocabulary_of_held_out
from .raw_numbers import raw_ids_taken
from .start import numbered_from_one, shifted_in_training
from .table_sizes import fewer_rows_than_words, padding_is_a_word, table_too_small, unknown_is_a_word
from .tags import tables_of_two_kinds


@probe()
@unframed
def classes_numbered_apart(view: View) -> Finding:
    """Class numbers follow the order of a set or a hash, or are given out for each split by itself."""
    return first(
        view,
        either(
            *(_by_set, _by_hash, tables_of_two_kinds),
            partial(_of_held_out, of_words=False),
            _table_of_held_out,
            _twin_tables,
            _in_shared_function,
            _in_each_batch,
            _one_split_told,
            _unlike_maps,
            told_at(classes_apart),
            label_by_side,
            partial(numbered_apart, labels=True),
            weights_by_rank,
            numbered_from_one,
            shifted_in_training,
            moved_in_loss_alone,
            classes_of_each_file,
            levels_of_each_part,
            numbered_by_batch,
        ),
        "the scripts number no classes",
    )


# ----------------------------------------------------------------------------------- orders that change


def _is_set(source: Script, node: ast.expr, depth: int = 4) -> bool:
    if depth == 0:
        return False
    if isinstance(node, (ast.Set, ast.SetComp)):
        return True
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in ("set", "frozenset"):
            return not (node.args and _counts_up(node.args[0]))
        if name in ("union", "intersection", "difference") and isinstance(node.func, ast.Attribute):
            return _is_set(source, node.func.value, depth - 1)
        return name in ("list", "tuple") and bool(node.args) and _is_set(source, node.args[0], depth - 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.BitOr, ast.BitAnd)):
        return _is_set(source, node.left, depth - 1) or _is_set(source, node.right, depth - 1)
    if isinstance(node, (ast.Name, ast.Attribute)):
        found = flow(source).all_given(node)
        texts = unparse(node)
        sorts = [c for c in source.named("sort") if source.owner(c) == texts]
        return (
            len(found) == 1
            and not found[0].places
            and not sorts
            and _is_set(source, found[0].value, depth - 1)
        )
    return False


def _counts_up(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "range"


# what is numbered within one process only, to find it again
_LOOKED_UP = re.compile(r"quer|docs?(?:_|$)|corpus|node|user|item|path|file|passage")


_CLASSES = re.compile(
    r"(?i)class|label|tag|categor|vocab|word|char|token|species|name|stoi|(?:2|_to_?)(?:id|i|ix|idx|index|num)|map"
)


def _holds_objects(call: ast.Call) -> bool:
    """What is numbered are data sets, layers and the like, found again within the process."""
    return re.search(r"(?i)data_?sets?|loaders?|modules?|layers?|params", unparse(call.args[0])) is not None


# weights that another process may meet: written, read back, or trained by several processes
_OUTLIVES = re.compile(
    r"(?i)state_dict|checkpoint|ckpt|restore|resume|load_(?:weights|model|param)|save_(?:weights|model|pretrained|param)"
    r"|(?:net|model)\w*\.save\(|\.export\(|to_onnx|pickle|joblib|init_process_group|spawn|\w+Trainer\("
)


def _lives_once(source: Script) -> bool:
    """The script trains, and its weights end with its process: within it the order of a set stays."""
    return source.trains and not _OUTLIVES.search(source.code)


def _by_set(source: Script) -> Finding | None:
    """`{c: i for i, c in enumerate(set(labels))}`, `classes = list(set(y))` that is indexed."""
    if _lives_once(source):
        return None
    seen: ast.AST | None = None
    for call in source.named("enumerate"):
        if not call.args or not _numbers(source, call):
            continue
        seen = seen or call
        statement = source.statement(call) or call
        looked_up = _LOOKED_UP.search(unparse(getattr(statement, "targets", [call])[0]).lower())
        told = _CLASSES.search(
            unparse(getattr(statement, "targets", [call])[0]) + " " + unparse(call.args[0])
        )
        if _is_set(source, call.args[0]) and not looked_up and (told or not _holds_objects(call)):
            if _read_back(source, statement):
                continue
            return at(
                source, call, "numbers follow the order of a set, which changes from process to process"
            )
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            continue
        if any(source.owner(c) == unparse(node.targets[0]) for c in source.named("sort")):
            continue
        listed = isinstance(node.value, ast.Call) and last_name(node.value.func) in ("list", "tuple")
        name = unparse(node.targets[0])
        if listed and _is_set(source, node.value) and _indexed(source, name):
            return at(
                source, node, "positions follow the order of a set, which changes from process to process"
            )
    return ok(source, seen, "numbers follow a fixed order") if seen is not None else None


def _read_back(source: Script, statement: ast.AST) -> bool:
    """The numbers, or what is made of them, are written to a file that the same function reads."""
    function = source.function_around(statement)
    if function is None:
        return False
    names = {unparse(t) for t in getattr(statement, "targets", [])}
    for node in of(function, ast.Assign):
        if names & names_in(node.value):
            names |= {unparse(t) for t in node.targets}
    calls = of(function, ast.Call)
    kept = any(
        re.search(r"^(?:dump|save\w*|write\w*)$", last_name(c.func)) and names & {unparse(a) for a in c.args}
        for c in calls
    )
    return kept and any(re.search(r"^(?:load\w*|read\w*)$", last_name(c.func)) for c in calls)


def _numbers(source: Script, call: ast.Call) -> bool:
    """The numbers become values: in a dict, or stored under the item."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.comprehension):
        holder = source.parents.get(parent)
        return isinstance(holder, ast.DictComp) and isinstance(parent.target, ast.Tuple)
    if isinstance(parent, ast.Call):
        return last_name(parent.func) == "dict"
    if isinstance(parent, ast.For) and isinstance(parent.target, ast.Tuple):
        first_ = parent.target.elts[0]
        return isinstance(first_, ast.Name) and any(
            isinstance(n.targets[0], ast.Subscript)
            and isinstance(n.value, ast.Name)
            and n.value.id == first_.id
            for n in of(parent, ast.Assign)
        )
    return False


def _indexed(source: Script, name: str) -> bool:
    """The list gives positions: `.index(x)`, columns of a table, enumerate, one output for each."""
    short = name.rsplit(".", 1)[-1]
    if any(source.owner(c).rsplit(".", 1)[-1] == short for c in source.named("index")):
        return True
    told = re.search(r"(?i)class|label|tag|categor|vocab|word|char|token|species|name", short)
    columns = any(unparse(n.slice).rsplit(".", 1)[-1] == short for n in source.of(ast.Subscript))
    numbered = any(
        c.args and unparse(c.args[0]).rsplit(".", 1)[-1] == short for c in source.named("enumerate")
    )
    return told is not None and (columns or numbered)


def _by_hash(source: Script) -> Finding | None:
    for node in source.of(ast.BinOp):
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Call):
            called = node.left
            if last_name(called.func) == "hash" and called.args and "PYTHONHASHSEED" not in source.text:
                text = unparse(called.args[0]).lower()
                statement = source.statement(node) or node
                kept = " ".join(map(unparse, getattr(statement, "targets", []))).lower()
                found_again = re.search(r"cache|slot|location|worker|lock", kept)  # within one process
                asked = [p.arg or "" for p in source.above(node) if isinstance(p, ast.keyword)]
                if any("seed" in arg for arg in asked):
                    continue
                if not re.search(r"seed|path|file|url|key|id\b", text) and not found_again:
                    return at(source, node, "hash() of a text gives another number in every process")
    return None


# --------------------------------------------------------------------------------------- once for each split

_NUMBERS = ("factorize", "LabelEncoder", "fit_transform", "unique", "value_counts", "OrdinalEncoder")


def _dedupes(node: ast.AST, keep_sorted: bool) -> bool:
    """Distinct values in an order of their own: `dict.fromkeys(rows)`, `x.unique()`, factorize."""
    for part in walk(node):
        if (
            isinstance(part, ast.Call)
            and last_name(part.func) in ("sorted", "unique_sorted")
            and not keep_sorted
        ):
            return False
        if isinstance(part, ast.SetComp):
            return True
        if isinstance(part, ast.Call) and last_name(part.func) in (
            "fromkeys",
            "unique",
            "value_counts",
            "set",
        ):
            return True
    return False


def _numberings(source: Script, scope: ast.AST, keep_sorted: bool) -> Iterator[ast.expr]:
    """Expressions that give out numbers to distinct values."""
    for node in of(scope, ast.Call):
        if last_name(node.func) == "factorize":
            yield node
        elif last_name(node.func) == "enumerate" and node.args and _numbers(source, node):
            if _dedupes(node.args[0], keep_sorted):
                yield node
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            if last_name(node.func) == "fit_transform" and last_name(node.func.value.func) == "LabelEncoder":
                yield node
    for column in of(scope, ast.Attribute):
        if column.attr == "codes" and "cat" in unparse(column.value)[-4:]:
            yield column


def _of_held_out(source: Script, of_words: bool) -> Finding | None:
    """Held-out values get numbers of their own, and training values others."""
    every = [n for n in _numberings(source, source.tree, True) if is_table_of_words(source, n) == of_words]
    found = [n for n in every if side(_data_of(n)) is not None]
    held = [n for n in found if side(_data_of(n)) is False]
    mine = [n for n in found if side(_data_of(n)) is True]
    columns = {_column(n) for n in every if n not in held} - {""}
    what = "words" if of_words else "classes"
    if held and (mine or (source.named("map") and not of_words) or _column(held[0]) in columns):
        return at(source, held[0], f"held-out {what} get numbers of their own, which mean other {what}")
    return ok(source, mine[0], f"{what} are numbered by the training data") if mine else None


def _column(node: ast.expr) -> str:
    """The one column whose values are numbered: `rows["track"].astype("category").cat.codes`."""
    texts = [s.slice.value for s in of(node, ast.Subscript) if isinstance(s.slice, ast.Constant)]
    return texts[0] if len(texts) == 1 and isinstance(texts[0], str) else ""


def _table_of_held_out(source: Script) -> Finding | None:
    """`{y: i for i, y in enumerate(... val_labels ...)}` beside another such table of the same labels."""
    tables: list[tuple[ast.DictComp, bool | None]] = []
    for node in source.of(ast.DictComp):
        if len(node.generators) != 1:
            continue
        over = node.generators[0].iter
        counts = isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and bool(over.args)
        if counts and isinstance(over, ast.Call) and not isinstance(node.key, ast.Constant):
            kept = source.parents.get(node)
            name = unparse(kept.targets[0]) if isinstance(kept, ast.Assign) else ""
            if re.search(r"(?i)label|class|target|cat|tag|2id|2idx|to_?idx|to_?id", name):
                tables.append((node, side(_data_of(over.args[0]))))
    held = [t for t, s in tables if s is False]
    if held and len(tables) > len(held):
        return at(source, held[0], "held-out classes get numbers of their own, which mean other classes")
    return None


_ASIDE = {"held", "unseen", "heldout", "holdout"}


def _twin_tables(source: Script) -> Finding | None:
    """`{b: n for n, b in enumerate(sorted(held.book.unique()))}` beside the same of the rows of training."""
    tables: dict[str, list[tuple[ast.DictComp, bool]]] = {}
    for node in source.of(ast.DictComp):
        over = node.generators[0].iter
        if len(node.generators) != 1 or not isinstance(over, ast.Call) or last_name(over.func) != "enumerate":
            continue
        names = [n for n in of(over, ast.Name) if n.id not in ("enumerate", "sorted", "set", "list")]
        roots = {n.id for n in names}
        if len(roots) != 1 or not over.args or _is_set(source, over.args[0]):
            continue
        root = roots.pop()
        text = re.sub(rf"\b{re.escape(root)}\b", "_", unparse(over))
        held = side(root) is False or bool(set(words(root)) & _ASIDE)
        tables.setdefault(text, []).append((node, held))
    for text, found in tables.items():
        apart = [t for t, held in found if held]
        if apart and len(apart) < len(found) and len(text) > len("enumerate(_)"):
            return at(source, apart[0], "held-out values get numbers of their own, which mean others")
    return None


def _data_of(node: ast.expr) -> str:
    return " ".join(n.id if isinstance(n, ast.Name) else n.attr for n in of(node, ast.Name, ast.Attribute))


def _in_shared_function(source: Script) -> Finding | None:
    """A function that both splits go through numbers what it is given."""
    for function in _shared(source):
        parameters = {a.arg for a in function.args.args} - {"self", "cls"}
        for node in _numberings(source, function, False):
            used = names_in(node)
            if used & parameters:
                return at(
                    source, node, "each split is numbered by itself, so that a number means different classes"
                )
        if (turn := numbered_in_turn(function)) is not None:
            return at(source, turn, "each split is numbered by itself, in the order of its rows")
    return None


_EPISODES = re.compile(r"(?i)episode|support|query|n_?way|proto")


def _in_each_batch(source: Script) -> Finding | None:
    """`rows.map(encode)`, where `encode` numbers the values that it finds in its own batch."""
    handed = [
        a
        for c in source.named("map")
        if isinstance(c.func, ast.Attribute)
        for a in (*c.args[:1], *(k.value for k in c.keywords if k.arg == "function"))
    ]
    for name in {a.id for a in handed if isinstance(a, ast.Name)}:
        for function in flow(source).functions.get(name, []):
            parameters = {a.arg for a in function.args.args[:1]} - {"self", "cls"}
            for node in _numberings(source, function, True):
                if names_in(node) & parameters and not _EPISODES.search(unparse(function)):
                    return at(
                        source, node, "each batch is numbered by what occurs in it, so a number means many"
                    )
    return None


def _shared(source: Script) -> Iterator[Function]:
    """Functions and classes that make data of both splits."""
    sides: dict[str, set[bool]] = {}
    for one in given(source):
        for call in of(one.value, ast.Call):
            sides.setdefault(last_name(call.func), set()).add(one.learns)
    for name in flow(source).functions:  # `x, c, y = tensors(train_df)`: by what is handed over
        told = {side(unparse(c.args[0])) for c in source.named(name) if c.args}
        sides.setdefault(name, set()).update(t for t in told if t is not None)
    both = {n for n, s in sides.items() if len(s) == 2}
    for name in both:
        if name in source.classes:
            yield from (
                f
                for f in source.classes[name].body
                if isinstance(f, ast.FunctionDef) and f.name == "__init__"
            )
        yield from flow(source).functions.get(name, [])


_OPTIONS = (
    "class_indexing",
    "class_to_idx",
    "label_map",
    "class_names",
    "classes",
    "categories",
    "labels",
    "label2id",
)


def _one_split_told(source: Script) -> Finding | None:
    """Two readers of the same kind, and only one is told which number a class has."""
    groups: dict[str, list[ast.Call]] = {}
    for call in source.calls:
        if re.search(r"(?i)dataset|folder|from_directory", last_name(call.func)):
            groups.setdefault(last_name(call.func), []).append(call)
    for calls in groups.values():
        told = [[k.arg for k in c.keywords if k.arg in _OPTIONS and not is_none(k.value)] for c in calls]
        spread = any(isinstance(a, ast.Starred) for c in calls for a in c.args) or any(
            k.arg is None for c in calls for k in c.keywords
        )
        if len(calls) < 2 or spread or not any(told):
            continue
        if not all(told):
            lacking = calls[[bool(t) for t in told].index(False)]
            return at(source, lacking, "only one split is told which number each class has")
        return ok(source, calls[0], "both splits are told the numbers of the classes")
    return None


def _unlike_maps(source: Script) -> Finding | None:
    """`train["y"] = train.kind.map(a)` beside `val["y"] = val.kind.map(b)`."""
    made: dict[str, dict[bool, tuple[ast.AST, str]]] = {}
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], ast.Subscript):
            continue
        target, value = node.targets[0], node.value
        learns = side(unparse(target.value))
        if (
            learns is None
            or not isinstance(value, ast.Call)
            or last_name(value.func) not in ("map", "replace")
        ):
            continue
        how = unparse(value.args[0]) if value.args else ""
        made.setdefault(unparse(target.slice), {})[learns] = (node, how)
    for sides in made.values():
        if len(sides) == 2:
            (_, ours), (place, theirs) = sides[True], sides[False]
            if ours != theirs:
                return at(
                    source, place, "the held-out labels are numbered by another table than those of training"
                )
            return ok(source, place, "labels of both splits are numbered by one table")
    return None


# --------------------------------------------------------------------------------------- words


@probe()
def words_numbered_apart(view: View) -> Finding:
    """Token ids do not fit the model's embedding: another vocabulary, tokenizer or item size."""
    return first(
        view,
        either(
            own_vocabulary_of_held_out,
            _vocabulary_of_held_out,
            partial(_of_held_out, of_words=True),
            _vocabulary_of_each_part,
            _other_tokenizer,
            _no_item_type,
            told_at(words_apart),
            partial(numbered_apart, labels=False),
            table_too_small,
            fewer_rows_than_words,
            more_words_than_rows,
            *(fewer_answers_than_classes, languages_crossed),
            numbered_anew,
            unknown_is_a_word,
            padding_is_a_word,
            table_not_grown,
            numbered_for_pretrained,
            numbers_over_reserved,
            raw_ids_taken,
            first_item_is_padding,
        ),
        "the scripts make no token ids",
    )


def _vocabulary_of_held_out(source: Script) -> Finding | None:
    calls = [
        c
        for c in source.calls
        if c.args and re.search(r"(?i)vocab|fit_on_texts|build_dict|word2i", _called(c))
    ]
    mine = [c for c in calls if side(unparse(c.args[0])) is True]
    held = [c for c in calls if side(unparse(c.args[0])) is False]
    built = [c for c in held if not re.search(r"(?i)encode|lookup|numerical|to_ids|len", _called(c))]
    data = [c for c in built if not _passes_vocabulary(c)]
    if mine and data and any(_called(m) == _called(d) for m in mine for d in data):
        return at(source, data[0], "held-out texts get a vocabulary of their own")
    return ok(source, mine[0], "the vocabulary comes from the training texts") if mine else None


def _vocabulary_of_each_part(source: Script) -> Finding | None:
    """A function that both splits go through makes a vocabulary of the rows that it is given."""
    for function in _shared(source):
        parameters = {a.arg for a in function.args.args} - {"self", "cls"}
        for call in of(function, ast.Call):
            owner = source.classes.get(last_name(call.func))
            if owner is None or not re.search(r"(?i)vocab|tokeni[sz]er|lexicon|dictionary", owner.name):
                continue
            if not call.args or not names_in(call.args[0]) & parameters or _is_chosen(source, call):
                continue
            numbers = [c for c in of(owner, ast.Call) if last_name(c.func) in ("enumerate", "setdefault")]
            if numbers or re.search(r"\] = len\(", unparse(owner)):
                return at(source, call, "each split gets a vocabulary of its own: a number means other words")
    return None


def _is_chosen(source: Script, node: ast.AST) -> bool:
    """It is made only where none is handed in, or for training alone: `vocab or Vocab(rows)`."""
    return any(isinstance(p, (ast.If, ast.IfExp, ast.BoolOp)) for p in source.above(node))


def _called(call: ast.Call) -> str:
    return last_name(call.func)


def _passes_vocabulary(call: ast.Call) -> bool:
    rest = [*call.args[1:], *(k.value for k in call.keywords)]
    return any(re.search(r"(?i)vocab", unparse(a)) for a in rest)


_FAMILY = re.compile(
    r"multilingual|chinese|uncased|cased|roberta|distil|albert|electra|deberta|gpt2|t5|llama|qwen|xlm"
)


def _other_tokenizer(source: Script) -> Finding | None:
    tokens = [c for c in source.named("from_pretrained") if "okeniz" in source.owner(c) and c.args]
    models = [
        c
        for c in source.named("from_pretrained")
        if c.args and re.search(r"Model|For[A-Z]\w+$", source.owner(c)) and "okeniz" not in source.owner(c)
    ]
    if len(tokens) != 1 or not models:
        return None
    mine = literal(source, tokens[0].args[0])
    names = {literal(source, m.args[0]) for m in models}
    if not isinstance(mine, str) or not all(isinstance(n, str) for n in names):
        return None
    theirs = [str(n) for n in names]
    if mine in theirs:
        return ok(source, tokens[0], "tokenizer and model come from one checkpoint")
    marks = [set(_FAMILY.findall(n.lower())) - {"distil"} for n in (mine, *theirs)]
    if not any(marks[0] == m for m in marks[1:]):
        return at(source, tokens[0], f"the tokenizer is that of {mine}, the model {theirs[0]}")
    return None


def _no_item_type(source: Script) -> Finding | None:
    """`np.memmap(path)` reads bytes, `np.fromfile(path)` doubles; token ids are neither."""
    if not source.named("Embedding"):
        return None
    calls = [c for c in source.named("memmap", "fromfile") if source.owner(c) in ("np", "numpy")]
    for call in calls:
        if keyword(call, "dtype") is None and len(call.args) < 2:
            kind = "bytes" if _called(call) == "memmap" else "doubles"
            return at(source, call, f"without dtype the file of token ids is read as {kind}")
    return ok(source, calls[0], "the file of token ids is read with its type") if calls else None
