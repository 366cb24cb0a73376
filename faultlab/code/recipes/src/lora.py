import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    """y = W x + (alpha / r) * B A x, with W fixed."""

    def __init__(self, base: nn.Linear, r: int, alpha: float, dropout: float):
        super().__init__()
        self.base = base
        self.base.weight.requires_grad_(False)
        if self.base.bias is not None:
            self.base.bias.requires_grad_(False)
        self.scaling = alpha / r
        self.dropout = nn.Dropout(dropout)
        kw = dict(device=base.weight.device, dtype=torch.float32)
        self.lora_a = nn.Parameter(torch.empty(r, base.in_features, **kw))
        self.lora_b = nn.Parameter(torch.empty(base.out_features, r, **kw))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))
        nn.init.zeros_(self.lora_b)

    def forward(self, x):
        out = self.base(x)
        h = F.linear(self.dropout(x), self.lora_a.to(x.dtype))
        h = F.linear(h, self.lora_b.to(x.dtype))
        return out + h * self.scaling


def inject_lora(model, targets, r=16, alpha=32, dropout=0.05):
    """Freeze everything, then put adapters on the named projections and keep embeddings + head trainable."""
    for p in model.parameters():
        p.requires_grad_(False)
    names = [n for n, m in model.named_modules() if isinstance(m, nn.Linear) and n.split(".")[-1] in targets]
    for name in names:
        parent_name, _, child = name.rpartition(".")
        parent = model.get_submodule(parent_name)
        setattr(parent, child, LoRALinear(getattr(parent, child), r, alpha, dropout))
    # three new chat tokens: their rows have to be learned
    model.get_input_embeddings().weight.requires_grad_(True)
    model.get_output_embeddings().weight.requires_grad_(True)
    return len(names)


def lora_groups(model, lr, embed_lr, weight_decay):
    adapters = [p for n, p in model.named_parameters() if "lora_" in n and p.requires_grad]
    embeds = [p for n, p in model.named_parameters() if "lora_" not in n and p.requires_grad]
    return [
        {"params": adapters, "lr": lr, "weight_decay": weight_decay},
        {"params": embeds, "lr": embed_lr, "weight_decay": 0.0},
    ]


def trainable_state(model):
    return {n: p.detach().cpu().clone() for n, p in model.named_parameters() if p.requires_grad}
