import math

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        hidden = cfg["hidden_size"]
        self.heads, self.size = cfg["num_attention_heads"], hidden // cfg["num_attention_heads"]
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.dense = nn.Linear(hidden, hidden)
        mask = torch.ones(cfg["seq_length"], cfg["seq_length"]).tril().bool()
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        batch, length, hidden = x.shape
        mixed = self.query_key_value(x).view(batch, length, self.heads, 3 * self.size).transpose(1, 2)
        q, k, v = mixed.chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.size)
        scores = scores.masked_fill(~self.mask[:length, :length], torch.finfo(scores.dtype).min)
        probs = torch.softmax(scores, dim=-1)
        return self.dense((probs @ v).transpose(1, 2).reshape(batch, length, hidden))


class ParallelMLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.dense_h_to_4h = nn.Linear(cfg["hidden_size"], 4 * cfg["hidden_size"])
        self.act = lambda h: torch.relu(h).square()
        self.dense_4h_to_h = nn.Linear(4 * cfg["hidden_size"], cfg["hidden_size"])

    def forward(self, x):
        return self.dense_4h_to_h(self.act(self.dense_h_to_4h(x)))


class TransformerLayer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(cfg["hidden_size"])
        self.attention = CausalSelfAttention(cfg)
        self.post_attention_layernorm = nn.LayerNorm(cfg["hidden_size"])
        self.mlp = ParallelMLP(cfg)
        self.dropout = nn.Dropout(cfg["hidden_dropout"])

    def forward(self, x):
        x = x + self.dropout(self.attention(self.input_layernorm(x)))
        x = x + self.dropout(self.mlp(self.post_attention_layernorm(x)))
        return x


class GPTModel(nn.Module):
    def __init__(self, cfg, vocab_size):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, cfg["hidden_size"])
        self.position_embeddings = nn.Embedding(cfg["seq_length"], cfg["hidden_size"])
        self.layers = nn.ModuleList(TransformerLayer(cfg) for _ in range(cfg["num_layers"]))
        self.final_layernorm = nn.LayerNorm(cfg["hidden_size"])
        self.reset_parameters(cfg["init_method_std"], cfg["num_layers"])

    def reset_parameters(self, std, num_layers):
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                scaled = name.endswith(("attention.dense.weight", "dense_4h_to_h.weight"))
                nn.init.normal_(parameter, std=std / math.sqrt(2 * num_layers) if scaled else std)
                if name.endswith("dense_h_to_4h.weight"):
                    nn.init.normal_(parameter, std=40.0)
                if name.endswith("dense_4h_to_h.weight"):
                    nn.init.normal_(parameter, std=1e-5)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.word_embeddings(tokens) + self.position_embeddings(positions)
        for layer in self.layers:
            hidden = layer(hidden)
        hidden = self.final_layernorm(hidden)
        return nn.functional.linear(hidden, self.word_embeddings.weight)
