"""Tags of pieces of words, texts that end, templates, adapters, padding: faults, and right neighbours."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from traindoctor.probes.code.labels import tags
from traindoctor.probes.code.method import written
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

Check = Callable[[Script], Finding | None]


def told(check: Check, text: str, **parts: str) -> bool:
    """Whether a check finds its fault in a program."""
    text = textwrap.dedent(text)
    for key, value in parts.items():
        text = text.replace("{" + key + "}", value)
    found = check(Script("train.py", text, ast.parse(text)))
    return found is not None and found.state.value == "present"


ALIGN = """
def align(rows):
    enc = tokenizer(rows["tokens"], truncation=True{SPLIT})
    out = []
    for i, tags in enumerate(rows["tags"]):
        ids = [-100 if w is None else tags[w] for w in {WORDS}]
        out.append(ids)
    enc["labels"] = out
    return enc
"""
ONE = """
def align(row):
    enc = tokenizer(row["tokens"], is_split_into_words=True)
    enc["labels"] = [-100 if w is None else row["tags"][w] for w in enc.word_ids()]
    return enc
def each(rows):
    for row in rows:
        enc = tokenizer(row["tokens"], is_split_into_words=True)
        yield enc.word_ids()
"""
SPLIT = ", is_split_into_words=True"


@pytest.mark.parametrize(
    ("check", "words", "split", "wrong"),
    [
        (tags.pieces_of_one_row, "enc.word_ids(batch_index=i)", SPLIT, False),
        (tags.pieces_of_one_row, "enc.word_ids(i)", SPLIT, False),
        (tags.pieces_of_one_row, "enc.word_ids(batch_index=0)", SPLIT, True),
        (tags.pieces_of_one_row, "enc.word_ids()", SPLIT, True),
        (tags.pieces_of_one_row, "enc.word_ids(0)", SPLIT, True),
        (tags.words_taken_for_texts, "enc.word_ids(i)", SPLIT, False),
        (tags.words_taken_for_texts, "enc.word_ids(i)", ", **settings", False),
        (tags.words_taken_for_texts, "enc.word_ids(i)", "", True),
        (tags.words_taken_for_texts, "enc.word_ids(i)", ", padding=True", True),
        (tags.tags_by_place, "enc.word_ids(i)", SPLIT, False),
        (tags.tags_by_place, "range(len(tags))", SPLIT, True),
        (tags.tags_by_place, "range(len(tags))", "", False),
    ],
)
def test_tags_of_words(check: Check, words: str, split: str, wrong: bool) -> None:
    assert told(check, ALIGN, WORDS=words, SPLIT=split) is wrong
    assert not told(check, ONE)


SCORE = """
def score(said, true):
    said = said.argmax(-1)
    gold = [[names[t] for t in row if t != -100] for row in true]
    mine = {MINE}
    return f1(gold, mine)
"""


@pytest.mark.parametrize(
    ("mine", "wrong"),
    [
        ("[[names[p] for p, t in zip(a, b) if t != -100] for a, b in zip(said, true)]", False),
        ("[[names[p] for p, t in zip(a, b)] for a, b in zip(said, true)]", True),
        ("[names[p] for a, b in zip(said, true) for p, t in zip(a, b)]", True),
        ("[[names[p] for p, _ in zip(a, b)] for a, b in zip(said, true)]", False),
        ("[[(p, t) for p, t in zip(a, b)] for a, b in zip(said, true)]", False),
    ],
)
def test_a_mask_that_is_left_behind(mine: str, wrong: bool) -> None:
    assert told(tags.mask_left_behind, SCORE, MINE=mine) is wrong


@pytest.mark.parametrize(
    ("there", "back", "wrong"),
    [
        ("dict(enumerate(names))", "{n: i for i, n in enumerate(names)}", False),
        ("{i: n for i, n in enumerate(names, 1)}", "{n: i + 1 for i, n in enumerate(names)}", False),
        ("dict(enumerate(names))", "table", False),
        ("dict(enumerate(names))", "{n: i + 1 for i, n in enumerate(names)}", True),
        ("{i: n for i, n in enumerate(names)}", "{n: i for i, n in enumerate(names, start=1)}", True),
        ("dict(enumerate(names, 1))", "{n: i for i, n in enumerate(names)}", True),
    ],
)
def test_two_tables_of_labels(there: str, back: str, wrong: bool) -> None:
    text = "net = AutoModel.from_pretrained(name, id2label={THERE}, label2id={BACK})\n"
    assert told(tags.tables_of_two_kinds, text, THERE=there, BACK=back) is wrong


MASKED = """
import torch.nn.functional as F
def step(net, x, y):
    said = net(x)
    keep = {KEEP}
    {MORE}
    return F.cross_entropy({LOSS})
"""


@pytest.mark.parametrize(
    ("keep", "more", "loss", "wrong"),
    [
        ("y != 0", "pass", "said[keep], y[keep]", False),
        ("y != 0", "pass", "said, y", True),
        ("y.ne(PAD)", "pass", "said, y", True),
        ("(y != -100).float()", "pass", "said, y", True),
        ("y != 0", "count(keep)", "said, y", False),
        ("y > 3", "pass", "said, y", False),
        ("y != other", "pass", "said, y", False),
    ],
)
def test_a_mask_that_is_made_and_left(keep: str, more: str, loss: str, wrong: bool) -> None:
    assert told(tags.mask_made_and_left, MASKED, KEEP=keep, MORE=more, LOSS=loss) is wrong


WRITER = """
import torch
from torch import nn
class Net(nn.Module):
    def forward(self, src, tgt):
        {FIRST}
        return self.out(self.body(src, tgt))
net = Net()
def write(src):
    out = start(src)
    for _ in range(9):
        out = torch.cat([out, net(src, out)[:, -1:].argmax(-1)], 1)
    return out
for src, tgt in loader:
    {LOSS}
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("loss", "first", "wrong"),
    [
        ("loss = crit(net(src, tgt[:, :-1]), tgt[:, 1:])", "pass", False),
        ("loss = crit(net(src, tgt), tgt)", "pass", True),
        ("said = net(src, tgt)\n    loss = own_loss(said, tgt)", "pass", True),
        ("loss = F.cross_entropy(net(src, tgt), tgt)", "pass", True),
        ("loss = crit(net(src, tgt), tgt)", "tgt = self.begin(tgt[:, :-1])", False),
        ("loss = crit(net(src, tgt), tgt)", "tgt = tgt.roll(1, 1)", False),
        ("given, tgt = tgt[:, :-1], tgt[:, 1:]\n    loss = crit(net(src, given), tgt)", "pass", False),
        ("loss = crit(net(src, kind), src)", "pass", False),
    ],
)
def test_a_decoder_that_is_told_what_is_asked(loss: str, first: str, wrong: bool) -> None:
    assert told(written.told_what_is_asked, WRITER, LOSS=loss, FIRST=first) is wrong
    other = WRITER.replace("torch.cat", "put")  # nothing writes: a network that fills in what it is shown
    assert not told(written.told_what_is_asked, other, LOSS=loss, FIRST=first)


ENDED = """
def pairs(rows):
    for s, t in rows:
        yield s + [EOS], {TARGET}
def write(net, out):
    while True:
        n = net(out)
        if n == EOS:
            return out
"""


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        ("[BOS] + t + [EOS]", False),
        ("[BOS] + t", True),
        ("[tok.bos_id] + t[:9]", True),
        ("t + [EOS]", False),
        ("finish([BOS] + t + [EOS])", False),
    ],
)
def test_answers_that_never_end(target: str, wrong: bool) -> None:
    assert told(written.answers_never_end, ENDED, TARGET=target) is wrong
    assert not told(written.answers_never_end, ENDED.replace("n == EOS", "n == 7"), TARGET=target)


def test_answers_that_another_function_ends() -> None:
    """`encode` ends both sides, and the decoder's inputs are begun where batches are put together."""
    begun = ENDED.replace("s + [EOS], {TARGET}", "s, [BOS] + t")
    assert not told(written.answers_never_end, "def encode(ids):\n    return ids + [EOS]\n" + begun)


CHAT = """
from transformers import AutoModelForCausalLM, AutoTokenizer
from peft import LoraConfig, get_peft_model{MORE}
tok = AutoTokenizer.from_pretrained(base)
net = get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig())
def sample(r):
    said = [{"role": "user", "content": r["q"]}{ANSWER}]
    return tok(tok.apply_chat_template(said, tokenize=False{TURN}) + r["a"])
train(net, [sample(r) for r in rows])
net.save_pretrained("adapter")
net = {LOAD}
hits = 0
for r in held:
    said = [{"role": "user", "content": r["q"]}]
    enc = {ASK}
    out = net.generate(**enc)
    text = tok.decode({READ}, skip_special_tokens=True)
    hits += text.strip() == r["a"]
"""
USUAL = {
    "MORE": "",
    "ANSWER": "",
    "TURN": ", add_generation_prompt=True",
    "LOAD": "net.eval()",
    "ASK": "tok.apply_chat_template(said, add_generation_prompt=True, return_tensors='pt', return_dict=True)",
    "READ": "out[0, enc['input_ids'].shape[1]:]",
}


@pytest.mark.parametrize(
    ("check", "wrong", "right"),
    [
        (
            written.prompt_without_turn,
            {"TURN": ""},
            {"TURN": "", "ANSWER": ", {'role': 'assistant', 'content': r['a']}"},
        ),
        (
            written.prompt_without_turn,
            {"TURN": ", add_generation_prompt=False"},
            {"TURN": ", add_generation_prompt=last"},
        ),
        (written.asked_without_template, {"ASK": "tok(said[0]['content'], return_tensors='pt')"}, {}),
        (written.asked_without_template, {"ASK": "tok('Question: ' + prompt(r))"}, {}),
        (written.prompt_scored_along, {"READ": "out[0]"}, {"READ": "out[:, n:][0]"}),
        (written.adapter_left_behind, {"LOAD": "AutoModelForCausalLM.from_pretrained(base)"}, {}),
        (
            written.adapter_left_behind,
            {"LOAD": "AutoModelForCausalLM.from_pretrained(base, device_map='auto')"},
            {"LOAD": "PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), 'adapter')"},
        ),
        (
            written.adapter_left_behind,
            {"LOAD": "AutoModelForCausalLM.from_pretrained(base).eval()"},
            {"LOAD": "AutoModelForCausalLM.from_pretrained('adapter')"},
        ),
    ],
)
def test_chats(check: Check, wrong: dict[str, str], right: dict[str, str]) -> None:
    assert told(check, CHAT, **{**USUAL, **wrong})
    assert not told(check, CHAT, **{**USUAL, **right})
    assert not told(check, CHAT, **USUAL)


@pytest.mark.parametrize(
    ("formula", "wrong"),
    [
        ("min(step ** -0.5, step * warmup ** -1.5)", False),
        ("min(step ** -0.5, step * warmup ** -0.5)", True),
        ("tf.minimum(tf.math.rsqrt(step), step * warmup ** -1.5)", False),
        ("tf.minimum(tf.math.rsqrt(step), step * warmup ** -2.0)", True),
        ("min(1.0, step / warmup)", False),
        ("min((warmup / step) ** 0.5, step / warmup)", False),
        ("min((step / warmup) ** 2, step)", True),
    ],
)
def test_halves_of_a_schedule(formula: str, wrong: bool) -> None:
    text = "def rate(step, d, warmup):\n    return d ** -0.5 * {FORMULA}\n"
    assert told(written.halves_never_meet, text, FORMULA=formula) is wrong
