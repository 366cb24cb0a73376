import argparse

import numpy as np
import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.amp import StaticLossScaler, all_finite
from mindspore.common.initializer import initializer
from mindspore.dataset import GeneratorDataset

SEGMENTS = 12


class Series:
    """Windows of a logger: frames, their number, leaking segments, distance (standardised)."""

    def __init__(self, path):
        data = np.load(path)
        self.frames = data["frames"].astype(np.float32)
        self.length = data["length"].astype(np.int32)
        self.leak = data["leak"].astype(np.float32)
        self.distance = data["distance"].astype(np.float32)

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, i):
        return self.frames[i], self.length[i], self.leak[i], self.distance[i]


class Pool(nn.Cell):
    """Attention over the frames that are there."""

    def __init__(self, dim):
        super().__init__()
        self.score = nn.Dense(dim, 1)

    def construct(self, x, length):
        s = ops.cast(self.score(x).squeeze(-1), ms.float32)
        place = ops.arange(x.shape[1])
        s = s.masked_fill(place[None, :] >= length[:, None], -1e9)
        w = ops.cast(ops.softmax(s, axis=1), x.dtype)
        return (x * w.expand_dims(-1)).sum(axis=1)


class LeakNet(nn.Cell):
    def __init__(self, dim=96):
        super().__init__()
        self.front = nn.SequentialCell(nn.Dense(40, dim), nn.LayerNorm((dim,)), nn.ReLU())
        self.mix = nn.Conv1d(dim, dim, 5, pad_mode="same")
        self.drop = nn.Dropout(p=0.1)
        self.pool = Pool(dim)
        self.leak = nn.Dense(dim, SEGMENTS)
        self.where = nn.Dense(dim, 2)

    def construct(self, frames, length):
        h = self.front(ops.cast(frames, ms.float16))
        h = h + ops.relu(self.mix(h.swapaxes(1, 2))).swapaxes(1, 2)
        h = self.drop(self.pool(h, length))
        return ops.cast(self.leak(h), ms.float32), ops.cast(self.where(h), ms.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--far", type=float, default=0.3)
    args = parser.parse_args()
    ms.set_seed(9)

    columns = ["frames", "length", "leak", "distance"]
    train = GeneratorDataset(Series("leaks_train.npz"), columns, shuffle=True).batch(args.batch, drop_remainder=True)
    valid = GeneratorDataset(Series("leaks_valid.npz"), columns, shuffle=False).batch(64)

    net = LeakNet()
    for cell in (net.front, net.mix, net.pool.score, net.leak, net.where):
        cell.to_float(ms.float16)
    detect = nn.BCEWithLogitsLoss()
    optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=args.rate, weight_decay=0.01)
    scaler = StaticLossScaler(1024)
    sums = [Parameter(initializer("zeros", p.shape, ms.float32), name="sum_" + p.name) for p in optimizer.parameters]

    def gauss(out, distance):
        mean, log_var = out[:, 0], ops.clamp(out[:, 1], -6.0, 6.0)
        return (0.5 * ops.exp(-log_var) * (distance - mean) ** 2 + 0.5 * log_var).mean()

    def forward(frames, length, leak, distance):
        logits, out = net(frames, length)
        loss = detect(logits, leak) + args.far * gauss(out, distance)
        return scaler.scale(loss / args.accumulate), loss

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def micro_step(frames, length, leak, distance):
        (_, loss), grads = grad_fn(frames, length, leak, distance)
        grads = scaler.unscale(grads)
        if all_finite(grads):
            for total, grad in zip(sums, grads):
                ops.assign_add(total, grad)
        return loss

    def update():
        optimizer(ops.clip_by_global_norm([total.value() for total in sums], 1.0))
        for total in sums:
            ops.assign(total, ops.zeros_like(total))

    best = 0.0
    for epoch in range(args.epochs):
        net.set_train(True)
        losses = []
        for i, row in enumerate(train.create_tuple_iterator()):
            losses.append(float(micro_step(*row)))
            if (i + 1) % args.accumulate == 0:
                update()
        net.set_train(False)
        hit = said = true = 0.0
        for frames, length, leak, distance in valid.create_tuple_iterator():
            logits, _ = net(frames, length)
            guess = ops.cast(ops.sigmoid(logits) > 0.5, ms.float32)
            hit += float((guess * leak).sum())
            said += float(guess.sum())
            true += float(leak.sum())
        f1 = 2 * hit / max(said + true, 1.0)
        print(f"epoch {epoch} loss {np.mean(losses):.4f} f1 {f1:.4f}")
        if f1 > best:
            best = f1
            ms.save_checkpoint(net, "leaks.ckpt")


if __name__ == "__main__":
    main()
