# %% [markdown]
# # Out-of-distribution detection on digits
# A network that was trained on digits sees clothes. Its draws disagree about them, and their disagreement (epistemic
# uncertainty) tells digits from clothes.
#
# With MNIST and Fashion-MNIST in `../shared/data` (or `$RIEMLA_DATA_DIR`) real images are used, otherwise generated
# ones: blurred seven-segment digits against random strokes.
#
# Run: `python examples/python/ood_digits.py [picture.png]` (needs `pip install 'riemla[torch]' matplotlib`).

# %%
import gzip
import os
import sys
from pathlib import Path

import matplotlib
import numpy as np
import torch
from torch import nn

import riemla

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

TRAIN, TEST, SIDE = 500, 300, 14
rng = np.random.default_rng(0)


# %% Data: 14 × 14 images
def idx(path):
    with gzip.open(path) as file:
        head = file.read(4)
        shape = [int.from_bytes(file.read(4), "big") for _ in range(head[3])]
        return np.frombuffer(file.read(), dtype=np.uint8).reshape(shape)


def halved(images):
    return images.reshape(-1, SIDE, 2, SIDE, 2).mean(axis=(2, 4)) / 255.0


def generated(count):
    """Seven segments, shifted, blurred and noisy."""
    segments = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcfgd"]
    place = {"a": (2, 4, 10), "g": (6, 4, 10), "d": (10, 4, 10), "f": (4, 2, 7), "b": (9, 2, 7), "e": (4, 6, 11), "c": (9, 6, 11)}
    labels = np.arange(count) % 10
    images = np.zeros((count, SIDE, SIDE))
    for image, label in zip(images, labels):
        for name in segments[label]:
            at, start, end = place[name]
            if name in "agd":
                image[at, start:end] = 1
            else:
                image[start:end, at] = 1
    return spoiled(images), labels


def strokes(count):
    images = np.zeros((count, SIDE, SIDE))
    for image in images:
        for _ in range(4):
            row, column = rng.integers(1, SIDE - 1, size=2)
            for _ in range(12):
                image[row, column] = 1
                row, column = np.clip([row + rng.integers(-1, 2), column + rng.integers(-1, 2)], 0, SIDE - 1)
    return spoiled(images)


def spoiled(images):
    shifted = np.stack([np.roll(image, rng.integers(-1, 2, size=2), axis=(0, 1)) for image in images])
    blurred = sum(np.roll(shifted, (i, j), axis=(1, 2)) for i in (-1, 0, 1) for j in (-1, 0, 1)) / 6
    return np.clip(blurred + rng.normal(scale=0.1, size=images.shape), 0, 1)


data = Path(os.environ.get("RIEMLA_DATA_DIR", Path(__file__).resolve().parents[3] / "shared" / "data"))
if (data / "mnist").is_dir():
    source = "MNIST and Fashion-MNIST"
    images, labels = (idx(data / "mnist" / f"t10k-{kind}-ubyte.gz") for kind in ("images-idx3", "labels-idx1"))
    X, y = halved(images[: TRAIN + TEST]), labels[: TRAIN + TEST].astype(np.int64)
    other = halved(idx(data / "fashion_mnist" / "t10k-images-idx3-ubyte.gz")[:TEST])
else:
    source = "generated digits and strokes"
    X, y = generated(TRAIN + TEST)
    other = strokes(TEST)
print(f"{source}: {TRAIN} images to train, {TEST} to test, {TEST} out of distribution")
X, other = X[:, None], other[:, None]

# %% A small network on 7 × 7 means
torch.manual_seed(0)
model = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(49, 12), nn.Tanh(), nn.Linear(12, 10)).double()
x_t, y_t = torch.as_tensor(X[:TRAIN]), torch.as_tensor(y[:TRAIN])
optimiser = torch.optim.LBFGS(model.parameters(), max_iter=200, line_search_fn="strong_wolfe")


def loss():
    optimiser.zero_grad()
    decay = 0.5 * sum(p.square().sum() for p in model.parameters())
    total = nn.functional.cross_entropy(model(x_t), y_t, reduction="sum") + decay
    total.backward()
    return total


for _ in range(3):
    optimiser.step(loss)

# %% Draws of its weights
la = riemla.Laplace(model, "classification", hessian_structure="full", prior_precision=1.0).fit(X[:TRAIN], y[:TRAIN])
draws = la.sample(30, seed=1)
print(la, draws, sep="\n")
digits, clothes = la.predict(X[TRAIN:]), la.predict(other)
accuracy = (digits.probabilities.argmax(axis=1) == y[TRAIN:]).mean()


# %% How well each uncertainty tells them apart: probability that a foreign image has the larger one
def auroc(inside, outside):
    return (outside[:, None] > inside[None]).mean() + 0.5 * (outside[:, None] == inside[None]).mean()


print(f"accuracy on digits: {accuracy:.3f}")
for kind in ("total", "aleatoric", "epistemic"):
    print(f"AUROC of {kind} uncertainty: {auroc(getattr(digits, kind), getattr(clothes, kind)):.3f}")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), constrained_layout=True)
for place, kind in zip(axes, ("total", "epistemic")):
    values = getattr(digits, kind), getattr(clothes, kind)
    place.hist(values, bins=25, label=["digits", "out of distribution"], density=True)
    place.set(title=f"{kind} uncertainty: AUROC {auroc(*values):.2f}", xlabel="nats")
axes[0].legend()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "ood_digits.png", dpi=80)
