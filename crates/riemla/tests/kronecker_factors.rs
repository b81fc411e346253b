//! Kronecker-factored precisions from factors of one's own, against dense matrices.

use riemla::curvature::{KroneckerFactors, KroneckerPrecision, Precision as _};
use riemla::linalg::Matrix;
use riemla::testing::{assert_vectors, check_precision};

/// Two layers by hand: 2 inputs and a bias to 2 outputs, then 2 inputs to 1 output without a bias.
#[test]
fn blocks_are_those_of_the_dense_matrix() {
    let a = [[3.0, 0.5, 0.2], [0.5, 2.0, -0.1], [0.2, -0.1, 1.0]];
    let b = [[2.0, 0.3], [0.3, 1.0]];
    let (c, d) = ([[1.0, 0.4], [0.4, 2.0]], 1.5);
    let matrix = |rows: &[&[f64]]| Matrix::from_columns(rows.len(), rows.len(), rows.concat());
    let first = (matrix(&[&a[0], &a[1], &a[2]]), matrix(&[&b[0], &b[1]]));
    let second = (matrix(&[&c[0], &c[1]]), matrix(&[&[d]]));
    let precision = KroneckerPrecision::from_factors(&[
        KroneckerFactors { inputs: &first.0, outputs: &first.1, bias: true, prior_precision: 0.7 },
        KroneckerFactors { inputs: &second.0, outputs: &second.1, bias: false, prior_precision: 0.1 },
    ])
    .unwrap();
    check_precision(&precision, 1);
    // (input, output) of every weight of the first layer; input 2 is the bias.
    let places = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)];
    let mut dense = vec![0.0; 64];
    for (i, (input, output)) in places.iter().enumerate() {
        for (j, (other, another)) in places.iter().enumerate() {
            dense[8 * i + j] = a[*input][*other] * b[*output][*another] + f64::from(i == j) * 0.7;
        }
    }
    for i in 0..2 {
        for j in 0..2 {
            dense[8 * (6 + i) + 6 + j] = c[i][j] * d + f64::from(i == j) * 0.1;
        }
    }
    for (column, row) in dense.chunks(8).enumerate() {
        let (mut unit, mut product) = (vec![0.0; 8], vec![0.0; 8]);
        unit[column] = 1.0;
        precision.mul(&unit, &mut product);
        assert_vectors("column", &product, row, 1e-13, 1e-13);
    }
}

#[test]
fn factors_that_make_no_precision_are_refused() {
    let refused = |a: Matrix, b: Matrix, prior_precision: f64| {
        let layer = KroneckerFactors { inputs: &a, outputs: &b, bias: false, prior_precision };
        KroneckerPrecision::from_factors(&[layer]).unwrap_err().to_string()
    };
    let one = |value: f64| Matrix::from_columns(1, 1, vec![value]);
    assert!(refused(one(-1.0), one(1.0), 0.5).contains("not positive definite"));
    assert!(refused(Matrix::zeros(2, 1), one(1.0), 0.5).contains("columns"));
    assert!(refused(Matrix::zeros(0, 0), one(1.0), 0.5).contains("at least one row"));
    assert!(refused(one(f64::NAN), one(1.0), 0.5).contains("factor of the inputs"));
}
