//! Where the numbers of a tensor lie: reshaping and transposing without touching numbers.
//!
//! An axis that ONNX sees is a list of factors (size, stride in memory), the slowest first. Axes of
//! size 1 have none. Merging axes joins their lists, splitting divides them, transposing permutes
//! the axes; only when features become inputs of a linear layer does the order matter.

/// One axis: its factors, neighbours merged where memory allows.
pub type Axis = Vec<(usize, usize)>;

/// The axes of dimensions stored row by row. None if there are more numbers than can be counted.
pub fn contiguous(dims: &[usize]) -> Option<Vec<Axis>> {
    let mut stride = 1usize;
    let mut axes = Vec::with_capacity(dims.len());
    for &size in dims.iter().rev() {
        axes.push(if size == 1 { vec![] } else { vec![(size, stride)] });
        stride = stride.checked_mul(size)?;
    }
    axes.reverse();
    Some(axes)
}

/// Number of entries along an axis.
pub fn size(axis: &Axis) -> usize {
    axis.iter().map(|(size, _)| size).product()
}

/// Number of entries along each axis.
pub fn sizes(axes: &[Axis]) -> Vec<usize> {
    axes.iter().map(size).collect()
}

/// The same numbers with other dimensions; none if an axis would have to be cut where it cannot.
pub fn reshape(axes: &[Axis], dims: &[usize]) -> Option<Vec<Axis>> {
    let mut factors = axes.iter().flatten().copied().rev().collect::<Vec<_>>();
    let mut reshaped = Vec::with_capacity(dims.len());
    for &dim in dims {
        let (mut axis, mut need) = (Axis::new(), dim);
        while need > 1 {
            let (size, stride) = factors.pop()?;
            if need % size == 0 {
                push(&mut axis, (size, stride));
                need /= size;
            } else if size % need == 0 {
                let left = size / need;
                push(&mut axis, (need, stride * left));
                factors.push((left, stride));
                need = 1;
            } else {
                return None;
            }
        }
        reshaped.push(axis);
    }
    factors.is_empty().then_some(reshaped)
}

/// Appends a factor, merging it with the last one if memory runs on.
fn push(axis: &mut Axis, (size, stride): (usize, usize)) {
    match axis.last_mut() {
        Some(last) if last.1 == size * stride => *last = (last.0 * size, stride),
        _ => axis.push((size, stride)),
    }
}

/// For each entry along an axis its place in memory; none if entry i is at place i.
pub fn order(axis: &Axis) -> Option<Vec<usize>> {
    if matches!(axis.as_slice(), [] | [(_, 1)]) {
        return None;
    }
    let mut places = vec![0];
    for &(size, stride) in axis {
        places = places.iter().flat_map(|place| (0..size).map(move |i| place + i * stride)).collect();
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places in memory in the order ONNX sees the numbers.
    fn seen(axes: &[Axis]) -> Vec<usize> {
        let flat = &reshape(axes, &[sizes(axes).iter().product()]).unwrap()[0];
        order(flat).unwrap_or_else(|| (0..size(flat)).collect())
    }

    #[test]
    fn transposing_and_flattening_agree_with_counting() {
        let (c, h, w) = (3, 4, 5);
        let axes = contiguous(&[c, h, w]).unwrap();
        let moved = [axes[1].clone(), axes[2].clone(), axes[0].clone()];
        let mut expected = Vec::new();
        for y in 0..h {
            for x in 0..w {
                expected.extend((0..c).map(|channel| (channel * h + y) * w + x));
            }
        }
        assert_eq!(seen(&moved), expected);
        let back = [moved[2].clone(), moved[0].clone(), moved[1].clone()];
        assert_eq!(back.to_vec(), axes);
        assert_eq!(order(&reshape(&back, &[60]).unwrap()[0]), None);
    }

    #[test]
    fn reshaping_keeps_the_order() {
        let axes = contiguous(&[2, 6, 4]).unwrap();
        let moved = [axes[2].clone(), axes[0].clone(), axes[1].clone()];
        for dims in [vec![48], vec![4, 12], vec![2, 2, 2, 6], vec![4, 1, 2, 3, 2], vec![8, 6]] {
            let reshaped = reshape(&moved, &dims).unwrap();
            assert_eq!(sizes(&reshaped), dims);
            assert_eq!(seen(&reshaped), seen(&moved), "{dims:?}");
        }
        assert_eq!(reshape(&axes, &[2, 24]), Some(vec![vec![(2, 24)], vec![(24, 1)]]));
        assert_eq!(reshape(&axes, &[47]), None);
        assert_eq!(reshape(&moved, &[3, 16]), None);
        assert_eq!(contiguous(&[usize::MAX, 3]), None);
    }
}
