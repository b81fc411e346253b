"""Makes further models of this directory: branches, normalisations, groups, dilation, more activations.

    python make_branches.py     # needs torch, onnx, onnxscript, safetensors, numpy

cases_branches.json holds for each model its files, some inputs and the outputs that PyTorch computed, as
make.py describes. named.pt is what torch.save writes, which riemla does not read: it says how to convert it.
"""

import platform

import numpy as np
import onnx
import safetensors
import torch
from safetensors.torch import save_file
from torch import nn

from make import HERE, case, inputs, strip, write


class NormBlock(nn.Module):
    """x + f(norm(x)), as in transformers."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x)), approximate="tanh"))


class ResidualMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.block1 = NormBlock(4)
        self.block2 = NormBlock(4)
        self.norm = nn.LayerNorm(4, eps=1e-3, elementwise_affine=False)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.norm(self.block2(self.block1(self.fc1(x)))))


class BasicBlock(nn.Module):
    """The block of ResNet-18: normalisations after convolutions, a ReLU after the sum."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class SmallResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(2)
        self.layer1 = BasicBlock(2, 2, 1)
        self.layer2 = BasicBlock(2, 4, 2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        x = self.layer2(self.layer1(torch.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.pool(x), 1))


class PreActivation(nn.Module):
    """Normalisations that no layer with weights precedes: of the input, after an activation, before a padded
    convolution, and in a branch."""

    def __init__(self):
        super().__init__()
        self.bn0 = nn.BatchNorm2d(2)
        self.conv0 = nn.Conv2d(2, 4, 3)
        self.bn1 = nn.BatchNorm2d(4)
        self.depthwise = nn.Conv2d(4, 4, 3, padding=2, dilation=2, groups=4)
        self.bn2 = nn.BatchNorm2d(4)
        self.pointwise = nn.Conv2d(4, 4, 1, groups=2)
        self.bn3 = nn.BatchNorm1d(64)
        self.last = nn.Linear(64, 2)

    def forward(self, x):
        x = torch.tanh(self.conv0(self.bn0(x)))
        x = x - 0.5 * self.pointwise(self.bn2(torch.relu(self.depthwise(self.bn1(x)))))
        return self.last(self.bn3(torch.flatten(torch.tanh(x), 1)))


class Named(nn.Module):
    """Names as people choose them."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.fc2 = nn.Linear(4, 4)
        self.fc10 = nn.Linear(4, 4)
        self.out = nn.Linear(4, 2, bias=False)

    def forward(self, x):
        for layer in (self.fc1, self.fc2, self.fc10):
            x = torch.tanh(layer(x))
        return self.out(x)


def main():
    torch.manual_seed(5)
    activations = nn.Sequential(
        nn.Linear(3, 5), nn.LeakyReLU(), nn.Linear(5, 5), nn.LeakyReLU(0.2), nn.Linear(5, 5), nn.ELU(),
        nn.Linear(5, 5), nn.ELU(0.5), nn.Linear(5, 5), nn.GELU(approximate="tanh"), nn.Linear(5, 5),
        nn.Softplus(beta=3), nn.Linear(5, 2))
    dilated = nn.Sequential(
        nn.Conv2d(4, 6, (3, 2), stride=(1, 2), padding=(2, 1), dilation=(2, 3), groups=2), nn.Tanh(),
        nn.Flatten(), nn.Linear(72, 2))
    models = {
        "activations": (activations, (3,)),
        "dilated": (dilated, (4, 4, 6)),
        "norms": (ResidualMlp(), (3,)),
        "resnet": (SmallResNet(), (1, 6, 6)),
        "preactivation": (PreActivation(), (2, 6, 6)),
        "named": (Named(), (3,)),
    }
    versions = {"python": platform.python_version(), "torch": torch.__version__,
                "onnx": onnx.__version__, "safetensors": safetensors.__version__}
    cases = {}
    for name, (model, shape) in models.items():
        model.eval()
        for layer in model.modules():
            # Factors begin at 1, shifts and means at 0, which would hide mistakes.
            if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)):
                for values in (layer.running_mean, layer.running_var):
                    values.uniform_(0.5, 2.0)
            if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm)) and layer.weight is not None:
                layer.weight.data.uniform_(0.5, 2.0)
                layer.bias.data.uniform_(-1.0, 1.0)
        x = torch.from_numpy(inputs(len(cases), shape))
        with torch.no_grad():
            outputs = model(x)
        files = []
        if name != "named":
            script, dynamo = f"script_{name}_17.onnx", f"dynamo_{name}_20.onnx"
            torch.onnx.export(model, (x[:1],), HERE / script, opset_version=17, dynamo=False,
                              input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
            torch.onnx.export(model, (x,), HERE / dynamo, opset_version=20, dynamo=True, external_data=False,
                              verbose=False, dynamic_shapes=({0: torch.export.Dim("n")},))
            files = [script, dynamo]
            for file in files:
                strip(HERE / file)
        if name in ("named", "norms", "resnet"):
            files.append(f"{name}.safetensors")
            tensors = {key: value.contiguous() for key, value in model.state_dict().items()}
            if name == "resnet":  # names that do not say the order: with numbers, as riemla's message proposes
                tensors = {f"{i:04}.{key}": value for i, (key, value) in enumerate(tensors.items())}
            save_file(tensors, HERE / files[-1])
        if name == "named":
            torch.save(model.state_dict(), HERE / "named.pt")
        cases[name] = case(files, x, outputs)
    write("cases_branches.json", versions, cases)


if __name__ == "__main__":
    main()
