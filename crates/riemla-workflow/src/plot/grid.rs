//! Values on a regular grid of a rectangle.

/// A mistake in the data handed to a plot.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlotError {
    /// The number of values is not the number of grid nodes.
    #[error("a grid of {nx} × {ny} nodes needs {} values, got {got}", nx * ny)]
    GridLength {
        /// Nodes along x.
        nx: usize,
        /// Nodes along y.
        ny: usize,
        /// Values given.
        got: usize,
    },
    /// A grid without area: fewer than two nodes along a side, or no finite range.
    #[error(
        "a grid needs two nodes along each side and a finite range of positive width, got {nx} × {ny} nodes on x {x:?}, y {y:?}"
    )]
    GridShape {
        /// Nodes along x.
        nx: usize,
        /// Nodes along y.
        ny: usize,
        /// Range along x.
        x: (f64, f64),
        /// Range along y.
        y: (f64, f64),
    },
    /// Grids that belong together differ in shape or range, or fewer than two were given.
    #[error(
        "a multi-class map needs two or more grids with the same nodes; grid {index} of {count} has other \
         nodes"
    )]
    GridsDiffer {
        /// The first grid that differs from grid 0.
        index: usize,
        /// How many grids were given.
        count: usize,
    },
}

/// `nx` × `ny` nodes over a rectangle, both ends included. Row-major with x fastest, first row at
/// the lower end of y. Values may be NaN where unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    nx: usize,
    ny: usize,
    x: (f64, f64),
    y: (f64, f64),
    values: Vec<f64>,
}

impl Grid {
    /// Wraps values computed at the nodes.
    pub fn new(
        nx: usize,
        ny: usize,
        x: (f64, f64),
        y: (f64, f64),
        values: Vec<f64>,
    ) -> Result<Self, PlotError> {
        let proper = |(lo, hi): (f64, f64)| lo.is_finite() && hi.is_finite() && lo < hi;
        if nx < 2 || ny < 2 || !proper(x) || !proper(y) {
            return Err(PlotError::GridShape { nx, ny, x, y });
        }
        if values.len() != nx * ny {
            return Err(PlotError::GridLength { nx, ny, got: values.len() });
        }
        Ok(Self { nx, ny, x, y, values })
    }

    /// Computes `f(x, y)` at every node.
    pub fn from_fn(
        nx: usize,
        ny: usize,
        x: (f64, f64),
        y: (f64, f64),
        mut f: impl FnMut(f64, f64) -> f64,
    ) -> Result<Self, PlotError> {
        let values = Self::nodes(nx, ny, x, y).into_iter().map(|(a, b)| f(a, b)).collect();
        Self::new(nx, ny, x, y, values)
    }

    /// The coordinates of the nodes in the order of the values: where to evaluate a model.
    pub fn nodes(nx: usize, ny: usize, x: (f64, f64), y: (f64, f64)) -> Vec<(f64, f64)> {
        let place =
            |(lo, hi): (f64, f64), i: usize, n: usize| lo + (hi - lo) * i as f64 / (n.max(2) - 1) as f64;
        (0..ny).flat_map(|j| (0..nx).map(move |i| (place(x, i, nx), place(y, j, ny)))).collect()
    }

    /// The same as rows of inputs, for a model.
    pub fn inputs(nx: usize, ny: usize, x: (f64, f64), y: (f64, f64)) -> Vec<f64> {
        Self::nodes(nx, ny, x, y).into_iter().flat_map(|(a, b)| [a, b]).collect()
    }

    /// Number of nodes along x and y.
    pub fn shape(&self) -> (usize, usize) {
        (self.nx, self.ny)
    }

    /// Range along x.
    pub fn x_range(&self) -> (f64, f64) {
        self.x
    }

    /// Range along y.
    pub fn y_range(&self) -> (f64, f64) {
        self.y
    }

    /// All values, row-major.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The value at column `i`, row `j`.
    pub(crate) fn value(&self, i: usize, j: usize) -> f64 {
        self.values[j * self.nx + i]
    }

    /// Coordinates of a place given in (fractional) columns and rows.
    pub(crate) fn place(&self, column: f64, row: f64) -> (f64, f64) {
        let x = self.x.0 + (self.x.1 - self.x.0) * column / (self.nx - 1) as f64;
        let y = self.y.0 + (self.y.1 - self.y.0) * row / (self.ny - 1) as f64;
        (x, y)
    }

    /// True when the other grid has the same nodes.
    pub(crate) fn same_nodes(&self, other: &Self) -> bool {
        (self.nx, self.ny, self.x, self.y) == (other.nx, other.ny, other.x, other.y)
    }

    /// A grid on the same nodes with other values, as many.
    pub fn with_values(&self, values: Vec<f64>) -> Self {
        debug_assert_eq!(values.len(), self.values.len());
        Self { values, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named_with_their_numbers() {
        let error = Grid::new(3, 4, (0.0, 1.0), (0.0, 1.0), vec![0.0; 11]).unwrap_err();
        assert_eq!(error.to_string(), "a grid of 3 × 4 nodes needs 12 values, got 11");
        assert!(Grid::new(1, 4, (0.0, 1.0), (0.0, 1.0), vec![0.0; 4]).is_err());
        assert!(Grid::new(2, 2, (0.0, f64::NAN), (0.0, 1.0), vec![0.0; 4]).is_err());
    }

    #[test]
    fn nodes_and_values_have_one_order() {
        let grid = Grid::from_fn(3, 2, (0.0, 2.0), (5.0, 6.0), |x, y| 10.0 * y + x).expect("valid");
        assert_eq!(grid.values(), [50.0, 51.0, 52.0, 60.0, 61.0, 62.0]);
        assert_eq!(Grid::inputs(3, 2, (0.0, 2.0), (5.0, 6.0))[..6], [0.0, 5.0, 1.0, 5.0, 2.0, 5.0]);
        assert_eq!(grid.place(1.0, 1.0), (1.0, 6.0));
        assert_eq!(grid.value(1, 1), 61.0);
    }
}
