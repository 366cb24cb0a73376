"""Language models in scripts: what follows what, where texts end, templates, what is read of answers."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false, is_true, whole_number
from ..shared.origins import origins


def told_what_is_asked(source: Script) -> Finding | None:
    """`loss(net(src, tgt), tgt)` of a decoder: it is handed the word that it has to foretell."""
    if not _writes(source):
        return None
    for call in source.calls:
        if len(call.args) < 2 or not isinstance(call.args[1], (ast.Name, ast.Attribute)):
            continue
        said, truth = call.args[0], unparse(call.args[1])
        inner = said if isinstance(said, ast.Call) else flow(source).whole_given(said)
        if not isinstance(inner, ast.Call) or len(inner.args) < 2 or unparse(inner.args[1]) != truth:
            continue
        made = flow(source).made(inner.func) if isinstance(inner.func, (ast.Name, ast.Attribute)) else None
        forward = next((f for f in source.forwards if made is not None and f in made.body), None)
        if (
            made is None
            or forward is None
            or not re.search(r"(?i)loss|nll|entropy|crit|\bce\b", last_name(call.func))
        ):
            continue
        cuts = [s for s in of(made, ast.Slice) if unparse(s) in (":-1", "1:")]
        moves = re.search(r"\.roll\(|shift|F\.pad|\bpad\(", unparse(made))
        scope = source.function_around(call) or source.tree
        if (
            not cuts
            and moves is None
            and takes_gradients(source, scope)
            and not _same_name_cut(scope, truth, inner)
        ):
            return at(source, call, "the decoder is handed the word that it has to foretell at each place")
    return None


def _writes(source: Script) -> bool:
    """The program writes text with its network: a loop that joins what was said to what it asks by next."""
    for loop in source.of(ast.For, ast.While):
        for node in of(loop, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Call) and node.value.args:
                if last_name(node.value.func) in ("cat", "concat", "concatenate"):
                    if target.id in names_in(node.value.args[0]):
                        return True
    return False


def _same_name_cut(scope: ast.AST, truth: str, call: ast.Call) -> bool:
    """`src, tgt = ids[:, :-1], ids[:, 1:]` under one name before: what is handed is cut already."""
    return any(
        isinstance(n, ast.Assign)
        and truth in {unparse(t) for t in n.targets}
        and re.search(r":-1|1:", unparse(n.value)) is not None
        for n in of(scope, ast.Assign)
    ) and bool(call.args)


_END = re.compile(r"(?i)^(?:\w+\.)*(?:\w+_)?(?:eos|end|sep)(?:_\w+)?$")
_BEGIN = re.compile(r"(?i)^(?:\w+\.)*(?:\w+_)?(?:bos|sos|start|cls)(?:_\w+)?$")


def answers_never_end(source: Script) -> Finding | None:
    """`[BOS] + ids` is learnt, and writing stops at `EOS`, which no answer ends in."""
    begun: list[tuple[ast.BinOp, bool]] = []
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Add) or isinstance(source.parents.get(node), ast.BinOp):
            continue
        terms = _terms(node)
        first, last = _mark(terms[0]), _mark(terms[-1])
        if first and _BEGIN.match(first):
            begun.append((node, bool(last and _END.match(last))))
    if not begun or any(ends for _, ends in begun):
        return None
    ends = [
        n
        for n in source.of(ast.Name, ast.Attribute)
        if _END.match(unparse(n)) and isinstance(n.ctx, ast.Load)
    ]
    asked = [n for n in ends if isinstance(source.parents.get(n), (ast.Compare, ast.Call))]
    appended = [c for c in source.named("append") if c.args and _END.match(unparse(c.args[0]))]
    put = [
        n
        for n in source.of(ast.Assign)
        if _END.match(unparse(n.value)) and isinstance(n.targets[0], ast.Subscript)
    ]
    others = [
        n
        for n in source.of(ast.BinOp)
        if isinstance(n.op, ast.Add) and (m := _mark(_terms(n)[-1])) and _END.match(m)
    ]
    # what another function ends may be what is begun here
    beside = any(source.function_around(n) is source.function_around(begun[0][0]) for n in others)
    if asked and not appended and not put and beside:
        return at(source, begun[0][0], "answers are begun and never ended, and writing stops at the end mark")
    return None


def _terms(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _mark(node: ast.expr) -> str:
    """`BOS` of `[BOS]`."""
    if (
        isinstance(node, ast.List)
        and len(node.elts) == 1
        and isinstance(node.elts[0], (ast.Name, ast.Attribute))
    ):
        return unparse(node.elts[0])
    return ""


# ------------------------------------------------------------------------------------------------ templates


def prompt_without_turn(source: Script) -> Finding | None:
    """A template ends with the user's turn, and the answer follows without the mark of who speaks."""
    for call in source.named("apply_chat_template"):
        if (
            not call.args
            or is_true(keyword(call, "add_generation_prompt"))
            or any(k.arg is None for k in call.keywords)
        ):
            continue
        given = keyword(call, "add_generation_prompt")
        if given is not None and not is_false(given):
            continue
        roles = _roles(source, call.args[0])
        if not roles or roles[-1] != "user":
            continue
        others = [c for c in source.named("apply_chat_template") if c is not call]
        if any(is_true(keyword(o, "add_generation_prompt")) for o in others):
            return at(
                source,
                call,
                "the prompt ends without the mark of who answers, which is there when it is used",
            )
    return None


def _roles(source: Script, node: ast.expr) -> list[str]:
    """The roles of messages that are written out."""
    for value in (node, *flow(source).values(node, 3)):
        if isinstance(value, ast.List) and all(isinstance(e, ast.Dict) for e in value.elts):
            found = []
            for one in value.elts:
                pairs = zip(one.keys, one.values, strict=True)  # type: ignore[attr-defined]
                told = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "role"]
                found.append(str(told[0].value) if told and isinstance(told[0], ast.Constant) else "")
            return found
    return []


def asked_without_template(source: Script, labels: bool = False) -> Finding | None:
    """Training puts its prompts through a chat template, and what is generated from is plain text."""
    templates = source.named("apply_chat_template")
    if not templates or labels:
        return None
    for call in source.named("generate"):
        if not isinstance(call.func, ast.Attribute):
            continue
        given = [*call.args, *(k.value for k in call.keywords if k.arg in (None, "input_ids", "inputs"))]
        made = [o for g in given for o in origins(source, g, 6)]
        if not made or any(
            isinstance(o, ast.Call) and last_name(o.func) == "apply_chat_template" for o in made
        ):
            continue
        asked = [o for o in made if isinstance(o, ast.Call) and _is_tokenizer(source, o)]
        trained = [t for t in templates if not _beside(source, t, call)]
        texts = [unparse(a) for o in asked for a in o.args[:1]]
        if (
            asked
            and len(trained) == len(templates)
            and any("content" in t or "prompt" in t or "instruction" in t for t in texts)
        ):
            return at(
                source,
                asked[0],
                "training puts prompts through the chat template, and this one is plain text",
            )
    return None


def _is_tokenizer(source: Script, call: ast.Call) -> bool:
    return any(
        isinstance(v, ast.Call) and last_name(v.func) == "from_pretrained" and "Tokenizer" in unparse(v.func)
        for v in flow(source).values(call.func, 4)
        if isinstance(call.func, (ast.Name, ast.Attribute))
    )


def _beside(source: Script, one: ast.AST, other: ast.AST) -> bool:
    """Both stand in one loop, or in one function."""
    around = source.function_around(one)
    if around is not None and around is source.function_around(other):
        return True
    return bool(set(source.loops_around(one)) & set(source.loops_around(other)))


def prompt_scored_along(source: Script) -> Finding | None:
    """`decode(net.generate(**enc)[0])` of a decoder is held against the answer, prompt and all."""
    if "CausalLM" not in source.code:
        return None
    for call in source.named("decode", "batch_decode"):
        if not call.args or not call.args or not isinstance(call.func, ast.Attribute):
            continue
        given = call.args[0]
        root = (
            given.value
            if isinstance(given, ast.Subscript) and whole_number(given.slice) is not None
            else given
        )
        made = flow(source).whole_given(root) if isinstance(root, ast.Name) else root
        if (
            not isinstance(made, ast.Call)
            or last_name(made.func) != "generate"
            or not isinstance(made.func, ast.Attribute)
        ):
            continue
        if "embeds" in unparse(made) or not _causal(source, made.func.value):
            continue
        statement = source.statement(call)
        names = {t.id for t in getattr(statement, "targets", []) if isinstance(t, ast.Name)}
        scope = source.function_around(call) or source.tree
        for test in of(scope, ast.Compare):
            if len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
                sides = [_stripped(s) for s in (test.left, test.comparators[0])]
                if any(s in names or s == unparse(call) for s in sides) and not _cut_later(scope, names):
                    return at(
                        source, call, "the text begins with the prompt, and is held against the answer alone"
                    )
    return None


def _causal(source: Script, node: ast.expr) -> bool:
    """A decoder alone: `AutoModelForCausalLM`, by itself or under an adapter."""
    values = (*flow(source).values(node, 6), *origins(source, node, 6))
    return any("CausalLM" in unparse(v) for v in values) and not any("Seq2Seq" in unparse(v) for v in values)


def _stripped(node: ast.expr) -> str:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    return unparse(node)


def _cut_later(scope: ast.AST, names: set[str]) -> bool:
    """`text = text[len(prompt):]`, `text.split("Answer:")[-1]`, `text.replace(prompt, "")`."""
    return any(
        isinstance(s.value, (ast.Name, ast.Call)) and names & names_in(s.value)
        for s in of(scope, ast.Subscript)
    ) or any(
        isinstance(c.func, ast.Attribute)
        and c.func.attr in ("split", "replace", "removeprefix", "partition", "rpartition")
        and names & names_in(c.func.value)
        for c in of(scope, ast.Call)
    )


def adapter_left_behind(source: Script) -> Finding | None:
    """An adapter is learnt, and the texts that are scored are written by the base model, loaded anew."""
    adapted = source.named("get_peft_model")
    if (
        not adapted
        or source.named("load_adapter", "merge_and_unload")
        or "PeftModel" in source.code.replace("import", "")
    ):
        if not adapted or "PeftModel." in source.code or source.named("load_adapter", "merge_and_unload"):
            return None
    for call in source.named("generate"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(owner, (ast.Name, ast.Attribute)):
            continue
        for value in flow(source).values(owner, 4):
            loads = [c for c in of(value, ast.Call) if last_name(c.func) == "from_pretrained"]
            if not loads or not all("Model" in unparse(c.func) and c.args for c in loads):
                continue
            first = min(a.lineno for a in adapted)
            if loads[0].lineno > first and not _holds_adapter(source, loads[0]):
                return at(
                    source, loads[0], "the base model is loaded anew, without the adapter that was learnt"
                )
    return None


def _holds_adapter(source: Script, load: ast.Call) -> bool:
    """It is loaded from where the adapter was saved."""
    saved = {unparse(c.args[0]) for c in source.named("save_pretrained") if c.args}
    return bool(load.args) and unparse(load.args[0]) in saved


# ------------------------------------------------------------------------------------------------- schedules


def halves_never_meet(source: Script) -> Finding | None:
    """`min(step ** -0.5, step * warm ** -0.5)`: rise and fall are far apart where they meet."""
    for call in source.named("min", "minimum"):
        if len(call.args) != 2:
            continue
        names = [sorted(_names(a)) for a in call.args]
        both = next((n for n in names if len(n) == 2), None)
        one = next((n for n in names if len(n) == 1), None)
        if both is None or one is None or one[0] not in both:
            continue
        if not any(isinstance(n.op, ast.Pow) for a in call.args for n in of(a, ast.BinOp)):
            continue
        warm = next(n for n in both if n != one[0])
        if "warm" not in warm.lower() and not re.search(r"(?i)warm|noam|rate|lr", source.function_name(call)):
            continue
        values = [_worked(a, {one[0]: 4000.0, warm: 4000.0}) for a in call.args]
        if None in values or not all(v and v > 0 for v in values):
            continue
        share = values[0] / values[1]  # type: ignore[operator]
        if share > 3 or share < 1 / 3:
            return at(source, call, "where the warm-up ends the rise and the fall are far apart")
    return None


def _names(node: ast.expr) -> set[str]:
    called = {unparse(c.func) for c in of(node, ast.Call)}
    found = {unparse(n) for n in of(node, ast.Attribute)} | {
        n.id for n in of(node, ast.Name) if not any(n is a.value for a in of(node, ast.Attribute))
    }
    return {f for f in found if not any(c == f or c.startswith(f + ".") for c in called)}


def _worked(node: ast.expr, known: dict[str, float]) -> float | None:
    """The number of an expression of powers and products."""
    if unparse(node) in known:
        return known[unparse(node)]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _worked(node.operand, known)
        return -inner if inner is not None else None
    if isinstance(node, ast.BinOp):
        left, right = _worked(node.left, known), _worked(node.right, known)
        if left is None or right is None:
            return None
        try:
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Div):
                return left / right
            if isinstance(node.op, ast.Pow) and left > 0 and abs(right) < 9:
                return float(left**right)
        except (OverflowError, ZeroDivisionError):
            return None
    if isinstance(node, ast.Call) and last_name(node.func) in ("rsqrt", "sqrt", "pow") and node.args:
        inner = _worked(node.args[0], known)
        if inner is None or inner <= 0:
            return None
        if last_name(node.func) == "pow":
            power = _worked(node.args[1], known) if len(node.args) > 1 else None
            return float(inner**power) if power is not None else None
        return float(inner**0.5) if last_name(node.func) == "sqrt" else float(inner**-0.5)
    return None
