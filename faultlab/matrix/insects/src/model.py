"""ViT ported from our PyTorch code (names kept, so that weights can be converted)."""
import math

import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore.common.initializer import Constant, Normal, TruncatedNormal, XavierUniform, Zero, initializer


class DropPath(nn.Cell):
    """Leave out a residual branch for a sample at random."""

    def __init__(self, rate=0.0):
        super().__init__()
        self.keep = 1.0 - rate
        self.drop = nn.Dropout(p=rate)

    def construct(self, x):
        if not self.training or self.keep == 1.0:
            return x
        mask = self.drop(ops.ones((x.shape[0], 1, 1), x.dtype))
        return x * mask


class Attention(nn.Cell):
    def __init__(self, dim, heads=6, drop=0.0):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Dense(dim, 3 * dim)
        self.attn_drop = nn.Dropout(p=drop)
        self.proj = nn.Dense(dim, dim)

    def construct(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape((b, n, 3, self.heads, c // self.heads)).transpose((2, 0, 3, 1, 4))
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = ops.matmul(q, k.swapaxes(-2, -1)) * self.scale
        attn = self.attn_drop(ops.softmax(attn, axis=-1))
        x = ops.matmul(attn, v).transpose((0, 2, 1, 3)).reshape((b, n, c))
        return self.proj(x)


class Mlp(nn.Cell):
    def __init__(self, dim, hidden, drop=0.0):
        super().__init__()
        self.fc1 = nn.Dense(dim, hidden)
        self.act = nn.GELU(approximate=False)
        self.fc2 = nn.Dense(hidden, dim)
        self.drop = nn.Dropout(p=drop)

    def construct(self, x):
        return self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))


class Block(nn.Cell):
    def __init__(self, dim, heads, drop, path):
        super().__init__()
        self.norm1 = nn.LayerNorm((dim,), epsilon=1e-6)
        self.attn = Attention(dim, heads, drop)
        self.norm2 = nn.LayerNorm((dim,), epsilon=1e-6)
        self.mlp = Mlp(dim, 4 * dim, drop)
        self.path = DropPath(path)

    def construct(self, x):
        x = x + self.path(self.attn(self.norm1(x)))
        x = x + self.path(self.mlp(self.norm2(x)))
        return x


class VisionTransformer(nn.Cell):
    def __init__(self, image=224, patch=16, classes=102, dim=384, depth=8, heads=6, drop=0.1, path=0.1):
        super().__init__()
        self.stem = nn.SequentialCell(
            nn.Conv2d(3, dim // 4, 3, stride=2, pad_mode="pad", padding=1, has_bias=False),
            nn.BatchNorm2d(dim // 4, eps=1e-5, momentum=0.9),
            nn.ReLU(),
            nn.Conv2d(dim // 4, dim, patch // 2, stride=patch // 2, pad_mode="valid", has_bias=True))
        count = (image // patch) ** 2
        self.cls_token = ms.Parameter(initializer(Zero(), (1, 1, dim)), name="cls_token")
        self.pos_embed = ms.Parameter(initializer(TruncatedNormal(0.02), (1, count + 1, dim)), name="pos_embed")
        self.pos_drop = nn.Dropout(p=drop)
        rates = [path * i / (depth - 1) for i in range(depth)]
        self.blocks = nn.CellList([Block(dim, heads, drop, rate) for rate in rates])
        self.norm = nn.LayerNorm((dim,), epsilon=1e-6)
        self.head = nn.Dense(dim, classes)
        self.init_weights()

    def init_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Dense):
                cell.weight.set_data(initializer(TruncatedNormal(0.02), cell.weight.shape, cell.weight.dtype))
                cell.bias.set_data(initializer(Zero(), cell.bias.shape, cell.bias.dtype))

    def construct(self, x):
        x = self.stem(x)
        b, c, h, w = x.shape
        x = x.reshape((b, c, h * w)).transpose((0, 2, 1))
        cls = ops.broadcast_to(self.cls_token, (b, 1, c))
        x = self.pos_drop(ops.concat((cls, x), axis=1) + self.pos_embed)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])
