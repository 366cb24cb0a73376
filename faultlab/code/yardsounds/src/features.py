"""Log-mel front end without torchaudio: 16 kHz mono clips of 4 s in, (1, n_mels, frames) out."""
import math

import torch
from torch import nn


def hz_to_mel(f: float) -> float:
    return 2595.0 * math.log10(1.0 + f / 700.0)


def mel_filters(sr: int, n_fft: int, n_mels: int, fmin: float, fmax: float) -> torch.Tensor:
    mels = torch.linspace(hz_to_mel(fmin), hz_to_mel(fmax), n_mels + 2)
    hz = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    bins = torch.linspace(0, sr / 2, n_fft // 2 + 1)
    up = (bins[None] - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    down = (hz[2:, None] - bins[None]) / (hz[2:] - hz[1:-1])[:, None]
    return torch.minimum(up, down).clamp(min=0.0)


class LogMel(nn.Module):
    def __init__(self, sr: int = 16000, n_fft: int = 512, hop: int = 160, n_mels: int = 64,
                 mean: float = -3.8, std: float = 4.1):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.mean, self.std = mean, std
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)
        self.register_buffer("fb", mel_filters(sr, n_fft, n_mels, 50.0, sr / 2), persistent=False)

    def forward(self, wav: torch.Tensor) -> torch.Tensor:
        spec = torch.stft(wav, self.n_fft, self.hop, window=self.window, return_complex=True).abs().pow(2)
        mel = torch.matmul(self.fb, spec)
        logmel = torch.log(mel + 1e-6)
        return ((logmel - self.mean) / self.std).unsqueeze(1)


class SpecMask(nn.Module):
    """Sets one random band of mel bins and one of frames per clip to zero, which is the mean."""

    def __init__(self, max_mels: int = 12, max_frames: int = 40):
        super().__init__()
        self.max_mels, self.max_frames = max_mels, max_frames

    def _band(self, n: int, size: int, limit: int, device) -> torch.Tensor:
        width = torch.randint(0, limit + 1, (n, 1), device=device)
        start = (torch.rand(n, 1, device=device) * (size - width)).long()
        pos = torch.arange(size, device=device)[None]
        return (pos >= start) & (pos < start + width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, _, m, t = x.shape
        x = x.masked_fill(self._band(n, m, self.max_mels, x.device)[:, None, :, None], 0.0)
        return x.masked_fill(self._band(n, t, self.max_frames, x.device)[:, None, None, :], 0.0)
