"""Training step with loss scaling and clipping, for graph mode."""
from mindspore import nn
from mindspore import ops
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P

grad_scale = C.MultitypeFuncGraph("grad_scale")
reciprocal = P.Reciprocal()


@grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale, grad):
    return grad * F.cast(reciprocal(scale), F.dtype(grad))


class LossNet(nn.Cell):
    """The backbone and its loss."""

    def __init__(self, backbone, criterion):
        super().__init__(auto_prefix=False)
        self.backbone = backbone
        self.criterion = criterion

    def construct(self, feats, length, label):
        logits = self.backbone(feats, length)
        return self.criterion(logits, label)


class TrainStep(nn.TrainOneStepWithLossScaleCell):
    """Forward, backward, unscale, clip, and an update where nothing overflowed."""

    def __init__(self, network, optimizer, scale_sense, max_norm):
        super().__init__(network, optimizer, scale_sense)
        self.max_norm = max_norm

    def construct(self, feats, length, label):
        loss = self.network(feats, length, label)
        scaling_sens = self.scale_sense
        status, scaling_sens = self.start_overflow_check(loss, scaling_sens)
        sens = F.ones_like(loss) * F.cast(scaling_sens, F.dtype(loss))
        grads = self.grad(self.network, self.weights)(feats, length, label, sens)
        grads = self.hyper_map(F.partial(grad_scale, scaling_sens), grads)
        grads = self.grad_reducer(grads)
        grads = ops.clip_by_global_norm(grads, self.max_norm)
        cond = self.get_overflow_status(status, grads)
        overflow = self.process_loss_scale(cond)
        if not overflow:
            self.optimizer(grads)
        return loss, cond, scaling_sens


class WarmupCosine(nn.learning_rate_schedule.LearningRateSchedule):
    """Linear warm-up and cosine decay; all counts in steps."""

    def __init__(self, rate, warmup_steps, total_steps):
        super().__init__()
        self.warm = nn.WarmUpLR(rate, warmup_steps)
        self.decay = nn.CosineDecayLR(0.0, rate, total_steps - warmup_steps)
        self.warmup_steps = warmup_steps
        self.zero = P.Maximum()

    def construct(self, global_step):
        warm = self.warm(global_step)
        decay = self.decay(self.zero(global_step - self.warmup_steps, 0))
        return ops.select(global_step < self.warmup_steps, warm, decay)
