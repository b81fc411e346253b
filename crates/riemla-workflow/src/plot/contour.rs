//! Contour lines by marching squares, joined to polylines.

use std::collections::BTreeMap;

use super::grid::Grid;

/// A contour line in data coordinates. A closed one does not repeat its first point.
#[derive(Clone, Debug, PartialEq)]
pub struct Polyline {
    /// The points in order.
    pub points: Vec<(f64, f64)>,
    /// Whether the last point is joined to the first.
    pub closed: bool,
}

/// A crossing is named by the grid edge it lies on: the node at its lower left end, twice, plus
/// one for an edge along y.
type EdgeId = usize;

/// The lines where the linearly interpolated grid equals `level`. Cells with a corner that is
/// not finite are left out.
pub fn contour(grid: &Grid, level: f64) -> Vec<Polyline> {
    let mut neighbours: BTreeMap<EdgeId, Vec<EdgeId>> = BTreeMap::new();
    for (a, b) in segments(grid, level) {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    let ends = neighbours.iter().filter(|(_, n)| n.len() == 1).map(|(e, _)| *e);
    let starts: Vec<EdgeId> = ends.chain(neighbours.keys().copied()).collect();
    starts
        .into_iter()
        .filter_map(|start| walk(&mut neighbours, start))
        .map(|(edges, closed)| Polyline {
            points: edges.into_iter().map(|e| crossing(grid, level, e)).collect(),
            closed,
        })
        .collect()
}

/// Follows and removes the line through `start`; `None` if it is used up already.
fn walk(neighbours: &mut BTreeMap<EdgeId, Vec<EdgeId>>, start: EdgeId) -> Option<(Vec<EdgeId>, bool)> {
    let mut line = vec![start];
    let mut here = start;
    while let Some(next) = neighbours.get_mut(&here).and_then(Vec::pop) {
        if let Some(back) = neighbours.get_mut(&next) {
            back.iter().position(|e| *e == here).map(|i| back.swap_remove(i));
        }
        if next == start {
            return Some((line, true));
        }
        line.push(next);
        here = next;
    }
    (line.len() > 1).then_some((line, false))
}

/// Pairs of crossed edges, one or two per crossed cell.
fn segments(grid: &Grid, level: f64) -> Vec<(EdgeId, EdgeId)> {
    let (nx, ny) = grid.shape();
    let cells = (0..ny - 1).flat_map(|j| (0..nx - 1).map(move |i| (i, j)));
    cells.flat_map(|(i, j)| cell_segments(grid, level, i, j)).flatten().collect()
}

fn cell_segments(grid: &Grid, level: f64, i: usize, j: usize) -> [Option<(EdgeId, EdgeId)>; 2] {
    let nx = grid.shape().0;
    let corners = [grid.value(i, j), grid.value(i + 1, j), grid.value(i + 1, j + 1), grid.value(i, j + 1)];
    if corners.iter().any(|v| !v.is_finite()) {
        return [None, None];
    }
    let node = j * nx + i;
    let (bottom, right, top, left) = (2 * node, 2 * (node + 1) + 1, 2 * (node + nx), 2 * node + 1);
    let above = corners.map(|v| v >= level);
    let code = above.iter().rev().fold(0, |code, a| 2 * code + usize::from(*a));
    // In a saddle the value at the centre decides which corners are joined.
    let centre = corners.iter().sum::<f64>() / 4.0 >= level;
    match code {
        1 | 14 => [Some((left, bottom)), None],
        2 | 13 => [Some((bottom, right)), None],
        4 | 11 => [Some((right, top)), None],
        8 | 7 => [Some((top, left)), None],
        3 | 12 => [Some((left, right)), None],
        6 | 9 => [Some((bottom, top)), None],
        5 if centre => [Some((bottom, right)), Some((top, left))],
        10 if !centre => [Some((bottom, right)), Some((top, left))],
        5 | 10 => [Some((left, bottom)), Some((right, top))],
        _ => [None, None],
    }
}

/// Where the level is met on an edge.
fn crossing(grid: &Grid, level: f64, edge: EdgeId) -> (f64, f64) {
    let (nx, _) = grid.shape();
    let (i, j, along_y) = ((edge / 2) % nx, (edge / 2) / nx, edge % 2 == 1);
    let from = grid.value(i, j);
    let to = if along_y { grid.value(i, j + 1) } else { grid.value(i + 1, j) };
    let t = if to == from { 0.5 } else { ((level - from) / (to - from)).clamp(0.0, 1.0) };
    if along_y { grid.place(i as f64, j as f64 + t) } else { grid.place(i as f64 + t, j as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_one_closed_line_on_the_circle() {
        let grid = Grid::from_fn(81, 61, (-2.0, 2.0), (-1.5, 1.5), |x, y| x.hypot(y)).expect("valid");
        let lines = contour(&grid, 1.0);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].closed);
        let points = &lines[0].points;
        assert!(points.len() > 100);
        assert!(points.iter().all(|(x, y)| (x.hypot(*y) - 1.0).abs() < 2e-3));
        let round = points.iter().zip(points.iter().cycle().skip(1));
        let length: f64 = round.map(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1)).sum();
        assert!((length - std::f64::consts::TAU).abs() < 0.02, "length {length}");
    }

    #[test]
    fn lines_that_leave_the_grid_are_open() {
        let grid = Grid::from_fn(9, 9, (0.0, 1.0), (0.0, 1.0), |x, _| x).expect("valid");
        let lines = contour(&grid, 0.3);
        assert_eq!(lines.len(), 1);
        assert!(!lines[0].closed);
        assert!(lines[0].points.iter().all(|p| (p.0 - 0.3).abs() < 1e-12));
        assert_eq!(lines[0].points.len(), 9);
    }

    #[test]
    fn a_saddle_gives_two_lines_and_missing_cells_give_none() {
        let saddle = Grid::from_fn(21, 21, (-1.0, 1.0), (-1.0, 1.0), |x, y| x * y).expect("valid");
        assert_eq!(contour(&saddle, 0.2).len(), 2);
        let missing = Grid::from_fn(5, 5, (0.0, 1.0), (0.0, 1.0), |_, _| f64::NAN).expect("valid");
        assert!(contour(&missing, 0.5).is_empty());
    }

    #[test]
    fn values_equal_to_the_level_do_not_break_lines() {
        let grid = Grid::from_fn(5, 5, (0.0, 4.0), (0.0, 4.0), |x, _| x).expect("valid");
        let lines = contour(&grid, 2.0);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].points.iter().all(|p| p.0 == 2.0));
    }
}
