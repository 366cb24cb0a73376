"""Made-up voices: each word is three syllables, each syllable a pair of formants that glide."""
import numpy as np
import torch

WORDS = ("up", "down", "left", "right", "go", "stop", "yes", "no")
RATE, SECONDS = 4000, 0.4


def record(count, seed, noise):
    rng = np.random.default_rng(seed)
    table = np.random.default_rng(5).uniform([250, 900], [800, 1700], (len(WORDS), 3, 2))
    words = rng.integers(0, len(WORDS), count)
    t = np.arange(int(RATE * SECONDS)) / RATE
    speaker = rng.normal(1.0, 0.09, (count, 1, 1))
    formants = table[words] * speaker * rng.normal(1.0, 0.05, (count, 3, 2))
    place = np.clip((t / SECONDS * 3)[None] + rng.normal(0, 0.15, (count, 1)), 0, 2.999).astype(int)
    clips = np.zeros((count, len(t)))
    for k in range(2):
        pitch = np.take_along_axis(formants[:, :, k], place, axis=1)
        clips += np.sin(2 * np.pi * np.cumsum(pitch, 1) / RATE + rng.uniform(0, 6.28, (count, 1))) / (k + 1)
    loudness = rng.uniform(0.4, 1.0, (count, 1))
    clips = loudness * clips + noise * rng.normal(0, 1, clips.shape)
    return (8000 * clips).astype(np.int16), words


def log_spectrogram(clips):
    """int16 clips -> float32 (clip, frame, bin)."""
    wave = torch.from_numpy(clips.astype(np.float32)) / 32768.0
    stft = torch.stft(wave, 128, hop_length=64, window=torch.hann_window(128), return_complex=True)
    power = stft.abs().pow(2).clamp(min=1e-6)
    return torch.log(power).transpose(1, 2)[:, :, 4:60:2].contiguous()
