"""Keeps secrets out of everything that is read: by the key's name and by the value's shape."""

from __future__ import annotations

import re

HIDDEN = "***"

_KEY = re.compile(
    r"token|secret|passw|passphrase|credential|cookie|api_?key|access_?key|private_?key|auth|dsn|bearer|"
    r"(?:^|_)key$",
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
    r"\bhf_[A-Za-z0-9]{20,}|\bAKIA[0-9A-Z]{12,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\bglpat-[A-Za-z0-9_-]{16,}|\bpypi-[A-Za-z0-9_-]{30,}|-----BEGIN [A-Z ]*PRIVATE KEY-----",
)
_URL = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)|(?<=://)[^/\s:@]{16,}(?=@)")
_WANDB = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
_COMMIT_KEY = re.compile(r"commit|sha|hash|revision|git|checksum|version|digest", re.IGNORECASE)


def secret_key(key: str) -> bool:
    """Say whether a dotted key names something secret."""
    last = re.split(r"[./]", key)[-1].replace("-", "_")
    return bool(_KEY.search(last)) and not _HARMLESS_KEY.search(last)


def redact(key: str, text: str) -> str:
    """Return the text with secrets replaced by three stars; the whole of it when the key names a secret."""
    if secret_key(key) and text:
        return HIDDEN
    text = _VALUE.sub(HIDDEN, text)
    text = _URL.sub(HIDDEN, text) if "://" in text else text
    return text if _COMMIT_KEY.search(key) else _WANDB.sub(HIDDEN, text)
