"""Modules to learn, and modules to refuse."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    """Two layers and a LayerNorm, which does not mix records."""

    def __init__(self, features: int, width: int = 4) -> None:
        super().__init__()
        self.first = nn.Linear(features, width)
        self.middle = nn.LayerNorm(width)
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.middle(self.first(x))))


class Line(nn.Module):
    """⟨w, x⟩ + b, of shape (b,)."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.line = nn.Linear(features, 1)

    def forward(self, x):
        return self.line(x)[:, 0]


class Plain(nn.Module):
    """The layers of the built-in network with hidden=(4, 3), whose last weights have no bias."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, 4),
            nn.Tanh(),
            nn.Linear(4, 3),
            nn.Tanh(),
            nn.Linear(3, 1, bias=False),
        )

    def forward(self, x):
        return self.layers(x)


class Tied(nn.Module):
    """An autoencoder's layers: one weight in two places."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, features)
        self.second = nn.Linear(features, features, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.tanh(self.first(x))).sum(1)


class Frozen(Net):
    """Random features that stay as they are, and a buffer."""

    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.first.requires_grad_(False)
        self.register_buffer("scale", torch.rand(4))
        self.register_buffer("count", torch.tensor(3))

    def forward(self, x):
        return self.last(self.scale * torch.tanh(self.first(x)) * self.count)


class NotFinite(Line):
    """NaN gradients for rows whose first feature is above 1, infinite scores below -1."""

    def forward(self, x):
        grown = torch.where(x[:, 0] < -1, torch.inf, 1.0)
        return super().forward(x) * grown + 0 * torch.sqrt(1.0 - x[:, 0]) * self.line.bias


class Gathered(Line):
    """An error for rows outside the range of public ones."""

    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.table = nn.Embedding(9, 1)

    def forward(self, x):
        return super().forward(x) + self.table((x[:, 0] / 50).long().clamp(min=0))[:, 0]


class WithBatchNorm(Net):
    def __init__(self, features: int, width: int = 4, *, evaluating: bool = False) -> None:
        super().__init__(features, width)
        self.middle = nn.BatchNorm1d(width)
        if evaluating:
            self.eval()


class WithoutTracking(Net):
    """Batch statistics by hand, which a batch of one does not refuse."""

    def forward(self, x):
        return super().forward(x - x.mean(0) / 2)


class Neighbouring(Net):
    """A record is scored with the one before it."""

    def forward(self, x):
        return super().forward(x + 0.1 * torch.roll(x, 1, 0))


class WithDropout(Net):
    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.middle = nn.Dropout(0.5)


class WithNumpyNoise(Net):
    def forward(self, x):
        return super().forward(x) + np.random.default_rng().normal()


class Counting(Net):
    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += len(x)
        return super().forward(x)


class Remembering(Net):
    """A buffer that is assigned the sum of all rows so far, and added to scores."""

    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.register_buffer("seen", torch.zeros(features))

    def forward(self, x):
        self.seen = self.seen + x.sum(0)
        return super().forward(x) + self.seen.sum()


class Branching(Net):
    def forward(self, x):
        return super().forward(x) if x.sum() > -1e9 else super().forward(-x)


class Selecting(Net):
    def forward(self, x):
        return super().forward(x[x[:, 0] > 0])


class TwoScores(Net):
    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.last = nn.Linear(4, 2)


class Dictionary(Net):
    def forward(self, x):
        return {"scores": super().forward(x)}


class Complex(Net):
    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.phase = nn.Parameter(torch.zeros(2, dtype=torch.complex64))


class Integers(Net):
    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.places = nn.Parameter(torch.zeros(2, dtype=torch.int64), requires_grad=False)


class Lazy(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.line = nn.LazyLinear(1)

    def forward(self, x):
        return self.line(x)


class NothingToLearn(Net):
    def __init__(self, features: int) -> None:
        super().__init__(features)
        self.requires_grad_(False)


class Single(Net):
    """Single precision inside, which the double precision of parameters contradicts."""

    def forward(self, x):
        return super().forward(x.float())


class Flat(Net):
    """No gradient at the initial weights."""

    def forward(self, x):
        return 0 * super().forward(x)
