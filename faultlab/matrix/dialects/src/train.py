"""Train the tagger: python train.py --data dialects"""

import argparse
import os
import random

import numpy as np
import tensorflow as tf
from tensorflow import keras

from data import build_tags, build_vocab, read_sentences, to_dataset
from tagger import Tagger


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="dialects")
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default="tagger.weights.h5")
    return p.parse_args()


def main():
    args = parse()
    random.seed(args.seed)
    np.random.seed(args.seed)
    tf.random.set_seed(args.seed)

    train = read_sentences(os.path.join(args.data, "train.jsonl"))
    dev = read_sentences(os.path.join(args.data, "dev.jsonl"))
    test = read_sentences(os.path.join(args.data, "test.jsonl"))
    vocab = build_vocab(train)
    tags = build_tags(train)

    train_ds = to_dataset(train, vocab, tags, args.batch_size, shuffle=True, seed=args.seed)
    dev_ds = to_dataset(dev, vocab, tags, args.batch_size)
    test_ds = to_dataset(test, vocab, tags, args.batch_size)

    model = Tagger(len(vocab) + 2, len(tags) + 1)
    model.compile(optimizer=keras.optimizers.Adam(args.lr))
    callbacks = [
        keras.callbacks.ModelCheckpoint(
            args.out, monitor="val_accuracy", mode="max", save_best_only=True, save_weights_only=True
        ),
        keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=2, min_lr=1e-5),
        keras.callbacks.EarlyStopping(monitor="val_accuracy", mode="max", patience=6),
        keras.callbacks.TerminateOnNaN(),
    ]
    model.fit(train_ds, validation_data=dev_ds, epochs=args.epochs, callbacks=callbacks)

    model.load_weights(args.out)
    result = model.evaluate(test_ds, return_dict=True)
    print("test loss %.4f accuracy %.4f" % (result["loss"], result["accuracy"]))


if __name__ == "__main__":
    main()
