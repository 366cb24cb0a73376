"""A table of words that a script's own class makes of the texts that it is given, for each side anew."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...script_diff.vocabulary import word_set
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import side

_COUNTS_UP = re.compile(
    r"setdefault\(.+len\(|enumerate\((?:sorted\(|set\(|\w*[cC]ount|list\()|\] = len\((?:self\.|\w+\))"
)
_LOOKS = word_set("len set print sorted info save dump dumps type max")
_OF_WORDS = re.compile(r"(?i)vocab|tokeni[sz]er|lexicon|dictionary|wordindex|indexer|numberer|codec")


def own_vocabulary_of_held_out(source: Script) -> Finding | None:
    """`Tokenizer(train_texts)` and `Tokenizer(val_texts)`, where the class numbers the words that it meets.

    Not told: a table that is only counted, or compared with the other one, and one whose class is handed a
    table that is there.
    """
    made: dict[str, dict[bool, ast.Call]] = {}
    for call in source.calls:
        owner = source.classes.get(last_name(call.func))
        if owner is None or not call.args or not _OF_WORDS.search(owner.name) or not _numbers(owner):
            continue
        learns = side(_texts(source, call.args[0]))
        others = [*call.args[1:], *(k.value for k in call.keywords)]
        if learns is not None and not any(_OF_WORDS.search(unparse(o)) for o in others):
            made.setdefault(owner.name, {}).setdefault(learns, call)
    for sides in made.values():
        if len(sides) == 2 and _is_used(source, sides[False]):
            return at(source, sides[False], "held-out texts get a vocabulary of their own")
    return None


def _texts(source: Script, given: ast.expr) -> str:
    """The names of what is gone over, without those that a comprehension makes itself."""
    own = {n.id for g in of(given, ast.comprehension) for n in of(g.target, ast.Name)}
    told = sorted(names_in(given) - own)
    kept = [unparse(flow(source).whole_given(n) or n) for n in of(given, ast.Name) if n.id in told]
    return " ".join(told) if side(" ".join(told)) is not None else " ".join(kept)


def _numbers(owner: ast.ClassDef) -> bool:
    """Where it is made it gives each word a number that it has not met."""
    begins = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
    if begins is None or len(begins.args.args) < 2:
        return False
    text = unparse(begins)
    return _COUNTS_UP.search(text) is not None


def _is_used(source: Script, call: ast.Call) -> bool:
    """Texts are numbered by the table: what holds it is handed on, or called."""
    kept = source.parents.get(call)
    if not isinstance(kept, ast.Assign) or not isinstance(kept.targets[0], (ast.Name, ast.Attribute)):
        return isinstance(kept, (ast.Call, ast.keyword)) and _numbers_texts(kept)
    name = unparse(kept.targets[0])
    for other in source.calls:
        handed = any(unparse(a) == name for a in (*other.args, *(k.value for k in other.keywords)))
        if (handed and _numbers_texts(other)) or unparse(other.func) == name:
            return True
        if isinstance(other.func, ast.Attribute) and unparse(other.func.value) == name:
            if re.search(r"(?i)encode|transform|to_ids|lookup|numerical|ids$", other.func.attr):
                return True
    return False


def _numbers_texts(node: ast.AST) -> bool:
    return not (isinstance(node, ast.Call) and last_name(node.func) in _LOOKS)
