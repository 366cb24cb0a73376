"""Keyword net: convolutions over the spectrogram and attentive pooling over time."""
import mindspore as ms
from mindspore import nn, ops


class ConvBlock(nn.Cell):
    def __init__(self, cin, cout, drop):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, pad_mode="same", has_bias=False)
        self.norm = nn.BatchNorm2d(cout)
        self.act = nn.ReLU()
        self.pool = nn.MaxPool2d(kernel_size=(1, 2), stride=(1, 2))
        self.drop = nn.Dropout(p=drop)

    def construct(self, x):
        return self.drop(self.pool(self.act(self.norm(self.conv(x)))))


class AttentivePool(nn.Cell):
    """Mean over the true frames weighted by a learned score; x (B, T, D), length (B,)."""

    def __init__(self, dim):
        super().__init__()
        self.score = nn.Dense(dim, 1)

    def construct(self, x, length):
        steps = ops.arange(0, x.shape[1]).expand_dims(0)
        mask = (steps < length.expand_dims(1)).astype(ms.float32)
        score = self.score(x).squeeze(-1).astype(ms.float32) + (1.0 - mask) * -10000.0
        weight = ops.softmax(score, axis=-1).expand_dims(-1)
        return (x * weight.astype(x.dtype)).sum(axis=1)


class KeywordNet(nn.Cell):
    """Spectrograms (B, 1, T, mels) to logits (B, classes)."""

    def __init__(self, classes, mels=40, width=32, drop=0.1):
        super().__init__()
        blocks = []
        cin = 1
        for cout in (width, 2 * width, 4 * width):
            blocks.append(ConvBlock(cin, cout, drop))
            cin = cout
        self.blocks = nn.SequentialCell(blocks)
        self.gru = nn.GRU(4 * width * (mels // 8), 128, num_layers=2, batch_first=True, dropout=drop,
                          bidirectional=True)
        self.pool = AttentivePool(256)
        self.norm = nn.LayerNorm((256,), epsilon=1e-5)
        self.out = nn.Dense(256, classes)

    def construct(self, feats, length):
        x = self.blocks(feats)
        b, c, t, f = x.shape
        x = x.transpose((0, 2, 1, 3)).reshape((b, t, c * f))
        x, _ = self.gru(x)
        return self.out(self.norm(self.pool(x, length)))
