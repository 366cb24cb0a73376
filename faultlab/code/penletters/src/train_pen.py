"""Trains the sensor-pen letter recogniser.

python train_pen.py --manifest=data/manifest.jsonl --workdir=/tmp/pen
"""
import os

import numpy as np
import torch
from absl import app
from absl import flags
from absl import logging
from torch import nn

from penletters import corpus
from penletters import encoder
from penletters import metrics

FLAGS = flags.FLAGS
flags.DEFINE_string("manifest", "data/manifest.jsonl", "Recordings.")
flags.DEFINE_string("workdir", "work", "Where checkpoints go.")
flags.DEFINE_integer("dim", 192, "Width of the encoder.")
flags.DEFINE_integer("layers", 3, "Recurrent layers.")
flags.DEFINE_float("dropout", 0.2, "Dropout between recurrent layers.")
flags.DEFINE_integer("batch_size", 32, "Recordings in a batch.")
flags.DEFINE_integer("epochs", 80, "Passes over the training writers.")
flags.DEFINE_float("learning_rate", 1e-3, "Peak learning rate.")
flags.DEFINE_integer("warmup_steps", 300, "Steps of linear warm-up.")
flags.DEFINE_float("clip_norm", 1.0, "Largest gradient norm.")
flags.DEFINE_float("dev_share", 0.15, "Share of the writers held out.")
flags.DEFINE_integer("seed", 17, "Random seed.")


def inverse_sqrt(step):
    warm = FLAGS.warmup_steps
    return min((step + 1) / warm, (warm / (step + 1)) ** 0.5)


def train_pass(model, ctc, loader, optimizer, scheduler, device):
    model.train()
    losses = []
    for sigs, sig_lens, ids, id_lens in loader:
        log_probs, out_lens = model(sigs.to(device), sig_lens)
        loss = ctc(log_probs.float(), ids.to(device), out_lens, id_lens)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), FLAGS.clip_norm)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return float(np.mean(losses))


@torch.inference_mode()
def dev_pass(model, loader, device):
    model.eval()
    cer = metrics.CharErrorRate()
    for sigs, sig_lens, ids, id_lens in loader:
        log_probs, out_lens = model(sigs.to(device), sig_lens)
        refs = ["".join(corpus.ID_TO_CHAR[k] for k in part.tolist()) for part in ids.split(id_lens.tolist())]
        cer.add(metrics.greedy_decode(log_probs.cpu(), out_lens), refs)
    return cer.value()


def main(argv):
    del argv
    torch.manual_seed(FLAGS.seed)
    np.random.seed(FLAGS.seed)
    os.makedirs(FLAGS.workdir, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    rows = corpus.read_manifest(FLAGS.manifest)
    train_rows, dev_rows = corpus.split_writers(rows, FLAGS.dev_share, FLAGS.seed)
    stats = corpus.channel_stats(train_rows)
    train_loader = corpus.make_loader(train_rows, stats, FLAGS.batch_size, train=True)
    dev_loader = corpus.make_loader(dev_rows, stats, FLAGS.batch_size, train=False)

    model = encoder.PenEncoder(FLAGS.dim, FLAGS.layers, FLAGS.dropout).to(device)
    ctc = nn.CTCLoss(blank=corpus.BLANK)
    optimizer = torch.optim.AdamW(model.parameters(), lr=FLAGS.learning_rate, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, inverse_sqrt)

    latest = os.path.join(FLAGS.workdir, "latest.pt")
    first_epoch, best = 0, float("inf")
    if os.path.exists(latest):
        state = torch.load(latest, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        first_epoch, best = state["epoch"] + 1, state["best"]
        logging.info("continuing at epoch %d", first_epoch)

    for epoch in range(first_epoch, FLAGS.epochs):
        loss = train_pass(model, ctc, train_loader, optimizer, scheduler, device)
        cer = dev_pass(model, dev_loader, device)
        logging.info("epoch %d loss %.4f dev_cer %.4f lr %.2e", epoch, loss, cer, scheduler.get_last_lr()[0])
        if cer < best:
            best = cer
            torch.save(model.state_dict(), os.path.join(FLAGS.workdir, "best.pt"))
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "epoch": epoch, "best": best}, latest)
    logging.info("best dev cer %.4f", best)


if __name__ == "__main__":
    app.run(main)
