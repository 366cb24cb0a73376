"""Source task: which desk a message of the archive was sent to. Leaves pretrained/ for train.py."""

import json
from pathlib import Path

import torch
from torch import nn

from encoder import Encoder, Tokenizer
from messages import archive


def pretrain(folder, steps=160, batch_size=48):
    torch.manual_seed(0)
    texts, desks = archive(3000, seed=100)
    tokenizer = Tokenizer.build(texts)
    model = Encoder(len(tokenizer.vocab) + 3)
    head = nn.Linear(model.config["hidden_size"], 8)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=4e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in range(steps):
        batch = torch.randint(len(texts), (batch_size,)).tolist()
        hidden = model(tokenizer([texts[i] for i in batch]))
        loss = nn.functional.cross_entropy(head(hidden.mean(dim=1)), torch.tensor([desks[i] for i in batch]))
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    print(f"source task: loss {loss.item():.3f} after {steps} steps")
    folder = Path(folder)
    folder.mkdir()
    torch.save({"encoder": model.state_dict(), "desk_head": head.state_dict()}, folder / "encoder.pt")
    (folder / "vocab.json").write_text(json.dumps(tokenizer.vocab))
    (folder / "config.json").write_text(json.dumps(model.config, indent=1))
