"""Synthetic phone strings as mel spectrograms: formant patterns, coarticulation, speakers, pauses, noise."""

import numpy as np
import torch

PHONES = "a e i o u m n s z t d k f l r j".split()
SPECIALS = ["<blank>", "<pad>", "</s>", "<unk>"]
N_MELS = 24


class Dictionary:
    def __init__(self, transcripts):
        self.symbols = SPECIALS + sorted({p for t in transcripts for p in t})
        self.index = {s: i for i, s in enumerate(self.symbols)}

    def encode(self, phones):
        return [self.index.get(p, self.index["<unk>"]) for p in phones]

    def __len__(self):
        return len(self.symbols)

    blank = property(lambda self: self.index["<blank>"])
    pad = property(lambda self: self.index["<pad>"])


def phone_shapes(rng):
    bins = np.arange(N_MELS)
    shapes = []
    for _ in PHONES:
        centres = rng.uniform(2, N_MELS - 3, size=3)
        heights = rng.uniform(0.5, 1.4, size=3)
        shapes.append((centres, heights))
    return bins, shapes


def synthesize(phones, rng, bins, shapes, noise):
    """Power spectrogram [frames, mels] of one utterance; pauses are digital silence."""
    shift, gain, rate = rng.normal(0, 0.6), np.exp(rng.normal(0, 0.25)), rng.uniform(0.85, 1.2)
    frames = [np.zeros((int(rng.integers(2, 5)), N_MELS))]
    last = None
    for p in phones:
        centres, heights = shapes[p]
        height = heights * np.exp(0.15 * rng.normal(size=3))
        logp = sum(h * 3.2 * np.exp(-0.5 * ((bins - c - shift) / 1.3) ** 2) for c, h in zip(centres, height))
        n = max(3, int(round(rng.uniform(4, 8) / rate)))
        seg = np.repeat(logp[None], n, axis=0)
        if last is not None:
            seg[0] = 0.5 * (seg[0] + last)
        seg = np.exp(seg + noise * rng.normal(size=seg.shape)) * gain
        frames.append(seg)
        last = logp
        if rng.random() < 0.25:
            frames.append(np.zeros((2, N_MELS)))
    return np.concatenate(frames)


def draw_phones(rng, n):
    k = len(PHONES)
    prior = 1.0 / np.arange(2, k + 2)
    out = [int(rng.choice(k, p=prior / prior.sum()))]
    while len(out) < n:
        p = int(rng.choice(k, p=prior / prior.sum()))
        if p != out[-1]:
            out.append(p)
    return out


def make_corpus(n_train, n_valid, valid_noise=0.8, transcripts="manual", seed=11):
    rng = np.random.default_rng(seed)
    bins, shapes = phone_shapes(rng)
    corpus = {}
    for subset, n, noise in (("valid", n_valid, valid_noise), ("train", n_train, 0.8)):
        rows = []
        for _ in range(n):
            phones = draw_phones(rng, int(rng.integers(3, 9)))
            power = synthesize(phones, rng, bins, shapes, noise)
            if transcripts == "auto":  # first-pass recogniser, about a third of its phones are wrong
                phones = [int(rng.integers(len(PHONES))) if rng.random() < 0.35 else p for p in phones]
            rows.append((power, [PHONES[p] for p in phones]))
        corpus[subset] = rows
    return corpus


class SpecDataset(torch.utils.data.Dataset):
    def __init__(self, rows, dictionary, train, max_frames=200, time_mask=4, freq_mask=3, seed=0):
        self.rows, self.dictionary, self.train = rows, dictionary, train
        self.max_frames, self.time_mask, self.freq_mask = max_frames, time_mask, freq_mask
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        power, phones = self.rows[i]
        feats = np.log(power + 1e-2)[: self.max_frames]
        feats = (feats - feats.mean(0)) / (feats.std(0) + 1e-5)
        if self.train:
            feats = self.spec_augment(feats)
        target = self.dictionary.encode(phones)
        return torch.tensor(feats, dtype=torch.float32), torch.tensor(target)

    def spec_augment(self, feats):
        feats = feats.copy()
        t = int(self.rng.integers(0, self.time_mask + 1))
        start = int(self.rng.integers(0, max(1, len(feats) - t)))
        feats[start : start + t] = 0.0
        f = int(self.rng.integers(0, self.freq_mask + 1))
        start = int(self.rng.integers(0, N_MELS - f))
        feats[:, start : start + f] = 0.0
        return feats


def collater(samples, pad):
    feats, targets = zip(*samples)
    return {
        "src": torch.nn.utils.rnn.pad_sequence(feats, batch_first=True),
        "src_lengths": torch.tensor([len(f) for f in feats]),
        "target": torch.nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=pad),
        "target_lengths": torch.tensor([len(t) for t in targets]),
        "ntokens": sum(len(t) for t in targets),
    }


def batch_iterator(dataset, batch_size, epoch=None, seed=1):
    """Mini-batches of utterances of like length, their order drawn from seed and epoch."""
    lengths = np.array([len(r[0]) for r in dataset.rows])
    if epoch is None:
        order, batches_order = np.arange(len(lengths)), None
    else:
        rng = np.random.default_rng([seed, epoch])
        order = rng.permutation(len(lengths))
        order = order[np.argsort(lengths[order] // 8, kind="stable")]
        batches_order = rng
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    if batches_order is not None:
        batches = [batches[i] for i in batches_order.permutation(len(batches))]
    for indices in batches:
        yield collater([dataset[int(i)] for i in indices], dataset.dictionary.pad)
