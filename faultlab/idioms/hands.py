"""How people write the names of the two sides of their data: one program, in the names of several hands."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

_SIDED = re.compile(
    r"(train|test|val|valid)_(loader|set|data|dataset|ds|dl|df|iter|images|labels|texts|sampler|part|dir|idx)"
)
_OF_SIDE = re.compile(r"([Xxy])_(train|test|val)")
_SHORT = {"train": "tr", "test": "te", "val": "va", "valid": "va"}

HANDS: dict[str, Callable[[str, str], str]] = {
    "together": lambda side, what: side + what,  # trainloader
    "camel": lambda side, what: side + what.capitalize(),  # trainLoader
    "turned": lambda side, what: f"{what}_{side}",  # loader_train
    "short": lambda side, what: f"{_SHORT[side]}_{what}",  # tr_loader, X_tr
}


def rewritten(text: str, hand: str) -> str | None:
    """A program with its names of data as a hand of HANDS writes them; None where none of them changes.

    Names of keywords, and names after a dot but for those of `self`, are those of libraries and stay.
    """
    tree = ast.parse(text)
    known = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    known |= {
        n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "self"
    }
    kept = {k.arg for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords}
    made: dict[str, str] = {}
    for name in known - kept:
        if (found := _SIDED.fullmatch(name)) is not None:
            made[name] = HANDS[hand](found[1], found[2])
        elif hand == "short" and (found := _OF_SIDE.fullmatch(name)) is not None:
            made[name] = f"{found[1]}_{_SHORT[found[2]]}"
    if not made or known & set(made.values()) or len(set(made.values())) < len(made):
        return None
    names = "|".join(sorted(map(re.escape, made), key=len, reverse=True))
    return re.sub(rf"(?<![\w'\"])(self\.|(?<!\.))({names})\b(?!['\"])", lambda m: m[1] + made[m[2]], text)
