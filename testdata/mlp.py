"""Hand-written float64 derivatives of the tanh networks of the reference values.

Conventions as in the README of the reference values: theta = W1, b1, W2, b2, ..., W (out, in)
row-major, loss = nll + (delta/2)|theta|^2, sums over the data. Nothing here is shared with riemla.
"""

import numpy as np

LAYERS = {"banana": [2, 16, 16, 2], "snelson15": [1, 15, 1]}


def unpack(theta, layers):
    """Views [(W, b), ...] of the flat vector."""
    blocks, at = [], 0
    for n_in, n_out in zip(layers[:-1], layers[1:]):
        w = theta[at : at + n_in * n_out].reshape(n_out, n_in)
        at += n_in * n_out
        blocks.append((w, theta[at : at + n_out]))
        at += n_out
    return blocks


class Likelihood:
    """Residual d nll/df (N x C) and product with Lambda = d^2 nll/df^2."""

    def __init__(self, y, sigma2=None):
        self.sigma2 = sigma2
        self.y = y if sigma2 is not None else np.eye(int(y.max()) + 1)[y]

    def value(self, f):
        if self.sigma2 is not None:
            return ((f - self.y) ** 2).sum() / (2 * self.sigma2)
        m = f.max(1, keepdims=True)
        return (np.log(np.exp(f - m).sum(1)) + m[:, 0] - (f * self.y).sum(1)).sum()

    def residual_and_probability(self, f):
        if self.sigma2 is not None:
            return (f - self.y) / self.sigma2, None
        e = np.exp(f - f.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)
        return p - self.y, p

    def hessian_times(self, p, df):
        if self.sigma2 is not None:
            return df / self.sigma2
        return p * (df - (p * df).sum(1, keepdims=True))


class Network:
    """Full loss: gradient by a backward pass, v'Hv by second-order Taylor mode."""

    def __init__(self, layers, x, likelihood, delta):
        self.layers, self.x, self.lik, self.delta = layers, x, likelihood, delta

    def value(self, theta):
        h = self.x
        blocks = unpack(theta, self.layers)
        for k, (w, b) in enumerate(blocks):
            h = h @ w.T + b
            if k + 1 < len(blocks):
                h = np.tanh(h)
        return self.lik.value(h) + 0.5 * self.delta * theta @ theta

    def gradient_and_curvature(self, theta, v):
        """(grad L, v'Hv) at theta."""
        blocks, dirs = unpack(theta, self.layers), unpack(v, self.layers)
        h, d1, d2, inputs = self.x, None, None, []
        for k, ((w, b), (dw, db)) in enumerate(zip(blocks, dirs)):
            inputs.append(h)
            z, z1 = h @ w.T + b, h @ dw.T + db
            z2 = np.zeros_like(z)
            if d1 is not None:
                z1 = z1 + d1 @ w.T
                z2 = d2 @ w.T + 2 * d1 @ dw.T
            if k + 1 < len(blocks):
                h = np.tanh(z)
                slope = 1 - h * h
                d1, d2 = slope * z1, slope * (z2 - 2 * h * z1 * z1)
            else:
                h, d1, d2 = z, z1, z2
        r, p = self.lik.residual_and_probability(h)
        vhv = (r * d2).sum() + (d1 * self.lik.hessian_times(p, d1)).sum() + self.delta * v @ v
        return self.backward(blocks, inputs, r) + self.delta * theta, vhv

    @staticmethod
    def backward(blocks, inputs, r):
        parts = []
        for k in reversed(range(len(blocks))):
            parts += [r.sum(0), (r.T @ inputs[k]).ravel()]
            if k:
                r = (r @ blocks[k][0]) * (1 - inputs[k] ** 2)
        return np.concatenate(parts[::-1])

    def jacobian(self, theta):
        """f (N x C) and J (N*C x P) at theta."""
        blocks, inputs, h = unpack(theta, self.layers), [], self.x
        for k, (w, b) in enumerate(blocks):
            inputs.append(h)
            h = h @ w.T + b
            if k + 1 < len(blocks):
                h = np.tanh(h)
        n, c = h.shape
        rows = np.empty((n, c, theta.size))
        for i in range(n):
            for j in range(c):
                one = np.eye(c)[j : j + 1]
                rows[i, j] = self.backward(blocks, [a[i : i + 1] for a in inputs], one)
        return h, rows.reshape(n * c, -1)


class Linearised:
    """The loss of f(theta*) + J (theta - theta*)."""

    def __init__(self, network, theta):
        self.lik, self.delta, self.theta = network.lik, network.delta, theta
        self.f, self.jac = network.jacobian(theta)

    def gradient_and_curvature(self, theta, v):
        shape = self.f.shape
        r, p = self.lik.residual_and_probability(self.f + (self.jac @ (theta - self.theta)).reshape(shape))
        df = (self.jac @ v).reshape(shape)
        vhv = (df * self.lik.hessian_times(p, df)).sum() + self.delta * v @ v
        return self.jac.T @ r.ravel() + self.delta * theta, vhv


def acceleration(objective, c, v):
    """c'' = -g <v, Hv> / (1 + |g|^2)."""
    g, vhv = objective.gradient_and_curvature(c, v)
    return -g * (vhv / (1 + g @ g))
