"""Tagged sentences in the two-column form: one token and tag a line, blank line between sentences."""

import json
import random
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, UNK = 0, 1
IGNORE = -100


def read_sentences(folder):
    sentences = []
    for file in sorted(Path(folder).glob("*.tsv")):
        words, tags = [], []
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip():
                word, tag = line.split("\t")[:2]
                words.append(word)
                tags.append(tag)
            elif words:
                sentences.append((words, tags))
                words, tags = [], []
        if words:
            sentences.append((words, tags))
    return sentences


def split(sentences, share, seed):
    sentences = list(sentences)
    random.Random(seed).shuffle(sentences)
    n = int(len(sentences) * share)
    return sentences[n:], sentences[:n]


class Vocabulary:
    def __init__(self, sentences, min_count=2):
        counts = {}
        for words, _ in sentences:
            for word in words:
                counts[word.lower()] = counts.get(word.lower(), 0) + 1
        kept = sorted(w for w, n in counts.items() if n >= min_count)
        self.words = {w: i + 2 for i, w in enumerate(kept)}
        self.tags = {t: i for i, t in enumerate(sorted({t for _, tags in sentences for t in tags}))}

    def __len__(self):
        return len(self.words) + 2

    def word_id(self, word):
        return self.words.get(word.lower(), UNK)

    def save(self, path):
        Path(path).write_text(json.dumps({"words": self.words, "tags": self.tags}), encoding="utf-8")


class TagDataset(Dataset):
    def __init__(self, sentences, vocabulary, word_dropout=0.0):
        self.sentences = sentences
        self.vocabulary = vocabulary
        self.word_dropout = word_dropout

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        words, tags = self.sentences[index]
        ids = [self.vocabulary.word_id(w) for w in words]
        if self.word_dropout:
            ids = [UNK if random.random() < self.word_dropout else i for i in ids]
        return torch.tensor(ids), torch.tensor([self.vocabulary.tags[t] for t in tags])


def collate(batch):
    ids, tags = zip(*batch)
    lengths = torch.tensor([len(x) for x in ids])
    return {
        "ids": pad_sequence(ids, batch_first=True, padding_value=PAD),
        "tags": pad_sequence(tags, batch_first=True, padding_value=IGNORE),
        "lengths": lengths,
    }


def make_loaders(config):
    train, valid = split(read_sentences(config["data"]), config["valid_share"], config["seed"])
    vocabulary = Vocabulary(train)
    train_set = TagDataset(train, vocabulary, config["word_dropout"])
    valid_set = TagDataset(valid, vocabulary)
    train_loader = DataLoader(
        train_set, batch_size=config["batch_size"], shuffle=True, collate_fn=collate, num_workers=config["workers"]
    )
    valid_loader = DataLoader(valid_set, batch_size=config["batch_size"] * 2, collate_fn=collate)
    return train_loader, valid_loader, vocabulary
