from mindspore import nn, ops

from dataset import IGNORE


class CEDiceLoss(nn.Cell):
    """Cross-entropy plus soft Dice over the labelled pixels."""

    def __init__(self, classes, dice_weight=0.5, eps=1.0):
        super().__init__()
        self.classes, self.dice_weight, self.eps = classes, dice_weight, eps

    def construct(self, logits, mask):
        logits = logits.astype("float32")
        valid = (mask != IGNORE).astype(logits.dtype)
        target = ops.where(mask == IGNORE, ops.zeros_like(mask), mask)
        one_hot = ops.one_hot(target, self.classes, 1.0, 0.0).transpose(0, 3, 1, 2).astype(logits.dtype)

        log_p = ops.log_softmax(logits, 1)
        ce = -(log_p * one_hot).sum(axis=1)
        ce = (ce * valid).sum() / (valid.sum() + 1e-6)

        p = ops.exp(log_p) * valid.expand_dims(1)
        one_hot = one_hot * valid.expand_dims(1)
        inter = (p * one_hot).sum(axis=(0, 2, 3))
        total = p.sum(axis=(0, 2, 3)) + one_hot.sum(axis=(0, 2, 3))
        dice = 1.0 - ((2.0 * inter + self.eps) / (total + self.eps)).mean()
        return ce + self.dice_weight * dice
