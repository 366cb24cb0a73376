import json
import random

import torch
import yaml

from corpus import TAGS, Vocab, batches, make_lexicon, make_sentences
from tagger import Tagger, evaluate, nll

with open("config.yaml") as f:
    cfg = yaml.safe_load(f)

torch.set_num_threads(1)
torch.manual_seed(cfg["seed"])
rnd = random.Random(cfg["seed"])

lexicon = make_lexicon(rnd)
c = cfg["corpus"]
train_sents = make_sentences(c["train_sentences"], lexicon, c["max_len"], rnd)
dev_sents = make_sentences(c["dev_sentences"], lexicon, c["max_len"], rnd)
vocab = Vocab(train_sents, c["min_count"])

tagger = Tagger(len(vocab), len(TAGS), **cfg["tagger"])
o = cfg["optim"]
optim = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[o["name"]](
    tagger.parameters(), lr=o["lr"], **({"momentum": 0.8} if o["name"] == "sgd" else {}), weight_decay=o["weight_decay"])
decay = torch.optim.lr_scheduler.ExponentialLR(optim, o["decay_per_epoch"])

log = open("metrics.jsonl", "w")


def report(**row):
    log.write(json.dumps({k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()}) + "\n")
    log.flush()


updates, recent = 0, []
for epoch in range(1, cfg["train"]["epochs"] + 1):
    tagger.train()
    for x, gold, lengths in batches(train_sents, vocab, cfg["train"]["sentences_per_batch"], rnd):
        loss = nll(tagger(x, lengths), gold)
        optim.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(tagger.parameters(), o["clip"])
        optim.step()
        updates += 1
        recent.append(loss.item())
        if updates % cfg["train"]["report_every"] == 0:
            report(event="update", epoch=epoch, n=updates, nll=sum(recent) / len(recent),
                   grad=float(norm), lr=optim.param_groups[0]["lr"])
            recent = []
    dev_nll, dev_acc = evaluate(tagger, batches(dev_sents, vocab, 120))
    report(event="dev", epoch=epoch, n=updates, dev_nll=dev_nll, tok_acc=dev_acc)
    decay.step()

log.close()
torch.save({"model": tagger.state_dict(), "words": vocab.index}, "tagger.pt")
print(f"tagging accuracy on dev after {updates} updates: {dev_acc:.4f}")
