"""Truth and answers handed crosswise, spans of answers, loops that stand still."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from traindoctor.probes.code.evaluation import answer_order, decoded
from traindoctor.probes.code.labels import spans
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

from .._scripts import state

Check = Callable[[Script], Finding | None]


def told(check: Check, text: str) -> bool:
    """Whether a check finds its fault in a program."""
    text = textwrap.dedent(text)
    found = check(Script("train.py", text, ast.parse(text)))
    return found is not None and found.state.value == "present"


METRIC = """
import jiwer, sacrebleu, torch
from nltk.translate.bleu_score import corpus_bleu as nltk_bleu
from sklearn.metrics import roc_auc_score
def check(net, rows, table):
    said, gold, scores, marks = [], [], [], []
    for x, y in rows:
        out = net(x).argmax(-1)
        said.append(table[out])
        gold += [table[k] for k in y.tolist()]
        scores.extend(net(x).sigmoid().tolist())
        marks.extend(y.tolist())
    return {CALL}
"""


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("jiwer.wer(gold, said)", False),
        ("jiwer.wer(said, gold)", True),
        ("jiwer.cer(hypothesis=gold, reference=said)", True),
        ("jiwer.cer(hypothesis=said, reference=gold)", False),
        ("sacrebleu.corpus_bleu(said, [gold])", False),
        ("sacrebleu.corpus_bleu(gold, [said])", True),
        ("roc_auc_score(scores, marks)", True),
        ("roc_auc_score(marks, scores)", False),
        ("metric.compute(predictions=gold, references=said)", True),
        ("metric.compute(predictions=said, references=gold)", False),
        ("jiwer.wer(said, said)", False),
    ],
)
def test_answers_handed_as_the_truth(call: str, wrong: bool) -> None:
    assert told(answer_order.answers_for_truth, METRIC.replace("{CALL}", call)) is wrong


def test_an_own_function_of_the_name_is_left_alone() -> None:
    text = METRIC.replace("import jiwer, ", "import ").replace("{CALL}", "wer(said, gold)")
    assert not told(answer_order.answers_for_truth, text + "\ndef wer(said, truth):\n    return 0\n")


LEARNS = "\nimport torch\nopt = torch.optim.SGD(net.parameters(), 0.1)\nloss.backward()\nopt.step()\n"
SPANS = """
def features(examples, tokenizer):
    out = tokenizer(examples["question"], examples["context"], truncation="{CUT}", stride=64,
                    return_overflowing_tokens=True, return_offsets_mapping=True)
    table = out.pop("overflow_to_sample_mapping")
    begins, ends = [], []
    for i, offset in enumerate(out["offset_mapping"]):
        answer = examples["answers"][{ROW}]
        begin = answer["answer_start"][0]
        end = begin + len({TEXT})
        ids = out.sequence_ids(i)
        k = ids.index({SEQ})
        last = len(ids) - 1 - ids[::-1].index({SEQ})
        while k <= last and offset[k][0] <= begin:
            k += 1
        begins.append({KEPT})
        while offset[last][1] >= end:
            last -= 1
        ends.append(last + 1)
    out["start_positions"] = begins
    out["end_positions"] = {ENDS}
    return out
"""
RIGHT = {"CUT": "only_second", "ROW": "table[i]", "SEQ": "1", "KEPT": "k - 1", "ENDS": "ends"}
RIGHT["TEXT"] = 'answer["text"][0]'


def _spans(**changed: str) -> str:
    text = SPANS
    for key, value in {**RIGHT, **changed}.items():
        text = text.replace("{" + key + "}", value)
    return text


@pytest.mark.parametrize(
    ("check", "changed"),
    [
        (spans.features_for_samples, {"ROW": "i"}),
        (spans.length_of_the_list, {"TEXT": 'answer["text"]'}),
        (spans.part_truncated_and_asked, {"CUT": "only_first"}),
        (spans.part_truncated_and_asked, {"SEQ": "0"}),
        (spans.one_past_the_token, {"KEPT": "k"}),
        (spans.one_end_twice, {"ENDS": "begins"}),
    ],
)
def test_a_span_is_marked_elsewhere(check: Check, changed: dict[str, str]) -> None:
    assert told(check, _spans(**changed))
    assert not told(check, _spans())
    assert not told(check, _spans(CUT="only_first", SEQ="0"))  # the text stands first, and is searched
    text = (
        _spans(**changed)
        + "\nimport torch\nopt = torch.optim.SGD(net.parameters(), 0.1)\nloss.backward()\nopt.step()\n"
    )
    assert state("script-method-slipped", text) == "present"


READ = """
def best(starts, ends, offsets, context):
    found = []
    for s in top(starts):
        for e in top(ends):
            if {TEST}:
                continue
            found.append((context[offsets[s][0] : offsets[e][1]], {SCORE}))
    return max(found)
"""


@pytest.mark.parametrize(
    ("test", "score", "wrong"),
    [
        ("e < s", "starts[s] + ends[e]", False),
        ("s > e or e - s > 30", "starts[s] + ends[e]", False),
        ("e > s", "starts[s] + ends[e]", True),
        ("s < e or e - s > 30", "starts[s] + ends[e]", True),
        ("e < s", "starts[s] + ends[s]", True),
        ("e < s", "starts[e] * ends[e]", True),
    ],
)
def test_a_span_is_read_otherwise(test: str, score: str, wrong: bool) -> None:
    assert told(spans.spans_misread, READ.replace("{TEST}", test).replace("{SCORE}", score)) is wrong


COUNTED = """
def f(d):
    s, n = 0.0, 0
    for x in d:
        a, b = h(x)
        s += {}
        n += {}
    return {}
"""
STILL = """
def f(y, n):
    {}
        use(y[{}])
        {}
"""
PAST = """
def f(e):
    for i in range(9):
        b = None
        for w in e.word_ids(i):
            add(w if w != b else -100)
            {}
"""
PATH = """
def f(path):
    last, out = 0, []
    for p in path:
        if {}:
            out += [p]
        last = p
    return out
"""
DECIDED = """
def f(net, h, g, out):
    for t in range(9):
        k = {}
        out.append(k)
        {}
"""
NEXT = """
def f(net, out):
    for _ in range(9):
        z = net(out){}
        out = torch.cat([out, {}[:, None]], 1)
"""


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (
            decoded.slices_stand_still,
            STILL.format("a = 0\n    for k in range(9):", "a : a + n[k]", "a += n[k]"),
            STILL.format("a = 0\n    for k in range(9):", "a : a + n[k]", "pass"),
        ),
        (
            decoded.slices_stand_still,
            STILL.format("for a in range(0, 9, n):", "a : a + n", "pass"),
            STILL.format("a = 0\n    while more():", "a : n + a", "pass"),
        ),
        (
            decoded.count_beside_sum_unread,
            COUNTED.format("g(x) * len(x)", "len(x)", "s / n"),
            COUNTED.format("g(x) * len(x)", "len(x)", "s / len(loader)"),
        ),
        (
            decoded.count_beside_sum_unread,
            COUNTED.format("a.item()", "1", "s / len(d)"),
            COUNTED.format("a.item()", "b.item()", "(s / 9) ** 0.5"),
        ),
        (
            decoded.count_beside_sum_unread,
            COUNTED.format("a.item()", "len(x)", "s / len(d)"),  # means of batches, as many as there are
            COUNTED.format("a * b", "b", "s / len(d)"),
        ),
        (decoded.kept_and_never_asked, PATH.format("p and p != last"), PATH.format("p")),
        (decoded.before_left_in_samples, PAST.format("b = w"), PAST.format("pass")),
        (
            decoded.decision_stands_still,
            DECIDED.format("net(h, g).argmax()", "g = nxt(k)"),
            DECIDED.format("net(h, g).argmax()", "pass"),
        ),
        (
            decoded.decision_stands_still,
            DECIDED.format("net(h[t], g).argmax()", "pass"),
            DECIDED.format("int(np.argmax(net(h, g)))", "pass"),
        ),
        (
            decoded.decision_stands_still,
            DECIDED.format("net(h, g).argmax()", "opt.step()"),
            DECIDED.format("torch.argmax(net(h, g), -1)", "pass"),
        ),
        (
            decoded.next_from_first_place,
            NEXT.format("", "z[:, -1].argmax(-1)"),
            NEXT.format("", "z[:, 0].argmax(-1)"),
        ),
        (
            decoded.next_from_first_place,
            NEXT.format("[:, -1]", "torch.argmax(z, -1)"),
            NEXT.format("[:, 0]", "torch.argmax(z, -1)"),
        ),
    ],
)
def test_a_loop_stands_still(check: Check, right: str, wrong: str) -> None:
    assert told(check, wrong)
    assert not told(check, right)


NET = """
import torch
from torch import nn
class Net(nn.Module):
    def forward(self, x, n, state=None):
        h, state = self.rnn(x, state)
        return self.out(h), {BACK}
net = Net()
def step(x, n, y):
    s, n = net(x, n)
    return ctc(s, y, n)
def read(x, n):
    {FIRST}
    best, said = s.argmax(-1), []
    for k in range(len(x)):
        said.append(best[k{CUT}].tolist())
    return said
def walk(x, n):
    out, past = net(x, n)
    for t in range(9):
        out, past = net({GIVEN})
    return out
"""


@pytest.mark.parametrize("wrong", [False, True])
def test_what_a_network_gives_back_is_left(wrong: bool) -> None:
    text = NET.replace("{BACK}", "n").replace("{FIRST}", "s, n = net(x, n)")
    lengths = text.replace("{CUT}", "" if wrong else ", : n[k]").replace("{GIVEN}", "x, n, past")
    assert told(decoded.lengths_unread, lengths) is wrong
    walked = (
        NET.replace("{BACK}", "state").replace("{FIRST}", "s, n = net(x, n)").replace("{CUT}", ", : n[k]")
    )
    assert (
        told(decoded.state_left_behind, walked.replace("{GIVEN}", "x, n" if wrong else "x, n, past")) is wrong
    )
