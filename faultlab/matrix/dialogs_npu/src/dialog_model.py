import torch
from torch import nn


class IntentEncoder(nn.Module):
    def __init__(self, vocab_size, num_intents, width=256, heads=8, depth=6, max_len=64, drop=0.1, pad=0):
        super().__init__()
        self.words = nn.Embedding(vocab_size, width, padding_idx=pad)
        self.places = nn.Parameter(torch.zeros(1, max_len, width))
        nn.init.trunc_normal_(self.places, std=0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, drop, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(drop)
        self.head = nn.Linear(width, num_intents)

    def forward(self, ids, mask):
        x = self.words(ids) + self.places[:, : ids.size(1)]
        x = self.encoder(x, src_key_padding_mask=mask)
        return self.head(self.drop(self.norm(x[:, 0])))
