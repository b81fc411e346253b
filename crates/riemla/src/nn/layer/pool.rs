//! Average and maximum pooling over windows of an image.

use super::{At, Layer, Shape};
use crate::linalg::simd::{Isa, Kernel, dispatch};
use crate::{Error, Result};

/// Where the windows of a pooling layer lie.
#[derive(Debug, Clone)]
struct Windows {
    channels: usize,
    height: usize,
    width: usize,
    kernel: [usize; 2],
    stride: [usize; 2],
}

impl Windows {
    fn new(input: Shape, kernel: [usize; 2], stride: Option<[usize; 2]>) -> Result<Self> {
        let Shape::Image { channels, height, width } = input else {
            return Err(Error::shape("input of a pooling layer", "an image", input));
        };
        let stride = stride.unwrap_or(kernel);
        let fits = (1..=height).contains(&kernel[0]) && (1..=width).contains(&kernel[1]);
        if !fits || stride.contains(&0) {
            let value = format!("{kernel:?} with stride {stride:?}");
            let requirement = format!("within the {height}×{width} image, with stride at least 1");
            return Err(Error::range("pooling window", value, requirement));
        }
        Ok(Self { channels, height, width, kernel, stride })
    }

    fn output_size(&self) -> (usize, usize) {
        (
            (self.height - self.kernel[0]) / self.stride[0] + 1,
            (self.width - self.kernel[1]) / self.stride[1] + 1,
        )
    }

    fn output(&self) -> Shape {
        let (height, width) = self.output_size();
        Shape::Image { channels: self.channels, height, width }
    }

    /// (output position, first input position) of every window; positions count blocks of samples, so
    /// multiply by n for an offset.
    #[inline(always)]
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let (height, width) = self.output_size();
        (0..self.channels * height).flat_map(move |row| {
            let (channel, r) = (row / height, row % height);
            let first = (channel * self.height + r * self.stride[0]) * self.width;
            (0..width).map(move |q| (row * width + q, first + q * self.stride[1]))
        })
    }

    /// Whether each number of the image lies in exactly one window.
    fn tile(&self) -> bool {
        let [rows, columns] = self.kernel;
        self.stride == self.kernel && self.height.is_multiple_of(rows) && self.width.is_multiple_of(columns)
    }

    /// Positions inside a window relative to its first one.
    fn offsets(&self) -> impl Iterator<Item = usize> + Clone {
        let (width, columns) = (self.width, self.kernel[1]);
        (0..self.kernel[0]).flat_map(move |ky| (0..columns).map(move |kx| ky * width + kx))
    }

    /// Calls `f(output position, input position)` for every pair, window by window.
    fn for_each(&self, mut f: impl FnMut(usize, usize)) {
        self.places().for_each(|(out, first)| self.offsets().for_each(|offset| f(out, first + offset)));
    }
}

/// Mean over windows.
#[derive(Debug)]
pub struct AveragePool {
    windows: Windows,
}

impl AveragePool {
    /// Pools images of the given shape; the stride is the window's size if `None`.
    pub fn new(input: Shape, kernel: [usize; 2], stride: Option<[usize; 2]>) -> Result<Self> {
        Ok(Self { windows: Windows::new(input, kernel, stride)? })
    }

    fn weight(&self) -> f64 {
        1.0 / (self.windows.kernel[0] * self.windows.kernel[1]) as f64
    }

    fn apply(&self, n: usize, x: Option<&[f64]>, y: &mut [f64]) {
        let weight = self.weight();
        match x {
            Some(x) => dispatch(Means { windows: &self.windows, n, weight, x, y }),
            None => y.fill(0.0),
        }
    }

    fn transpose(&self, n: usize, u: &[f64], x_adjoint: Option<&mut [f64]>) {
        let weight = self.weight();
        if let Some(x_adjoint) = x_adjoint {
            dispatch(Spread { windows: &self.windows, n, weight, u, x_adjoint });
        }
    }
}

/// y ← the weighted sums over windows.
struct Means<'a> {
    windows: &'a Windows,
    n: usize,
    weight: f64,
    x: &'a [f64],
    y: &'a mut [f64],
}

impl Kernel for Means<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { windows, n, weight, x, y } = self;
        let [rows, columns] = windows.kernel;
        for (out, first) in windows.places() {
            let y = &mut y[out * n..][..n];
            let (whole, rest) = y.as_chunks_mut::<SAMPLES>();
            let first_rest = whole.len() * SAMPLES;
            // Sums of so many samples fit the registers: each number is read and written once.
            for (chunk, y) in whole.iter_mut().enumerate() {
                let mut sum = [0.0; SAMPLES];
                for row in 0..rows {
                    for column in 0..columns {
                        let from = (first + row * windows.width + column) * n + chunk * SAMPLES;
                        for (sum, x) in sum.iter_mut().zip(&x[from..from + SAMPLES]) {
                            *sum += x;
                        }
                    }
                }
                for (y, sum) in y.iter_mut().zip(&sum) {
                    *y = weight * sum;
                }
            }
            for (i, y) in rest.iter_mut().enumerate() {
                let mut sum = 0.0;
                for row in 0..rows {
                    for column in 0..columns {
                        sum += x[(first + row * windows.width + column) * n + first_rest + i];
                    }
                }
                *y = weight * sum;
            }
        }
    }
}

/// Samples of an output that are summed together.
const SAMPLES: usize = 16;

/// The transpose of [`Means`].
struct Spread<'a> {
    windows: &'a Windows,
    n: usize,
    weight: f64,
    u: &'a [f64],
    x_adjoint: &'a mut [f64],
}

impl Kernel for Spread<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { windows, n, weight, u, x_adjoint } = self;
        let [rows, columns] = windows.kernel;
        // Windows that tile the image write each number once.
        let tiles = windows.tile();
        if !tiles {
            x_adjoint.fill(0.0);
        }
        for (out, first) in windows.places() {
            let u = &u[out * n..][..n];
            for row in 0..rows {
                for column in 0..columns {
                    let x = &mut x_adjoint[(first + row * windows.width + column) * n..][..n];
                    for (x, u) in x.iter_mut().zip(u) {
                        *x = if tiles { 0.0 } else { *x } + weight * u;
                    }
                }
            }
        }
    }
}

impl Layer for AveragePool {
    fn output(&self) -> Shape {
        self.windows.output()
    }

    fn forward(&self, n: usize, _params: &[f64], x: &[f64], y: &mut [f64]) {
        self.apply(n, Some(x), y);
    }

    fn needs_output(&self) -> bool {
        false
    }

    fn tangent(&self, at: At<'_>, _direction: &[f64], dx: Option<&[f64]>, dy: &mut [f64]) {
        self.apply(at.n, dx, dy);
    }

    fn second(
        &self,
        at: At<'_>,
        _direction: &[f64],
        _dx: Option<&[f64]>,
        d2x: Option<&[f64]>,
        d2y: &mut [f64],
    ) {
        self.apply(at.n, d2x, d2y);
    }

    fn backward(
        &self,
        at: At<'_>,
        y_adjoint: &[f64],
        x_adjoint: Option<&mut [f64]>,
        _gradient: Option<&mut [f64]>,
    ) {
        self.transpose(at.n, y_adjoint, x_adjoint);
    }

    fn backward_tangent(
        &self,
        at: At<'_>,
        _direction: &[f64],
        _dx: Option<&[f64]>,
        _y_adjoint: &[f64],
        dy_adjoint: &[f64],
        dx_adjoint: Option<&mut [f64]>,
        _d_gradient: &mut [f64],
    ) {
        self.transpose(at.n, dy_adjoint, dx_adjoint);
    }
}

/// Maximum over windows; derivatives go to the first place where it is taken.
#[derive(Debug)]
pub struct MaxPool {
    windows: Windows,
}

impl MaxPool {
    /// Pools images of the given shape; the stride is the window's size if `None`.
    pub fn new(input: Shape, kernel: [usize; 2], stride: Option<[usize; 2]>) -> Result<Self> {
        Ok(Self { windows: Windows::new(input, kernel, stride)? })
    }

    /// Calls `f(output offset, input offset)` at the place of each window's maximum.
    fn for_each_maximum(&self, at: At<'_>, mut f: impl FnMut(usize, usize)) {
        let n = at.n;
        self.windows.places().for_each(|(out, first)| {
            for i in 0..n {
                let o = out * n + i;
                let place = self.windows.offsets().map(|offset| (first + offset) * n + i);
                if let Some(k) = place.into_iter().find(|&k| at.x[k] == at.y[o]) {
                    f(o, k);
                }
            }
        });
    }

    fn select(&self, at: At<'_>, dx: Option<&[f64]>, dy: &mut [f64]) {
        dy.fill(0.0);
        if let Some(dx) = dx {
            self.for_each_maximum(at, |o, k| dy[o] = dx[k]);
        }
    }

    fn scatter(&self, at: At<'_>, u: &[f64], x_adjoint: Option<&mut [f64]>) {
        if let Some(x_adjoint) = x_adjoint {
            x_adjoint.fill(0.0);
            self.for_each_maximum(at, |o, k| x_adjoint[k] += u[o]);
        }
    }
}

impl Layer for MaxPool {
    fn output(&self) -> Shape {
        self.windows.output()
    }

    fn is_smooth(&self) -> bool {
        false
    }

    fn forward(&self, n: usize, _params: &[f64], x: &[f64], y: &mut [f64]) {
        y.fill(f64::NEG_INFINITY);
        self.windows.for_each(|out, input| {
            for (y, &x) in y[out * n..][..n].iter_mut().zip(&x[input * n..][..n]) {
                if x > *y || x.is_nan() {
                    *y = x;
                }
            }
        });
    }

    fn tangent(&self, at: At<'_>, _direction: &[f64], dx: Option<&[f64]>, dy: &mut [f64]) {
        self.select(at, dx, dy);
    }

    fn second(
        &self,
        at: At<'_>,
        _direction: &[f64],
        _dx: Option<&[f64]>,
        d2x: Option<&[f64]>,
        d2y: &mut [f64],
    ) {
        self.select(at, d2x, d2y);
    }

    fn backward(
        &self,
        at: At<'_>,
        y_adjoint: &[f64],
        x_adjoint: Option<&mut [f64]>,
        _gradient: Option<&mut [f64]>,
    ) {
        self.scatter(at, y_adjoint, x_adjoint);
    }

    fn backward_tangent(
        &self,
        at: At<'_>,
        _direction: &[f64],
        _dx: Option<&[f64]>,
        _y_adjoint: &[f64],
        dy_adjoint: &[f64],
        dx_adjoint: Option<&mut [f64]>,
        _d_gradient: &mut [f64],
    ) {
        self.scatter(at, dy_adjoint, dx_adjoint);
    }
}
