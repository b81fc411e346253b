//! First and second derivatives of the activations.

/// φ' and φ'' of one activation from the input z and the output y = φ(z).
pub trait Rule {
    fn first(&self, z: f64, y: f64) -> f64;
    fn second(&self, z: f64, y: f64) -> f64;
}

/// 1/(1 + e⁻ᶻ), without overflow.
pub fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 {
        1.0 / (1.0 + (-z).exp())
    } else {
        let e = z.exp();
        e / (1.0 + e)
    }
}

/// log(1 + eᶻ).
pub fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

/// tanh(u) and u' in the tanh form of GELU, z(1 + tanh u)/2 with u = √(2/π)·(z + 0.044715·z³).
pub fn gelu_tanh(z: f64) -> (f64, f64) {
    let square = z * z;
    ((GELU_SCALE * z * (1.0 + GELU_CUBE * square)).tanh(), GELU_SCALE * (1.0 + 3.0 * GELU_CUBE * square))
}

/// √(2/π).
const GELU_SCALE: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
const GELU_CUBE: f64 = 0.044715;

/// Normal density and distribution function.
pub fn normal(z: f64) -> (f64, f64) {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (density, 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2))
}

pub struct Tanh;
impl Rule for Tanh {
    #[inline(always)]
    fn first(&self, _z: f64, y: f64) -> f64 {
        1.0 - y * y
    }
    #[inline(always)]
    fn second(&self, _z: f64, y: f64) -> f64 {
        -2.0 * y * (1.0 - y * y)
    }
}

pub struct Sigmoid;
impl Rule for Sigmoid {
    #[inline(always)]
    fn first(&self, _z: f64, y: f64) -> f64 {
        y * (1.0 - y)
    }
    #[inline(always)]
    fn second(&self, _z: f64, y: f64) -> f64 {
        y * (1.0 - y) * (1.0 - 2.0 * y)
    }
}

pub struct Softplus {
    pub beta: f64,
}
impl Rule for Softplus {
    #[inline(always)]
    fn first(&self, z: f64, _y: f64) -> f64 {
        sigmoid(self.beta * z)
    }
    #[inline(always)]
    fn second(&self, z: f64, _y: f64) -> f64 {
        let s = sigmoid(self.beta * z);
        self.beta * (s * (1.0 - s))
    }
}

pub struct Gelu;
impl Rule for Gelu {
    #[inline(always)]
    fn first(&self, z: f64, _y: f64) -> f64 {
        let (density, distribution) = normal(z);
        distribution + z * density
    }
    #[inline(always)]
    fn second(&self, z: f64, _y: f64) -> f64 {
        (2.0 - z * z) * normal(z).0
    }
}

pub struct Silu;
impl Rule for Silu {
    #[inline(always)]
    fn first(&self, z: f64, _y: f64) -> f64 {
        let s = sigmoid(z);
        s * (1.0 + z * (1.0 - s))
    }
    #[inline(always)]
    fn second(&self, z: f64, _y: f64) -> f64 {
        let s = sigmoid(z);
        s * (1.0 - s) * (2.0 + z * (1.0 - 2.0 * s))
    }
}

pub struct Relu;
impl Rule for Relu {
    #[inline(always)]
    fn first(&self, z: f64, _y: f64) -> f64 {
        if z > 0.0 { 1.0 } else { 0.0 }
    }
    #[inline(always)]
    fn second(&self, _z: f64, _y: f64) -> f64 {
        0.0
    }
}

pub struct GeluTanh;
impl Rule for GeluTanh {
    #[inline(always)]
    fn first(&self, z: f64, _y: f64) -> f64 {
        let (t, slope) = gelu_tanh(z);
        0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * slope
    }
    #[inline(always)]
    fn second(&self, z: f64, _y: f64) -> f64 {
        let (t, slope) = gelu_tanh(z);
        let bend = 6.0 * GELU_SCALE * GELU_CUBE * z;
        (1.0 - t * t) * (slope + z * (0.5 * bend - t * slope * slope))
    }
}

pub struct LeakyRelu {
    pub slope: f64,
}
impl Rule for LeakyRelu {
    #[inline(always)]
    fn first(&self, z: f64, _y: f64) -> f64 {
        if z > 0.0 { 1.0 } else { self.slope }
    }
    #[inline(always)]
    fn second(&self, _z: f64, _y: f64) -> f64 {
        0.0
    }
}

pub struct Elu {
    pub alpha: f64,
}
impl Rule for Elu {
    #[inline(always)]
    fn first(&self, z: f64, y: f64) -> f64 {
        if z > 0.0 { 1.0 } else { y + self.alpha }
    }
    #[inline(always)]
    fn second(&self, z: f64, y: f64) -> f64 {
        if z > 0.0 { 0.0 } else { y + self.alpha }
    }
}
