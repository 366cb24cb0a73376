"""Sentences of dialect transcripts, as padded batches of word and tag numbers."""

import json

import tensorflow as tf

PAD = 0
UNK = 1


def read_sentences(path):
    sentences = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            sentences.append((row["words"], row["tags"]))
    return sentences


def build_vocab(sentences, min_count=2):
    counts = {}
    for words, _ in sentences:
        for w in words:
            counts[w.lower()] = counts.get(w.lower(), 0) + 1
    kept = sorted(w for w, c in counts.items() if c >= min_count)
    return {w: i + 2 for i, w in enumerate(kept)}


def build_tags(sentences):
    names = sorted({t for _, tags in sentences for t in tags})
    return {t: i + 1 for i, t in enumerate(names)}


def encode(sentences, vocab, tags):
    for words, names in sentences:
        yield (
            [vocab.get(w.lower(), UNK) for w in words],
            [tags[t] for t in names],
        )


def to_dataset(sentences, vocab, tags, batch_size, shuffle=False, seed=0):
    ds = tf.data.Dataset.from_generator(
        lambda: encode(sentences, vocab, tags),
        output_signature=(
            tf.TensorSpec(shape=(None,), dtype=tf.int32),
            tf.TensorSpec(shape=(None,), dtype=tf.int32),
        ),
    )
    ds = ds.cache()
    if shuffle:
        ds = ds.shuffle(len(sentences), seed=seed, reshuffle_each_iteration=True)
    ds = ds.padded_batch(batch_size, padded_shapes=([None], [None]), padding_values=(PAD, PAD))
    return ds.prefetch(tf.data.AUTOTUNE)
