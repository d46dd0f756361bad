"""A network by DP-SGD of Opacus with the cross-entropy of single records, to compare with.

Its guarantee is for neighbours that **add or remove** a record, by Poisson sampling and its PRV
accountant; ours is for a **replaced** record, which is stronger at the same ε: a replacement is one
removal and one addition. Rows are standardised by their exact means and deviations, which
Opacus leaves to the caller and which no budget pays for here. Both are advantages of the peer.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
RELATION = "add or remove"


@dataclass(frozen=True)
class OpacusSettings:
    """The settings of DP-SGD, chosen on other draws of the synthetic records.

    Parameters
    ----------
    hidden : tuple of int
        The widths of the layers, with tanh, as in the built-in network.
    batch_size : int
        The expected number of records of a Poisson sample.
    steps : int
        The number of steps.
    learning_rate : float
        That of Adam.
    clip : float
        The norm that the gradient of each record is clipped to.
    """

    hidden: tuple[int, ...] = (32, 16)
    batch_size: int = 2048
    steps: int = 400
    learning_rate: float = 0.02
    clip: float = 0.5


def perceptron(features: int, hidden: tuple[int, ...]) -> Any:
    """Return dense layers with tanh and one score, as a torch module."""
    import torch

    layers: list[Any] = []
    for width in hidden:
        layers += [torch.nn.Linear(features, width), torch.nn.Tanh()]
        features = width
    return torch.nn.Sequential(*layers, torch.nn.Linear(features, 1))


def opacus_scores(
    x: ArrayLike,
    y: ArrayLike,
    test: ArrayLike,
    epsilon: float | None,
    delta: float,
    seed: int = 0,
    settings: OpacusSettings | None = None,
) -> Array:
    """Return scores of test rows by a network that Opacus trained on rows and their labels.

    Parameters
    ----------
    x, y : arrays
        Training rows, and labels of two classes; the larger one is positive.
    test : array
        Rows to score.
    epsilon, delta : float
        The budget, for an added or removed record; without ε there is no noise and no clipping.
    seed : int
        The seed of weights, samples and noise.
    settings : OpacusSettings, optional
        What to train.
    """
    import torch

    found = settings or OpacusSettings()
    rows, labels, others = np.asarray(x, float), np.asarray(y), np.asarray(test, float)
    centre, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-12)
    positive = (labels == labels.max()).astype(np.float32)
    torch.manual_seed(seed)
    model = perceptron(rows.shape[1], found.hidden)
    data = torch.utils.data.TensorDataset(
        torch.tensor((rows - centre) / scale, dtype=torch.float32), torch.tensor(positive)
    )
    model = _trained(model, data, epsilon, delta, found)
    model.eval()
    with torch.no_grad():
        scores = model(torch.tensor((others - centre) / scale, dtype=torch.float32))
    return np.asarray(scores[:, 0].numpy(), dtype=np.float64)


def _trained(
    model: Any, data: Any, epsilon: float | None, delta: float, settings: OpacusSettings
) -> Any:
    import torch

    b = min(settings.batch_size, len(data))
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
    loader = torch.utils.data.DataLoader(data, batch_size=b, shuffle=True)
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    if epsilon is not None:
        import opacus
        from opacus.accountants.utils import get_noise_multiplier

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of generators that are not cryptographic
            multiplier = get_noise_multiplier(
                target_epsilon=epsilon,
                target_delta=delta,
                sample_rate=1 / len(loader),  # that of its sampler
                steps=settings.steps,
                accountant="prv",
            )
            model, optimizer, loader = opacus.PrivacyEngine(accountant="prv").make_private(
                module=model,
                optimizer=optimizer,
                data_loader=loader,
                noise_multiplier=multiplier,
                max_grad_norm=settings.clip,
            )
    done = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while done < settings.steps:
            for rows, labels in loader:
                optimizer.zero_grad()
                loss(model(rows)[:, 0], labels).backward()
                optimizer.step()
                done += 1
                if done == settings.steps:
                    break
    return model
