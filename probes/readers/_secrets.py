"""Keeps secrets out of everything that is read: by the key's name and by the value's shape."""

from __future__ import annotations

import re
from collections import Counter
from math import log2

HIDDEN = "***"
_SHORTEST = 8  # no secret is shorter, with its name

_KEY = re.compile(
    r"token|secret|passw|passphrase|credential|cookie|api_?key|access_?key|private_?key|auth|dsn|bearer|"
    r"(?:^|_)key$|(?:^|_)pwd$|webhook|signature|connection_?str",
    re.IGNORECASE,
)
# Keys that hold one of the words above and are about training.
_HARMLESS_KEY = re.compile(
    r"tokeni[sz]|tokens|token_(?:id|ids|ratio|len|length|limit|type|type_id|num|drop\w*|prob|mix\w*|size|dim|idx|index"
    r"|mask\w*|merging|loss|count|per\w*|embed\w*)|(?:pad|eos|bos|unk|mask|cls|sep|image|video|audio|begin|end|start"
    r"|special|max|num|n|min|per|decoder_start|next|multi|cls|dist|class|register|stop|bad|prefix|suffix|forced_\w+)"
    r"_?token|author|key_?frames?|key_?points?|key_?dim|key_?size|key_?value|query_key|monitor|metric|"
    r"(?:sort|label|image|input|target|text|group|data|class|feature|primary|column|batch|train|val|json)_key$|"
    r"auto_key|authentic|per_token",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\bhf_[A-Za-z0-9]{20,}|\bAKIA[0-9A-Z]{12,}|\bASIA[0-9A-Z]{12,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*"
    r"|\bAIza[0-9A-Za-z_-]{30,}|\bglpat-[A-Za-z0-9_-]{16,}|\bpypi-[A-Za-z0-9_-]{30,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|(?<=hooks\.slack\.com/services/)[\w/]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----|[\s\S]*)"
)
# `password=...` inside a connection string, a query or a line of code, `Authorization: Bearer ...`.
_ASSIGNED = re.compile(
    r"((?<![\w-])[\w-]{0,40}?(?:token|secret|passw(?:or)?d|pwd|api_?key|(?:access|account|secret|private)_?key"
    r"|credentials?|signature|(?<![\w-])sig)[\"']?\s*[=:]\s*[\"']?)([^\s\"',;&)]{3,})",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)?\s*|\bbearer\s+(?=\S*\d))[^\s\"',]{6,}",
    re.IGNORECASE,
)
# `wandb.login(key="...")`, `login("...")`: whatever a script logs in with
_LOGIN = re.compile(r"(?<=login\()[^()]*(?=\))|(?<=login\()[^()]*$", re.IGNORECASE)
_TEXT = re.compile(r"\"[^\"]*\"?|'[^']*'?")
# What stands after such a name and opens no door: nothing, a switch, an expression of code.
_OPEN = re.compile(r"\*{3}|true|false|none|null|auto|[A-Za-z_][\w.]*[(\[{.].*|[\[{(<].*", re.IGNORECASE)
_WORD = re.compile(r"\d{1,9}|[a-z]+", re.IGNORECASE)  # a token may also be one of a text
_PASSWORD = re.compile(r"passw|pwd|secret|key", re.IGNORECASE)
_URL = re.compile(r"(?<=://)[^/\s\"'<>]*:[^/\s\"'<>]*(?=@)|(?<=://)[^/\s:@]{16,}(?=@)")
_WANDB = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
_RANDOM = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{40,}={0,2}(?![A-Za-z0-9+/=_-])")
_RANDOM_BITS = (
    4.6  # per character; 40 random letters and digits have about 4.8, paths and names stay below 4.4
)
_COMMIT_KEY = re.compile(r"commit|sha|hash|revision|git|checksum|version|digest", re.IGNORECASE)


def secret_key(key: str) -> bool:
    """Say whether a dotted key names something secret."""
    last = re.split(r"[./]", key)[-1].replace("-", "_")
    return bool(_KEY.search(last)) and not _HARMLESS_KEY.search(last)


def redact(key: str, text: str) -> str:
    """Return the text with secrets replaced by three stars; the whole of it when the key names a secret."""
    if secret_key(key) and text:
        return HIDDEN
    if len(text) < _SHORTEST:
        return text
    text = _VALUE.sub(HIDDEN, text)
    text = _URL.sub(HIDDEN, text) if "://" in text else text
    text = _HEADER.sub(rf"\1{HIDDEN}", text)
    text = _ASSIGNED.sub(_unless_plain, text)
    text = _LOGIN.sub(lambda m: _TEXT.sub(HIDDEN, m.group()), text) if "login(" in text.lower() else text
    if _COMMIT_KEY.search(key):
        return text
    return _RANDOM.sub(lambda m: HIDDEN if _is_random(m.group()) else m.group(), _WANDB.sub(HIDDEN, text))


def _unless_plain(match: re.Match[str]) -> str:
    name, value = match.groups()
    if _OPEN.fullmatch(value) or (_WORD.fullmatch(value) and not _PASSWORD.search(name)):
        return match.group()
    if _HARMLESS_KEY.search(name.rstrip(" =:\"'").replace("-", "_")):
        return match.group()
    return f"{name}{HIDDEN}"


def _is_random(word: str) -> bool:
    """A key in base64: letters of both cases and digits, spread as chance spreads them."""
    kinds = (str.isupper, str.islower, str.isdigit)
    if not all(any(map(kind, word)) for kind in kinds):
        return False
    shares = [n / len(word) for n in Counter(word).values()]
    return -sum(p * log2(p) for p in shares) >= _RANDOM_BITS
