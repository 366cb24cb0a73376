"""Transformer encoder for power forecast, every torch.nn layer replaced by the nn.Cell of the same meaning."""
import math

import numpy as np
import mindspore as ms
from mindspore import nn, ops, Parameter, Tensor
from mindspore.common.initializer import initializer, XavierUniform, Normal


def sinusoid_table(length, dim):
    pos = np.arange(length)[:, None]
    div = np.exp(np.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    table = np.zeros((length, dim), np.float32)
    table[:, 0::2] = np.sin(pos * div)
    table[:, 1::2] = np.cos(pos * div)
    return table


class CausalConv(nn.Cell):
    """conv on time axis which only looks back"""

    def __init__(self, cin, cout, kernel_size=3, dilation=1):
        super().__init__()
        self.left = (kernel_size - 1) * dilation
        self.conv = nn.Conv1d(cin, cout, kernel_size, pad_mode="valid", dilation=dilation, has_bias=True)
        self.norm = nn.BatchNorm1d(cout, momentum=0.9)
        self.act = nn.GELU()

    def construct(self, x):
        # x: [B, C, L]
        b, c, _ = x.shape
        pad = ops.zeros((b, c, self.left), x.dtype)
        x = self.conv(ops.cat((pad, x), axis=2))
        b, c, n = x.shape
        x = self.norm(x.transpose(0, 2, 1).reshape(b * n, c))
        x = x.reshape(b, n, c).transpose(0, 2, 1)
        return self.act(x)


class MultiHeadAttention(nn.Cell):
    def __init__(self, hidden, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = hidden // num_heads
        self.q_proj = nn.Dense(hidden, hidden)
        self.k_proj = nn.Dense(hidden, hidden)
        self.v_proj = nn.Dense(hidden, hidden)
        self.out_proj = nn.Dense(hidden, hidden)
        self.attn_drop = nn.Dropout(p=dropout)
        self.scale = self.head_dim ** -0.5

    def split(self, x):
        b, n, _ = x.shape
        return x.reshape(b, n, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)

    def construct(self, x):
        b, n, c = x.shape
        q = self.split(self.q_proj(x))
        k = self.split(self.k_proj(x))
        v = self.split(self.v_proj(x))
        score = ops.matmul(q, k.transpose(0, 1, 3, 2)) * self.scale
        prob = ops.softmax(score.astype(ms.float32), axis=-1).astype(v.dtype)
        prob = self.attn_drop(prob)
        out = ops.matmul(prob, v).transpose(0, 2, 1, 3).reshape(b, n, c)
        return self.out_proj(out)


class EncoderLayer(nn.Cell):
    def __init__(self, hidden, num_heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm((hidden,), epsilon=1e-5)
        self.attn = MultiHeadAttention(hidden, num_heads, dropout)
        self.norm2 = nn.LayerNorm((hidden,), epsilon=1e-5)
        self.fc1 = nn.Dense(hidden, hidden * 4)
        self.act = nn.GELU()
        self.fc2 = nn.Dense(hidden * 4, hidden)
        self.drop = nn.Dropout(p=dropout)

    def construct(self, x):
        x = x + self.drop(self.attn(self.norm1(x)))
        x = x + self.drop(self.fc2(self.act(self.fc1(self.norm2(x)))))
        return x


class PowerNet(nn.Cell):
    def __init__(self, cfg, num_features):
        super().__init__()
        dim = cfg.hidden
        self.conv1 = CausalConv(num_features, dim // 2, 3, 1)
        self.conv2 = CausalConv(dim // 2, dim, 3, 2)
        self.hour_embed = nn.Embedding(24, dim, embedding_table=Normal(0.02))
        self.month_embed = nn.Embedding(12, dim, embedding_table=Normal(0.02))
        self.pos = Tensor(sinusoid_table(cfg.history, dim), ms.float32)
        self.layers = nn.CellList([EncoderLayer(dim, cfg.num_heads, cfg.dropout) for _ in range(cfg.num_layers)])
        self.norm = nn.LayerNorm((dim,), epsilon=1e-5)
        self.query = Parameter(initializer(Normal(0.02), (1, dim), ms.float32), name="query")
        self.head = nn.Dense(dim * 2, cfg.horizon)
        self.init_weights()

    def init_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Dense):
                cell.weight.set_data(initializer(XavierUniform(), cell.weight.shape, cell.weight.dtype))
                cell.bias.set_data(initializer("zeros", cell.bias.shape, cell.bias.dtype))

    def construct(self, x, cal):
        # x: [B, L, F], cal: [B, L, 2]
        h = self.conv2(self.conv1(x.transpose(0, 2, 1))).transpose(0, 2, 1)
        h = h + self.hour_embed(cal[:, :, 0]) + self.month_embed(cal[:, :, 1]) + self.pos
        for layer in self.layers:
            h = layer(h)
        h = self.norm(h)
        weight = ops.softmax((h * self.query).sum(axis=-1), axis=1)
        pooled = (h * weight.expand_dims(-1)).sum(axis=1)
        last = h[:, -1]
        out = self.head(ops.cat((pooled, last), axis=1))
        return out.astype(ms.float32)
