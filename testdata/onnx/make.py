"""Makes the models of this directory with the programs whose files riemla imports.

    python make.py torch     # needs torch, onnx, onnxscript, safetensors, numpy
    python make.py keras     # needs tensorflow, tf2onnx, onnx, numpy

cases_torch.json and cases_keras.json hold for each model its files, some inputs, row-major as the
original takes them, and the outputs that the original program, not an ONNX runtime, computed. Models
that end in a softmax or sigmoid have the logits there, which is what an import gives (for Keras'
softmax their logarithms, which are logits up to a constant). Weights are random: nothing is trained.
"""

import json
import os
import platform
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SAMPLES = 2


def inputs(seed, shape):
    return np.random.default_rng(seed).normal(size=(SAMPLES, *shape)).astype(np.float32)


def numbers(array):
    return [float(f"{value:.8g}") for value in np.asarray(array, dtype=np.float32).ravel()]


def case(files, x, logits):
    return {"files": files, "shape": list(x.shape[1:]), "inputs": numbers(x), "outputs": numbers(logits)}


def strip(path):
    """Removes names of source files and stack traces, which say where this script ran."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    model.doc_string = ""
    del model.metadata_props[:]
    for part in [model.graph, *model.graph.node, *model.graph.input, *model.graph.output,
                 *model.graph.value_info, *model.graph.initializer]:
        part.doc_string = ""
        del part.metadata_props[:]
    del model.graph.value_info[:]
    onnx.save(model, path)


def write(name, versions, cases):
    text = json.dumps({"versions": versions, "cases": cases}, separators=(",", ":"))
    (HERE / name).write_text(text.replace('},"', '},\n"') + "\n")


def make_torch():
    import onnx
    import safetensors
    import torch
    from safetensors.torch import save_file
    from torch import nn

    torch.manual_seed(1)

    class Viewed(nn.Module):
        """Flattens with `view`, as in many tutorials."""

        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0), bias=False)
            self.last = nn.Linear(45, 2, bias=False)

        def forward(self, x):
            x = torch.relu(self.conv(x))
            return self.last(x.view(x.size(0), -1))

    mlp = nn.Sequential(
        nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 5), nn.Sigmoid(), nn.Linear(5, 5), nn.Softplus(),
        nn.Linear(5, 5), nn.GELU(), nn.Linear(5, 4), nn.SiLU(), nn.Linear(4, 4), nn.ReLU(),
        nn.Linear(4, 2))
    cnn = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(3, 4, 3, padding=1), nn.Tanh(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 5), nn.Tanh(), nn.Linear(5, 3))
    softmax = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.LogSoftmax(dim=1))
    norm = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Tanh(), nn.Flatten(), nn.Linear(8, 3, bias=False),
        nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 2))
    for layer in (norm[1], norm[5]):
        for values in (layer.running_mean, layer.running_var, layer.weight.data, layer.bias.data):
            values.uniform_(0.5, 2.0)
    models = {
        "mlp": (mlp, (3,), None),
        "cnn": (cnn, (1, 10, 10), None),
        "view": (Viewed(), (2, 5, 6), None),
        "logsoftmax": (softmax, (3,), 3),
        "norm": (norm, (1, 4, 4), None),
    }
    versions = {"python": platform.python_version(), "torch": torch.__version__,
                "onnx": onnx.__version__, "safetensors": safetensors.__version__}
    cases = {}

    def export(file, model, x, **options):
        torch.onnx.export(model, (x,), HERE / file, **options)
        strip(HERE / file)

    for name, (model, shape, cut) in models.items():
        model.eval()
        x = torch.from_numpy(inputs(len(cases), shape))
        with torch.no_grad():
            logits = (model[:cut] if cut else model)(x)
        files = []
        dynamic = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "n"}}}
        for opset in {"mlp": (11, 20), "cnn": (11,), "view": (11, 13), "logsoftmax": (11,),
                      "norm": (13,)}[name]:
            files.append(f"script_{name}_{opset}.onnx")
            export(files[-1], model, x[:1], opset_version=opset, dynamo=False, **dynamic)
        any_batch = {"dynamic_shapes": ({0: torch.export.Dim("n")},)}
        for opset, size, batch in ((18, 1, {}), (20, 2, any_batch)):
            if name in ("cnn", "norm") and opset == 18:
                continue  # external.onnx has the same operations; nothing new in the other
            files.append(f"dynamo_{name}_{opset}.onnx")
            export(files[-1], model, x[:size], opset_version=opset, dynamo=True, external_data=False,
                   verbose=False, **batch)
        if name == "cnn":  # as PyTorch writes it unless told otherwise: weights in a second file
            files.append("external.onnx")
            export(files[-1], model, x[:1], dynamo=True, verbose=False)
        if name in ("mlp", "cnn"):
            files.append(f"{name}.safetensors")
            save_file({key: value.contiguous() for key, value in model.state_dict().items()}, HERE / files[-1])
        cases[name] = case(files, x, logits)
    for name in ("half", "double"):
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2, bias=name == "half"))
        model = model.half() if name == "half" else model.double()
        x = torch.from_numpy(inputs(9, (3,)))
        kind = next(model.parameters()).dtype
        export(f"{name}.onnx", model, x[:1].to(kind), opset_version=17, dynamo=False)
        with torch.no_grad():  # the weights as they are in the file, the arithmetic in double
            cases[name] = case([f"{name}.onnx"], x, model.double()(x.double()))
    write("cases_torch.json", versions, cases)


def make_keras():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import onnx
    import tensorflow as tf
    import tf2onnx
    from keras import layers

    keras.utils.set_random_seed(2)

    def stack(shape, *parts):
        return keras.Sequential([keras.Input(shape), *parts])

    models = {
        "mlp": stack((3,), layers.Dense(6, "tanh"), layers.Dense(5, "gelu"), layers.Dense(5, "silu"),
                     layers.Dense(4, "softplus"), layers.Dense(4, "relu"), layers.Dropout(0.5),
                     layers.Dense(4, "sigmoid"), layers.Dense(1)),
        "cnn": stack((8, 7, 2), layers.Conv2D(3, 3, activation="tanh"), layers.AveragePooling2D(2),
                     layers.Conv2D(4, 3, padding="same", activation="relu"),
                     layers.MaxPooling2D((1, 2)), layers.Flatten(), layers.Dense(5, "tanh"),
                     layers.Dense(3)),
        "gray": stack((6, 6, 1), layers.Conv2D(2, 3, activation="tanh"), layers.Flatten(),
                      layers.Dense(2)),
        "softmax": stack((3,), layers.Dense(4, "tanh"), layers.Dense(3, "softmax")),
        "norm": stack((4, 4, 1), layers.Conv2D(2, 3), layers.BatchNormalization(),
                      layers.Activation("tanh"), layers.GlobalAveragePooling2D(), layers.Dense(3),
                      layers.BatchNormalization(), layers.Activation("relu"), layers.Dense(2)),
        "sigmoid": stack((3,), layers.Dense(4, "tanh"), layers.Dense(1, "sigmoid")),
    }
    versions = {"python": platform.python_version(), "tensorflow": tf.__version__,
                "keras": keras.__version__, "tf2onnx": tf2onnx.__version__, "onnx": onnx.__version__}
    cases = {}
    for name, model in models.items():
        for number, layer in enumerate(model.layers):
            # Biases begin at 0 and variances at 1, which would hide mistakes.
            if len(layer.weights) == 2:
                kernel, bias = layer.get_weights()
                layer.set_weights([kernel, inputs(number, bias.shape)[0] / 3])
            elif layer.weights:
                layer.set_weights([0.5 + abs(inputs(number, v.shape)[0]) for v in layer.get_weights()])
        x = inputs(len(cases), model.input_shape[1:])
        out = model(x).numpy().astype(np.float64)
        if name == "softmax":
            out = np.log(out)
        elif name == "sigmoid":
            out = np.log(out) - np.log1p(-out)
        files = []
        for opset in (13,) if name == "gray" else (18,):
            function = tf.function(lambda x: model(x, training=False))
            signature = [tf.TensorSpec((None, *model.input_shape[1:]), tf.float32, name="x")]
            files.append(f"keras_{name}_{opset}.onnx")
            path = str(HERE / files[-1])
            tf2onnx.convert.from_function(function, signature, opset=opset, output_path=path)
            strip(HERE / files[-1])
        cases[name] = case(files, x, out)
    write("cases_keras.json", versions, cases)


if __name__ == "__main__":
    {"torch": make_torch, "keras": make_keras}[sys.argv[1]]()
