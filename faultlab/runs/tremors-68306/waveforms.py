"""Simulated three-component seismograms with the label of every sample: 0 noise, 1 P wave, 2 S wave."""

import numpy as np

LENGTH = 128  # samples per window, 20 Hz


def _coloured_noise(rng, n):
    noise = rng.normal(size=(n, 3, LENGTH + 40))
    for t in range(1, LENGTH + 40):
        noise[..., t] += 0.7 * noise[..., t - 1]
    return noise[..., 40:] / 1.4


def _wave(rng, onset, freq, decay, polarisation):
    t = (np.arange(LENGTH) - onset) / 20.0
    envelope = np.where(t >= 0, np.exp(-np.clip(t, 0, None) / decay), 0.0)
    phase = 2 * np.pi * freq * t + 0.6 * np.cumsum(rng.normal(size=LENGTH)) * 0.3
    return polarisation[:, None] * (envelope * np.sin(phase))


def simulate(n, seed):
    """Returns counts (n, 3, LENGTH) and labels (n, LENGTH), as the archive has them: noise first, then by strength."""
    rng = np.random.default_rng(seed)
    counts = _coloured_noise(rng, n)
    labels = np.zeros((n, LENGTH), dtype=np.int64)
    snr = np.exp(rng.uniform(np.log(0.8), np.log(12.0), size=n))
    snr[rng.random(n) < 0.2] = 0.0
    for i in np.flatnonzero(snr):
        p = int(rng.integers(15, 60))
        s = p + int(rng.integers(15, 50))
        vertical, horizontal = rng.normal(size=3) * [0.3, 0.3, 0.15] + [0.2, 0.2, 1.0], rng.normal(size=3) * [1, 1, 0.25]
        counts[i] += snr[i] * _wave(rng, p, rng.uniform(3.5, 6.0), 1.5, vertical / np.linalg.norm(vertical))
        counts[i] += 1.8 * snr[i] * _wave(rng, s, rng.uniform(1.2, 2.5), 2.5, horizontal / np.linalg.norm(horizontal))
        labels[i, p:s], labels[i, s:] = 1, 2
    gain = np.exp(rng.uniform(np.log(50), np.log(4000), size=(n, 1, 1)))
    counts = counts * gain + rng.normal(size=(n, 3, 1)) * 300
    dead = rng.random(n) < 0.08
    counts[dead, rng.integers(0, 2, size=dead.sum())] = 0.0  # a horizontal sensor that is off
    order = np.argsort(snr, kind="stable")
    return counts[order].astype(np.float32), labels[order]
