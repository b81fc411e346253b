"""Modules of torch, and agreement with laplace-torch."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import riemla

torch = pytest.importorskip("torch", reason="pip install 'riemla[torch]'")
from torch import nn  # noqa: E402

# Small tensors: more threads only wait for each other.
torch.set_num_threads(1)


def loader(x, y, size=20):
    data = torch.utils.data.TensorDataset(torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y))
    return torch.utils.data.DataLoader(data, batch_size=size)


def trained(module, x, y, delta=0.5, steps=15):
    """A minimum of the sum of losses with weight decay, in float64, then stored as the module's type."""
    torch.manual_seed(0)
    double = copy.deepcopy(module).double()
    x, y = torch.as_tensor(x, dtype=torch.float64), torch.as_tensor(y)
    optimiser = torch.optim.LBFGS(double.parameters(), max_iter=20, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        out = double(x)
        loss = nn.functional.cross_entropy(out, y, reduction="sum") if y.dtype == torch.int64 else 0.5 * (out - y).square().sum()
        loss = loss + 0.5 * delta * sum(p.square().sum() for p in double.parameters() if p.requires_grad)
        loss.backward()
        return loss

    for _ in range(steps):
        optimiser.step(closure)
    module.load_state_dict({name: value.to(module.state_dict()[name].dtype) for name, value in double.state_dict().items()})
    return module.eval()


@pytest.fixture(scope="module")
def mlp(moons):
    torch.manual_seed(1)
    return trained(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)), *moons)


def test_sequential_models_are_converted(mlp, moons):
    x, y = moons
    la = riemla.Laplace(mlp, "classification", prior_precision=0.5).fit(loader(x, y))
    flat = torch.nn.utils.parameters_to_vector(mlp.parameters()).detach().double().numpy()
    assert np.array_equal(la.mean, flat)
    same = riemla.Laplace(mlp, "classification", prior_precision=0.5).fit(x.astype(np.float32), y)
    assert same.log_marginal_likelihood() == pytest.approx(la.log_marginal_likelihood(), abs=1e-9)
    assert la(torch.as_tensor(x[:5]), pred_type="glm").shape == (5, 2)


def image_model():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 3, 3, padding="same", bias=False), nn.BatchNorm2d(3), nn.SiLU()),
        nn.AvgPool2d(2),
        nn.Dropout(0.5),
        nn.Conv2d(3, 6, 2, groups=3, dilation=2),
        nn.Softplus(beta=2),
        nn.Conv2d(6, 2, 1),
        nn.LayerNorm((2, 2, 2)),
        nn.ELU(0.7),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2, 4),
        nn.BatchNorm1d(4),
        nn.GELU(approximate="tanh"),
        nn.Identity(),
        nn.LayerNorm(4),
        nn.LeakyReLU(0.3),
        nn.Linear(4, 3),
    )


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_images_normalisation_and_nesting(tmp_path):
    model = image_model()
    images, labels = torch.randn(40, 1, 8, 8), torch.arange(40) % 3
    for _ in range(5):
        model(images * 2 + 1)  # running statistics that are not trivial
    model.eval()
    la = riemla.Laplace(model, "classification", prior_precision=5.0).fit(loader(images, labels))
    draws = la.sample(4, method="la", seed=1)
    # Draws go back into the model, whose outputs are those of the converted network.
    outputs = la._fitted.outputs(draws.theta, False, images.double().reshape(40, -1).numpy(), None)
    double = copy.deepcopy(model).double()
    for state, expected in zip(draws.state_dicts(dtype=torch.float64), outputs):
        double.load_state_dict(state)
        with torch.no_grad():
            assert np.allclose(double.eval()(images.double()).numpy(), expected, atol=1e-9)
    kept = next(pickle.loads(pickle.dumps(draws)).state_dicts())
    assert kept["0.0.weight"].dtype == torch.float32 and "0.0.weight" in draws


def test_what_cannot_be_converted_is_named_all_of_it(moons):
    x, y = moons
    model = nn.Sequential(nn.Linear(2, 4), nn.PReLU(), nn.Tanh(), nn.Bilinear(4, 4, 2), nn.Softmax(dim=1))
    with pytest.raises(TypeError) as caught:
        riemla.Laplace(model, "classification").fit(x, y)
    text = str(caught.value)
    assert "PReLU at '1'" in text and "Bilinear at '3'" in text and "Softmax at '4'" in text
    assert "from_laplace" in text

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            return x + self.inner(x)

    with pytest.raises(TypeError, match="Residual at ''"):
        riemla.Laplace(Residual(), "classification").fit(x, y)

    class Sneaky(nn.Sequential):
        def forward(self, x):
            return 2 * super().forward(x)

    with pytest.raises(TypeError, match="does more than its layers show"):
        riemla.Laplace(Sneaky(nn.Linear(2, 2)), "classification").fit(x, y)


def laplace_torch():
    return pytest.importorskip("laplace", reason="pip install 'riemla[torch]'")


@pytest.mark.parametrize("structure", ["full", "diag"])
@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_curvature_evidence_optimum_and_predictions_agree_with_laplace_torch(mlp, moons, structure):
    laplace = laplace_torch()
    x, y = moons
    double, data = copy.deepcopy(mlp).double(), loader(x, y)
    data = [(a.double(), b) for a, b in data]
    theirs = laplace.Laplace(double, "classification", "all", structure, prior_precision=0.5)

    class Loader(list):
        dataset = range(60)

    theirs.fit(Loader(data))
    ours = riemla.Laplace(mlp, "classification", "all", structure, prior_precision=0.5).fit(data)
    precision = theirs.posterior_precision.detach().numpy()
    found = ours.posterior_precision
    found = found if structure == "full" else np.diag(found)
    # Theirs, of the full structure, has about 8 digits.
    assert np.allclose(found, precision, rtol=1e-7, atol=1e-8)
    # Theirs leaves out the constants of the prior and the Hessian alike; so do we.
    assert ours.log_marginal_likelihood() == pytest.approx(float(theirs.log_marginal_likelihood()), rel=1e-7)
    theirs_p = theirs(data[0][0], pred_type="glm", link_approx="probit").detach().numpy()
    assert np.allclose(ours(data[0][0], pred_type="glm", link_approx="probit"), theirs_p, atol=1e-8)
    ours.optimize_prior_precision()
    best, delta = ours.log_marginal_likelihood(), ours.prior_precision
    assert float(theirs.log_marginal_likelihood(torch.tensor(delta, dtype=torch.float64))) == pytest.approx(best, rel=1e-7)
    for factor in (0.9, 1.1):
        assert float(theirs.log_marginal_likelihood(torch.tensor(delta * factor, dtype=torch.float64))) < best


@pytest.mark.parametrize("subset", ["all", "last_layer"])
@pytest.mark.parametrize("structure", ["full", "kron", "diag"])
@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_fitted_objects_of_laplace_torch_are_taken_over(mlp, moons, subset, structure):
    laplace = laplace_torch()
    x, y = moons
    data = loader(x, y)
    theirs = laplace.Laplace(mlp, "classification", subset, structure, prior_precision=0.5)
    theirs.fit(data)
    posterior = riemla.from_laplace(theirs, data)
    assert posterior.dim == theirs.n_params
    assert posterior.log_det_precision == pytest.approx(float(theirs.log_det_posterior_precision), rel=1e-4)
    # The loss is that of laplace-torch: log-likelihood and prior.
    value, gradient = posterior.value_and_grad(posterior.theta)
    prior = 0.25 * float(sum(p.detach().double().square().sum() for p in theirs.params)) if subset == "all" else None
    if prior is not None:
        assert value == pytest.approx(-float(theirs.log_likelihood) + prior, rel=1e-5)
    # And its gradient is that of differences.
    rng = np.random.default_rng(0)
    v = rng.normal(size=posterior.dim)
    h = 1e-5
    slope = (posterior.value_and_grad(posterior.theta + h * v)[0] - posterior.value_and_grad(posterior.theta - h * v)[0]) / (2 * h)
    assert slope == pytest.approx(gradient @ v, abs=1e-5)
    assert posterior._loss.value(posterior.theta) == pytest.approx(value, rel=1e-12)
    draws = posterior.sample(4, seed=1, strength=0.3)
    p = posterior(torch.as_tensor(x, dtype=torch.float32))
    assert p.shape == (60, 2) and np.allclose(p.sum(axis=1), 1)
    for state in draws.state_dicts():
        assert set(state) == set(mlp.state_dict())
        copy.deepcopy(mlp).load_state_dict(state)
    again = pickle.loads(pickle.dumps(posterior))
    assert np.array_equal(again.sample(4, seed=1, strength=0.3).theta, draws.theta)


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_low_rank_objects_of_laplace_torch_are_taken_over(mlp, moons, monkeypatch):
    laplace = laplace_torch()
    x, y = moons
    data = loader(x, y)

    class Eigenpairs(laplace.curvature.CurvatureInterface):
        """The only backend of laplace-torch for this structure is on no package index: the largest eigenpairs of its own
        full matrix instead."""

        def eig_lowrank(self, data_loader):
            full = laplace.Laplace(mlp, "classification", "all", "full")
            full.fit(data_loader)
            values, vectors = torch.linalg.eigh(full.H)
            return vectors[:, -6:], values[-6:], full.loss

    monkeypatch.setattr(laplace.baselaplace, "find_spec", lambda name: True)
    theirs = laplace.Laplace(mlp, "classification", "all", "lowrank", prior_precision=0.5, backend=Eigenpairs)
    theirs.fit(data)
    posterior = riemla.from_laplace(theirs, data)
    assert posterior.log_det_precision == pytest.approx(float(theirs.log_det_posterior_precision), rel=1e-4)
    (vectors, values), prior = theirs.posterior_precision
    vectors, values, prior = (part.detach().double().numpy() for part in (vectors, values, prior))
    dense = vectors @ np.diag(values) @ vectors.T + np.diag(prior)
    moved = posterior.sample(2000, method="la", seed=1).theta - posterior.theta
    # Chi-squared numbers with K degrees of freedom.
    lengths = np.einsum("si,ij,sj->s", moved, dense, moved)
    assert lengths.mean() == pytest.approx(posterior.dim, abs=4 * np.sqrt(2 * posterior.dim / 2000))
    along = (moved @ vectors).var(axis=0)
    assert np.allclose(along * np.einsum("ik,ij,jk->k", vectors, dense, vectors), 1.0, atol=0.15)
    draws = posterior.sample(4, seed=1, strength=0.3)
    again = pickle.loads(pickle.dumps(posterior))
    assert np.array_equal(again.sample(4, seed=1, strength=0.3).theta, draws.theta)


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_the_torch_path_and_the_network_path_give_the_same_draws(mlp, moons):
    laplace = laplace_torch()
    x, y = moons
    double = copy.deepcopy(mlp).double()

    class Loader(list):
        dataset = range(60)

    data = Loader([(torch.as_tensor(x), torch.as_tensor(y))])
    theirs = laplace.Laplace(double, "classification", "all", "full", prior_precision=0.5)
    theirs.fit(data)
    through_torch = riemla.from_laplace(theirs, data).sample(5, seed=2, strength=0.2, polish=0)
    here = riemla.Laplace(double, "classification", prior_precision=0.5).fit(x, y).sample(5, seed=2, strength=0.2, polish=0)
    # Rounding, amplified by the geodesic and its step control.
    assert np.abs(through_torch.theta - here.theta).max() < 1e-3 * np.abs(here.theta).max()


class ResidualNet(nn.Module):
    """Branches, normalisation and frozen weights."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 6)
        self.norm = nn.LayerNorm(6)
        self.second = nn.Linear(6, 6)
        self.last = nn.Linear(6, 2)
        self.first.bias.requires_grad_(False)

    def forward(self, x):
        hidden = torch.tanh(self.first(x))
        hidden = hidden + torch.tanh(self.second(self.norm(hidden)))
        return self.last(hidden)


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_residual_networks_with_normalisation(moons):
    laplace = laplace_torch()
    x, y = moons
    torch.manual_seed(0)
    model = trained(ResidualNet(), x, y)
    data = loader(x, y)
    theirs = laplace.Laplace(model, "classification", "all", "full", prior_precision=0.5)
    theirs.fit(data)
    posterior = riemla.from_laplace(theirs, data)
    draws = posterior.sample(4, seed=1, strength=0.3)
    assert "first.bias" not in draws and draws["second.weight"].shape == (4, 6, 6)
    assert (posterior(torch.as_tensor(x, dtype=torch.float32)).argmax(axis=1) == y).mean() > 0.85


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_regression_of_laplace_torch(waves):
    laplace = laplace_torch()
    x, y = waves
    torch.manual_seed(0)
    model = trained(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)), x, y, delta=0.01)
    data = loader(x, y.astype(np.float32))
    theirs = laplace.Laplace(model, "regression", "all", "full", prior_precision=1.0, sigma_noise=0.5)
    theirs.fit(data)
    posterior = riemla.from_laplace(theirs, data)
    posterior.sample(5, seed=1, strength=0.1)
    mean, variance = posterior(torch.as_tensor(x, dtype=torch.float32))
    assert mean.shape == variance.shape == (50, 1) and np.abs(mean - y).mean() < 0.5
    prediction = posterior.predict(torch.as_tensor(x, dtype=torch.float32))
    assert np.allclose(prediction.aleatoric, 0.25, rtol=1e-5)


def test_mistakes_with_laplace_torch_are_named(mlp, moons):
    laplace = laplace_torch()
    x, y = moons
    theirs = laplace.Laplace(mlp, "classification", "all", "full")
    with pytest.raises(RuntimeError, match="not fitted yet"):
        riemla.from_laplace(theirs, loader(x, y))
    theirs.fit(loader(x, y))
    with pytest.raises(ValueError, match="train_loader has 50 rows, but la was fitted to 60"):
        riemla.from_laplace(theirs, loader(x[:50], y[:50]))
    with pytest.raises(TypeError, match="must be a parametric Laplace object"):
        riemla.from_laplace(mlp, loader(x, y))


def test_functions_of_tensors():
    scales = torch.tensor([1.0, 4.0], dtype=torch.float64)

    def loss(theta):
        return 0.5 * (scales * theta * theta).sum()

    theta = torch.zeros(2, dtype=torch.float64)
    posterior = riemla.from_function(torch.func.grad_and_value(loss), theta)
    assert posterior.log_det_precision == pytest.approx(np.log(4), abs=1e-7)

    def pair(t):
        return loss(t), scales * t

    assert np.array_equal(riemla.from_function(pair, theta).sample(20, seed=1).theta, posterior.sample(20, seed=1).theta)
    with pytest.warns(riemla.RiemlaWarning, match="32-bit floats"):
        riemla.from_function(lambda t: (0.5 * float(t @ t), t.astype(np.float32)), np.zeros(2), np.eye(2))
