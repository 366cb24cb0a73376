"""From contract questions to overlapping token windows, and back from logits to answer strings."""
import collections
import re
import string

import numpy as np

IGNORE = -100


def prepare(batch, tokenizer, max_length, stride, keep_offsets):
    enc = tokenizer(
        [q.strip() for q in batch["question"]],
        batch["clause_text"],
        max_length=max_length,
        stride=stride,
        truncation="only_second",
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_token_type_ids=True,
    )
    sample_of = enc.pop("overflow_to_sample_mapping")
    offsets_all = enc.pop("offset_mapping")
    enc["context_mask"], enc["start_positions"], enc["end_positions"], enc["answerable"] = [], [], [], []
    if keep_offsets:
        enc["offsets"], enc["example_id"] = [], []

    for w, offsets in enumerate(offsets_all):
        seq_ids = enc.sequence_ids(w)
        context = [i for i, s in enumerate(seq_ids) if s == 1]
        first, last = context[0], context[-1]
        answers = batch["answers"][sample_of[w]]
        start = end = IGNORE
        found = 0
        if len(answers["answer_start"]) > 0:
            a = answers["answer_start"][0]
            b = a + len(answers["text"][0])
            if offsets[first][0] <= a and offsets[last][1] >= b:
                start, end = first, last
                while start <= last and offsets[start][0] <= a:
                    start += 1
                start -= 1
                while end >= first and offsets[end][1] >= b:
                    end -= 1
                end += 1
                found = 1
        enc["start_positions"].append(start)
        enc["end_positions"].append(end)
        enc["answerable"].append(found)
        enc["context_mask"].append([1 if s == 1 else 0 for s in seq_ids])
        if keep_offsets:
            enc["offsets"].append([list(o) if s == 1 else [-1, -1] for o, s in zip(offsets, seq_ids)])
            enc["example_id"].append(batch["id"][sample_of[w]])
    return dict(enc)


def best_spans(examples, features, start_logits, end_logits, answer_logits, n_best=10, max_tokens=60):
    """One answer per example: the best legal span over its windows, or "" where no window claims one."""
    windows = collections.defaultdict(list)
    for i, example_id in enumerate(features["example_id"]):
        windows[example_id].append(i)
    offsets_all = features["offsets"]

    answers = {}
    for example_id, text in zip(examples["id"], examples["clause_text"]):
        best, best_score = "", -np.inf
        claim = -np.inf
        for i in windows[example_id]:
            offsets = offsets_all[i]
            n = len(offsets)
            claim = max(claim, answer_logits[i])
            for s in np.argsort(start_logits[i][:n])[::-1][:n_best]:
                for e in np.argsort(end_logits[i][:n])[::-1][:n_best]:
                    if offsets[s][0] < 0 or offsets[e][0] < 0:
                        continue
                    if e < s or e - s + 1 > max_tokens:
                        continue
                    score = start_logits[i][s] + end_logits[i][e] + answer_logits[i]
                    if score > best_score:
                        best, best_score = text[offsets[s][0] : offsets[e][1]], score
        answers[example_id] = best if claim > 0 else ""
    return answers


def normalize(text):
    text = "".join(ch for ch in text.lower() if ch not in string.punctuation)
    return re.sub(r"\s+", " ", text).strip()


def f1(pred, gold):
    p, g = normalize(pred).split(), normalize(gold).split()
    if not p or not g:
        return float(p == g)
    common = sum((collections.Counter(p) & collections.Counter(g)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(p), common / len(g)
    return 2 * precision * recall / (precision + recall)


def score(answers, examples):
    em, f = [], []
    for example_id, gold in zip(examples["id"], examples["answers"]):
        pred = answers[example_id]
        golds = gold["text"] or [""]
        em.append(max(float(normalize(pred) == normalize(g)) for g in golds))
        f.append(max(f1(pred, g) for g in golds))
    return {"exact_match": 100 * float(np.mean(em)), "f1": 100 * float(np.mean(f))}
