import torch
from torch.nn import functional as F


def soft_dice(logits, mask, void, eps=1.0):
    """1 - mean over classes of the soft Dice overlap; void pixels do not count."""
    n_cls = logits.shape[1]
    valid = (mask != void).unsqueeze(1).float()
    target = F.one_hot(mask.clamp(max=n_cls - 1), n_cls).permute(0, 3, 1, 2).float() * valid
    prob = torch.softmax(logits, dim=1) * valid
    inter = (prob * target).sum(dim=(0, 2, 3))
    total = prob.sum(dim=(0, 2, 3)) + target.sum(dim=(0, 2, 3))
    dice = (2 * inter + eps) / (total + eps)
    return 1 - dice.mean()


def seg_loss(logits, mask, void, dice_weight=0.5):
    ce = F.cross_entropy(logits, mask, ignore_index=void)
    return ce + dice_weight * soft_dice(logits, mask, void)
