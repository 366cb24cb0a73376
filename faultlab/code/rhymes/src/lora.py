"""Low-rank adapters for linear layers, by hand."""
import math

import torch
import torch.nn as nn


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 8, alpha: float = 16.0, dropout: float = 0.05):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.scale = alpha / r
        self.drop = nn.Dropout(dropout)
        self.down = nn.Parameter(torch.empty(r, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x):
        delta = self.drop(x) @ self.down.t() @ self.up.t()
        return self.base(x) + self.scale * delta


def inject(model, targets=("q_proj", "v_proj"), **kwargs):
    """Freeze the model, then put adapters in the place of the named linear layers."""
    for p in model.parameters():
        p.requires_grad = False
    found = 0
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in targets and isinstance(child, nn.Linear):
                setattr(module, name, LoRALinear(child, **kwargs))
                found += 1
    if not found:
        raise ValueError(f"no layer named {targets} in {type(model).__name__}")
    return model


def adapter_state(model):
    return {n: p.detach().cpu() for n, p in model.named_parameters() if p.requires_grad}
