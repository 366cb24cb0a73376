import torch
from torch import nn

PAD, UNK, CLS = 0, 1, 2


class Tokenizer:
    def __init__(self, vocab):
        self.vocab = vocab

    @classmethod
    def build(cls, texts):
        words = sorted({word for text in texts for word in text.lower().split()})
        return cls({word: i + 3 for i, word in enumerate(words)})

    def __call__(self, texts, max_length=24):
        rows = [[CLS] + [self.vocab.get(w, UNK) for w in text.lower().split()][: max_length - 1] for text in texts]
        longest = max(map(len, rows))
        return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


class Encoder(nn.Module):
    def __init__(self, vocab_size, hidden_size=32, num_layers=1, num_heads=4, dropout=0.1, max_length=24):
        super().__init__()
        self.config = {"vocab_size": vocab_size, "hidden_size": hidden_size, "num_layers": num_layers}
        self.tokens = nn.Embedding(vocab_size, hidden_size, padding_idx=PAD)
        self.positions = nn.Embedding(max_length, hidden_size)
        layer = nn.TransformerEncoderLayer(
            hidden_size, num_heads, 2 * hidden_size, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, num_layers, nn.LayerNorm(hidden_size), enable_nested_tensor=False)
        nn.init.normal_(self.tokens.weight, std=0.1)
        nn.init.normal_(self.positions.weight, std=0.02)

    def forward(self, input_ids):
        h = self.tokens(input_ids) + self.positions.weight[: input_ids.shape[1]]
        return self.layers(h, src_key_padding_mask=input_ids == PAD)
