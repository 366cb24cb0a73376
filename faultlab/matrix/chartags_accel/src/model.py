import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Tagger(nn.Module):
    def __init__(self, num_words, num_tags, dim=128, hidden=192, layers=2, dropout=0.3, pad=0):
        super().__init__()
        self.embedding = nn.Embedding(num_words, dim, padding_idx=pad)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(dim, hidden, num_layers=layers, batch_first=True, bidirectional=True, dropout=dropout)
        self.norm = nn.LayerNorm(2 * hidden)
        self.out = nn.Linear(2 * hidden, num_tags)
        self.reset()

    def reset(self):
        nn.init.normal_(self.embedding.weight, std=0.1)
        with torch.no_grad():
            self.embedding.weight[self.embedding.padding_idx].zero_()
        nn.init.xavier_uniform_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, ids, lengths):
        x = self.dropout(self.embedding(ids))
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed, _ = self.lstm(packed)
        x, _ = pad_packed_sequence(packed, batch_first=True, total_length=ids.size(1))
        return self.out(self.dropout(self.norm(x)))
