//! Between the caller's row-major arrays and blocks with samples contiguous.

/// Packs the given rows of a row-major array with `d` columns into a block: feature `j` of
/// the `rows.len()` samples becomes contiguous.
pub fn pack(data: &[f64], d: usize, rows: &[usize]) -> Vec<f64> {
    let n = rows.len();
    let mut block = vec![0.0; n * d];
    for (i, &row) in rows.iter().enumerate() {
        for (j, &v) in data[row * d..(row + 1) * d].iter().enumerate() {
            block[j * n + i] = v;
        }
    }
    block
}

/// Appends a block of `n` samples with `d` features to a row-major array.
pub fn unpack(block: &[f64], n: usize, d: usize, out: &mut Vec<f64>) {
    for i in 0..n {
        out.extend((0..d).map(|j| block[j * n + i]));
    }
}
