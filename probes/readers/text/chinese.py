"""Logs of scripts that print Chinese: their words for losses, metrics and steps, as the English ones."""

from __future__ import annotations

import re

FAR = 1024 * 1024  # how far to look for its words
_SETS = {"训练集": "train", "训练": "train", "验证集": "val", "验证": "val", "测试集": "test", "测试": "test"}
_QUANTITIES = {
    "平均损失": "loss",
    "总损失": "loss",
    "损失值": "loss",
    "损失": "loss",
    "准确率": "accuracy",
    "准确度": "accuracy",
    "正确率": "accuracy",
    "精度": "accuracy",
    "loss值": "loss",
    "loss": "loss",
    "acc": "accuracy",
}
_ALONE = {
    "开始测试": "test",
    "开始验证": "validation",
    "开始评估": "evaluation",
    "开始训练": "training",
    "学习率": "learning_rate",
    "全局梯度范数": "grad_norm",
    "梯度范数": "grad_norm",
    "梯度模长": "grad_norm",
    "损失缩放系数": "loss_scale",
    "损失缩放因子": "loss_scale",
    "损失缩放值": "loss_scale",
    "损失缩放": "loss_scale",
    "loss缩放系数": "loss_scale",
    "loss缩放": "loss_scale",
    "困惑度": "perplexity",
    "训练轮次": "epoch",
    "训练轮数": "epoch",
    "当前轮次": "epoch",
    "当前轮数": "epoch",
    "训练步数": "step",
    "全局步数": "global_step",
    "当前步数": "step",
    "当前步": "step",
    "轮次": "epoch",
    "轮数": "epoch",
    "迭代次数": "iteration",
    "迭代": "iteration",
    "步数": "step",
}
_SIGNS = {
    "：": ": ",
    "，": ", ",
    "；": "; ",
    "＝": "=",
    "（": " (",
    "）": ") ",
    "％": "%",
    "｜": " | ",
    "。": ". ",
}
_TOLD = tuple(
    word.encode() for word in ("损失", "准确率", "正确率", "精度", "学习率", "训练集loss", "困惑度")
)
_TOLD_GBK = [word.decode().encode("gb18030") for word in _TOLD if not word.isascii()]
_COUNTED = re.compile(
    rb"(?:\xe7\xac\xac)\s*\[?\s*(\d+)\s*(?:/\s*(\d+)\s*)?\]?\s*(?:\xe4\xb8\xaa)?\s*"
    rb"(\xe8\xbd\xae\xe6\xac\xa1|\xe8\xbd\xae|epoch|\xe6\xad\xa5|\xe6\xac\xa1\xe8\xbf\xad\xe4\xbb\xa3)"
)  # the 3rd (of 9) epoch, step, iteration
_OVERFLOW = re.compile(  # "溢出: False", "是否溢出=True"
    rb"(?:\xe6\x98\xaf\xe5\x90\xa6)?\xe6\xba\xa2\xe5\x87\xba(?:\xe7\x8a\xb6\xe6\x80\x81)?\s*(?::|=|\xef\xbc\x9a)\s*"
    rb"(True|False|\xe6\x98\xaf|\xe5\x90\xa6)"
)
_SKIPPED = re.compile("溢出(?=[^\n0-9]{0,12}跳过)".encode())  # "梯度溢出，跳过该步"
_YES = {"是".encode(): b"True", "否".encode(): b"False"}
_STEPS = {"轮": "epoch", "轮次": "epoch", "epoch": "epoch", "步": "step", "次迭代": "iteration"}


def _vocabulary() -> dict[bytes, bytes]:
    found = {**_ALONE, **_SIGNS}
    for chinese, english in _QUANTITIES.items():
        found |= {s + chinese: f"{name}_{english}" for s, name in _SETS.items()}
        if not chinese.isascii():
            found[chinese] = english
    # Words stand apart from what is before them; signs do not.
    return {k.encode(): (v if k in _SIGNS else f" {v}").encode() for k, v in found.items()}


_ENGLISH = _vocabulary()
_WORD = re.compile(b"|".join(map(re.escape, sorted(_ENGLISH, key=len, reverse=True))))


def speaks(data: bytes) -> bool:
    """Whether a log (UTF-8) names a loss, a metric or a learning rate in Chinese."""
    start = data[:FAR]
    return any(word in start for word in _TOLD)


def is_gbk(data: bytes) -> bool:
    """Whether a log names a loss or a metric in GB 18030, as on Chinese Windows."""
    start = data[:FAR]
    if not any(word in start for word in _TOLD_GBK):
        return False
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(start) - 4  # not one that the cut went through
    return False


def from_gbk(data: bytes) -> bytes:
    """GB 18030 as UTF-8."""
    return data.decode("gb18030", errors="replace").encode("utf-8", errors="replace")


def in_english(data: bytes) -> bytes:
    """Return the log with these words, and full-width signs, in English; lines stay lines."""
    data = _COUNTED.sub(_counted, data)
    data = _OVERFLOW.sub(lambda m: b" overflow: " + _YES.get(m.group(1), m.group(1)), data)
    data = _SKIPPED.sub(b" overflow, skip ", data)
    return _WORD.sub(lambda m: _ENGLISH[m.group()], data)


def _counted(match: re.Match[bytes]) -> bytes:
    number, total, word = match.groups()
    name = _STEPS[word.decode()].encode()
    return b" " + name + b" " + number + (b"/" + total if total else b"") + b" "
