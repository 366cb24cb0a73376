"""Decoder of a small language model, in the manner of mindformers."""
import numpy as np

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore import dtype as mstype
from mindspore.common.initializer import Normal, initializer


class Config:
    vocab_size = 8000
    seq_length = 256
    hidden_size = 256
    num_layers = 6
    num_heads = 8
    hidden_dropout_rate = 0.1
    attention_dropout_rate = 0.1
    initializer_range = 0.02
    layer_norm_epsilon = 1e-5
    pad_token_id = 0
    bos_token_id = 1
    compute_dtype = mstype.float16


class LayerNorm(nn.Cell):
    """Norm in full precision."""

    def __init__(self, size, eps=1e-5):
        super().__init__()
        self.gamma = Parameter(initializer("ones", (size,), mstype.float32), name="gamma")
        self.beta = Parameter(initializer("zeros", (size,), mstype.float32), name="beta")
        self.eps = eps
        self.mean = ops.ReduceMean(keep_dims=True)

    def construct(self, x):
        x = ops.cast(x, mstype.float32)
        mu = self.mean(x, -1)
        var = self.mean(ops.square(x - mu), -1)
        return (x - mu) / ops.sqrt(var + self.eps) * self.gamma + self.beta


class CausalAttention(nn.Cell):
    def __init__(self, config):
        super().__init__()
        self.num_heads = config.num_heads
        self.head_dim = config.hidden_size // config.num_heads
        init = Normal(config.initializer_range)
        self.wq = nn.Dense(config.hidden_size, config.hidden_size, weight_init=init).to_float(config.compute_dtype)
        self.wk = nn.Dense(config.hidden_size, config.hidden_size, weight_init=init).to_float(config.compute_dtype)
        self.wv = nn.Dense(config.hidden_size, config.hidden_size, weight_init=init).to_float(config.compute_dtype)
        self.wo = nn.Dense(config.hidden_size, config.hidden_size, weight_init=init).to_float(config.compute_dtype)
        self.norm_factor = self.head_dim ** 0.5
        self.softmax = nn.Softmax(axis=-1)
        self.dropout = nn.Dropout(p=config.attention_dropout_rate)
        self.matmul_qk = ops.BatchMatMul(transpose_b=True)
        self.matmul = ops.BatchMatMul()

    def heads(self, x):
        b, s, _ = x.shape
        return x.reshape((b, s, self.num_heads, self.head_dim)).transpose((0, 2, 1, 3))

    def construct(self, x, mask):
        b, s, h = x.shape
        q, k, v = self.heads(self.wq(x)), self.heads(self.wk(x)), self.heads(self.wv(x))
        score = self.matmul_qk(q, k) / self.norm_factor
        score = ops.cast(score, mstype.float32) + (1.0 - mask) * -10000.0
        prob = self.dropout(self.softmax(score))
        out = self.matmul(ops.cast(prob, v.dtype), v)
        return self.wo(out.transpose((0, 2, 1, 3)).reshape((b, s, h)))


class DecoderLayer(nn.Cell):
    def __init__(self, config):
        super().__init__()
        size = config.hidden_size
        self.ln1 = LayerNorm(size, config.layer_norm_epsilon)
        self.attention = CausalAttention(config)
        self.ln2 = LayerNorm(size, config.layer_norm_epsilon)
        self.up = nn.Dense(size, 4 * size, activation="gelu").to_float(config.compute_dtype)
        self.down = nn.Dense(4 * size, size).to_float(config.compute_dtype)
        self.dropout = nn.Dropout(p=config.hidden_dropout_rate)

    def construct(self, x, mask):
        x = x + self.dropout(self.attention(self.ln1(x), mask))
        return x + self.dropout(self.down(self.up(self.ln2(x))))


class LetterLM(nn.Cell):
    """Token ids (B, S) to logits (B, S, V); the head shares the embedding's table."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.token = nn.Embedding(config.vocab_size, config.hidden_size, embedding_table=Normal(0.02))
        self.position = nn.Embedding(config.seq_length, config.hidden_size, embedding_table=Normal(0.02))
        self.dropout = nn.Dropout(p=config.hidden_dropout_rate)
        self.layers = nn.CellList([DecoderLayer(config) for _ in range(config.num_layers)])
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_epsilon)
        self.causal = Tensor(np.tril(np.ones((config.seq_length, config.seq_length))), mstype.float32)

    def construct(self, ids, pad_mask):
        s = ids.shape[1]
        places = ops.arange(0, s)
        x = self.dropout(self.token(ids) + self.position(places))
        mask = self.causal[:s, :s] * pad_mask.expand_dims(1).expand_dims(1)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        return ops.matmul(x, self.token.embedding_table.T)


class LMWithLoss(nn.Cell):
    """Mean negative log-likelihood of the next token over true tokens."""

    def __init__(self, network, config):
        super().__init__(auto_prefix=False)
        self.network = network
        self.pad = config.pad_token_id
        self.log_softmax = nn.LogSoftmax(axis=-1)
        self.vocab = config.vocab_size

    def construct(self, ids):
        tokens = ids[:, :-1]
        labels = ids[:, 1:]
        pad_mask = ops.cast(ops.not_equal(tokens, self.pad), mstype.float32)
        logits = self.network(tokens, pad_mask)
        logp = self.log_softmax(logits)
        picked = ops.gather_elements(logp, 2, labels.expand_dims(-1)).squeeze(-1)
        keep = ops.cast(ops.not_equal(labels, self.pad), mstype.float32)
        return -(picked * keep).sum() / (keep.sum() + 1e-8)
