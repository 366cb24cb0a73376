"""Frames, transforms and filters of sound that do not fit one another, by the figures of the script."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import number

_SOUND = re.compile(
    r"(?i)torchaudio|librosa|soundfile|wavfile|\bstft\b|rfft|spectrogram|mel_?filter|melscale"
)
_NAMES = {
    "hop": re.compile(r"(?i)^(?:\w*_)?hop(?:_?(?:length|len|size|samples))?$"),
    "win": re.compile(
        r"(?i)^(?:win(?:dow)?(?:_?(?:length|len|size|samples))|win|frame_?(?:length|len|size))$"
    ),
    "fft": re.compile(r"(?i)^(?:n_?fft|fft_?(?:size|length|len))$"),
    "rate": re.compile(r"(?i)^(?:sr|fs|sample_?rate|sampling_?rate|rate_?hz)$"),
    "top": re.compile(r"(?i)^f_?max$"),
}


def _figures(source: Script) -> Iterator[tuple[ast.AST, dict[str, float]]]:
    """Figures that belong together: the keywords of one call, or constants at one level of the script."""
    for call in source.calls:
        found = {
            what: v
            for k in call.keywords
            for what, name in _NAMES.items()
            if k.arg and name.match(k.arg) and (v := number(source, k.value)) is not None
        }
        if len(found) > 1:
            yield call, found
    levels: dict[ast.AST | None, dict[str, list[tuple[float, ast.AST]]]] = {}
    for node in source.of(ast.Assign, ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        pairs = [(target, node.value)]
        if (
            isinstance(target, ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(target.elts) == len(node.value.elts)
        ):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
        for one, value in pairs:
            for what, name in _NAMES.items():
                if isinstance(one, (ast.Name, ast.Attribute)) and name.match(last_name(one)):
                    known = number(source, value) if isinstance(value, ast.Constant) else None
                    if known is not None:
                        level = source.function_around(node) or source.class_around(node)
                        levels.setdefault(level, {}).setdefault(what, []).append((known, node))
    for group in levels.values():
        if all(len(v) == 1 for v in group.values()) and len(group) > 1:
            last = max((v[0][1] for v in group.values()), key=lambda n: getattr(n, "lineno", 0))
            yield last, {what: v[0][0] for what, v in group.items()}


def frames_do_not_fit(source: Script) -> Finding | None:
    """A hop longer than its window, a window longer than the transform, filters above half the rate.

    Samples between two frames are never seen; a transform cuts a longer window off; above half the sample
    rate there is nothing to filter.
    """
    if not _SOUND.search(source.code):
        return None
    seen = None
    for node, known in _figures(source):
        if any(v < 2 for v in known.values()):
            continue  # seconds, or shares
        win = known.get("win", known.get("fft"))
        seen = seen or node
        if "hop" in known and win is not None and known["hop"] > win:
            return at(
                source,
                node,
                f"frames of {win:g} samples are taken each {known['hop']:g}: what lies between is never seen",
            )
        if "fft" in known and "win" in known and known["win"] > known["fft"] > 16 * 2:
            return at(
                source,
                node,
                f"windows of {known['win']:g} samples are cut off by a transform of {known['fft']:g}",
            )
        if "top" in known and "rate" in known and known["top"] > known["rate"] / 2 > 100:
            return at(
                source,
                node,
                f"filters up to {known['top']:g} Hz, where a rate of {known['rate']:g} holds half of it",
            )
    return ok(source, seen, "window, hop and rate fit") if seen is not None else None


def bins_to_whole_rate(source: Script) -> Finding | None:
    """`linspace(0, rate, n_fft // 2 + 1)`: the last bin of a real transform lies at half the rate."""
    for call in source.named("linspace"):
        if len(call.args) < 3 or not isinstance(call.args[1], (ast.Name, ast.Attribute)):
            continue
        if _NAMES["rate"].match(last_name(call.args[1])) and re.search(
            r"(?i)fft\w*\)? // 2 \+ 1", unparse(call.args[2])
        ):
            return at(source, call, "the bins of the transform end at half the rate, not at the whole of it")
    return None


def mel_of_two_formulas(source: Script) -> Finding | None:
    """2595 goes with the logarithm of base ten, 1127 with the natural one."""
    seen = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            value = factor.value if isinstance(factor, ast.Constant) else None
            if (
                not isinstance(value, (int, float))
                or not isinstance(other, ast.Call)
                or "700" not in unparse(other)
            ):
                continue
            name = last_name(other.func)
            seen = seen or node
            if (2590 < value < 2600 and name in ("log", "log1p")) or (
                1120 < value < 1130 and name == "log10"
            ):
                return at(source, node, f"{value:g} goes with another logarithm: this scale is no mel")
    return ok(source, seen, "mel by one formula") if seen is not None else None


_READS = re.compile(r"(?:^|\.)(?:read|load)$")


def resampled_backwards(source: Script) -> Finding | None:
    """`resample_poly(x, rate_of_file, wanted)`: up and down exchanged; or the file's own rate as target."""
    seen = None
    for call in source.named("resample_poly", "resample", "Resample"):
        scope = source.function_around(call) or source.tree
        own = _own_rates(scope)
        if not own:
            continue
        name = last_name(call.func)
        if name == "resample_poly" and len(call.args) >= 3:
            new, old = call.args[1], call.args[2]
        elif name == "Resample" and len(call.args) >= 2:
            old, new = call.args[0], call.args[1]
        else:
            had, wanted = (
                keyword(call, "orig_sr") or keyword(call, "orig_freq"),
                keyword(call, "target_sr") or keyword(call, "new_freq"),
            )
            if had is None or wanted is None:
                if name != "resample" or len(call.args) < 3 or "torchaudio" not in source.code:
                    continue
                had, wanted = call.args[1], call.args[2]
            old, new = had, wanted
        if not isinstance(old, (ast.Name, ast.Attribute)) or not isinstance(new, (ast.Name, ast.Attribute)):
            continue
        seen = seen or call
        if unparse(new) in own and unparse(old) not in own:
            return at(source, call, "resampled the wrong way: the rate of the file is the one to come from")
    return ok(source, seen, "resampled from the rate of the file") if seen is not None else None


def _own_rates(scope: ast.AST) -> set[str]:
    """Names that hold the rate of a file: `rate, x = wavfile.read(f)`, `x, rate = torchaudio.load(f)`."""
    found = set()
    for node in of(scope, ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(node.value, ast.Call):
            continue
        text = unparse(node.value.func)
        if _READS.search(text):
            place = 0 if "wavfile" in text else 1
            found |= names_in(target.elts[place])
    return found


def stored_sound_overwritten(source: Script) -> Finding | None:
    """`masked(X[i])` of a function that writes into what it is given: the masks pile up from epoch to epoch.

    Right where the function copies first, or the container is made anew for each epoch.
    """
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
        if not names or not re.search(
            r"\brandom\b|\brand(?:int|n|om)?\(|\brng\b|uniform\(", unparse(function)
        ):
            continue
        name = names[0]
        rebound = [t for t in of(function, ast.Name) if t.id == name and isinstance(t.ctx, ast.Store)]
        written = [
            a
            for a in of(function, ast.Assign)
            if isinstance(a.targets[0], ast.Subscript)
            and unparse(a.targets[0].value) == name
            and isinstance(a.value, ast.Constant)
            and of(a.targets[0].slice, ast.Slice)
        ]
        if rebound or not written:
            continue
        for call in flow(source).calls_of(function):
            given = argument(call, position=0)
            if (
                isinstance(given, ast.Subscript)
                and not isinstance(given.slice, ast.Slice)
                and _kept(source, given.value)
            ):
                return at(source, written[0], "written into the stored sample: masks pile up over the epochs")
    return None


def _kept(source: Script, node: ast.expr) -> bool:
    """A list that the script fills once at its top: `X = []`, `X = [read(f) for f in files]`."""
    text = unparse(node)
    if isinstance(node, ast.Name):
        return any(
            (
                isinstance(a.value, (ast.List, ast.ListComp))
                and source.function_around(a) is None
                and text in {unparse(t) for x in a.targets for t in of(x, ast.Name)} | {unparse(a.targets[0])}
            )
            or (
                isinstance(a.value, ast.Tuple)
                and isinstance(a.targets[0], ast.Tuple)
                and text in names_in(a.targets[0])
                and source.function_around(a) is None
                and all(isinstance(v, ast.List) for v in a.value.elts)
            )
            for a in source.of(ast.Assign)
        )
    return False
