import torch
import torch.nn.functional as F


def masked_bce(logits, target, valid):
    loss = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return (loss * valid).sum() / valid.sum().clamp(min=1)


def soft_dice_loss(logits, target, valid, smooth=1.0):
    prob = torch.sigmoid(logits) * valid
    target = target * valid
    inter = (prob * target).sum()
    union = prob.sum() + target.sum()
    return 1 - (2 * inter + smooth) / (union + smooth)


def criterion(logits, target, valid, dice_weight=1.0):
    return masked_bce(logits, target, valid) + dice_weight * soft_dice_loss(logits, target, valid)


@torch.no_grad()
def dice_score(logits, target, valid):
    """Dice of the thresholded masks, one value per image."""
    pred = (torch.sigmoid(logits) > 0.5).float() * valid
    target = target * valid
    inter = (pred * target).sum(dim=(1, 2, 3))
    total = pred.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return (2 * inter + 1e-3) / (total + 1e-3)
