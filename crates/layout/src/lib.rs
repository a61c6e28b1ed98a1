//! Where the boxes and lines of a drawn graph go: layers from left to right, as packets flow.
//!
//! ```text
//!   boxes, edges -> turn back edges (cycles) -> layers -> order within layers -> heights -> Drawing
//!                                               an edge that spans layers passes a bend in each of them
//! ```
//!
//! After Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures", 1981: layers by longest
//! path, order by medians, heights by least squares under the order (isotonic regression).
//!
//! Invariants: no two boxes overlap; a box stands left of what its edges lead to, except along edges that close a cycle; the
//! same graph is always drawn the same. Not here: what a box says and how a line looks.
#![forbid(unsafe_code)]

mod heights;
mod layers;
mod order;

#[cfg(test)]
mod tests;

use layers::Layered;

/// Room between two boxes of a layer.
const GAP_Y: f64 = 22.0;

/// Room between two lines of a layer, or between a line and a box.
const GAP_LINE: f64 = 14.0;

/// Room between two layers, for what is written on lines.
const GAP_X: f64 = 96.0;

/// How much of its height a steep line gets as width, and the most room between two layers that it asks for.
const SLOPE: f64 = 0.12;
const GAP_X_MAX: f64 = 320.0;

/// The size of a box, in whatever unit the drawing has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

/// A line from one box to another, by their places in the list of boxes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Where it begins, at the right side.
    pub from: usize,
    /// Where it ends, at the left side.
    pub to: usize,
}

/// A point; y grows downwards.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// A drawn graph; everything is within 0 and `size`.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    /// How large it is.
    pub size: Size,
    /// The top left corner of each box.
    pub boxes: Vec<Point>,
    /// The points that each edge passes, from its beginning to its end.
    pub lines: Vec<Vec<Point>>,
}

/// Draws a graph. Lines of one box are spread over its side in the order that crosses least; an edge from a box to itself
/// passes above it.
///
/// # Panics
/// If an edge names a box that is not there.
pub fn draw(boxes: &[Size], edges: &[Edge]) -> Drawing {
    let layered = Layered::new(boxes, edges);
    let layers = order::ordered(&layered);
    let middles = heights::middles(&layered, &layers);
    finish(boxes, edges, &layered, &layers, &middles)
}

/// Turns layers and heights into points.
fn finish(
    boxes: &[Size],
    edges: &[Edge],
    layered: &Layered,
    layers: &[Vec<usize>],
    middles: &[f64],
) -> Drawing {
    let width_of =
        |layer: &Vec<usize>| layer.iter().map(|node| layered.sizes[*node].width).fold(0.0, f64::max);
    let mut lefts = vec![0.0; layered.sizes.len()];
    let mut x = 0.0;
    let mut gap = 0.0;
    for layer in layers {
        x += gap;
        let width = width_of(layer);
        for node in layer {
            // Boxes stand in the middle of their layer, bends too.
            lefts[*node] = x + (width - layered.sizes[*node].width) / 2.0;
        }
        x += width;
        let rise = |(from, to): (&usize, &usize)| (middles[*from] - middles[*to]).abs();
        let steps = layer.iter().flat_map(|from| layered.after[*from].iter().map(move |to| (from, to)));
        gap = (steps.map(rise).fold(0.0, f64::max) * SLOPE).clamp(GAP_X, GAP_X_MAX);
    }
    let width = x;
    let top = |node: usize| middles[node] - layered.sizes[node].height / 2.0;
    let nodes = 0..layered.sizes.len();
    let highest = nodes.clone().map(top).fold(f64::INFINITY, f64::min);
    let lowest =
        nodes.map(|node| middles[node] + layered.sizes[node].height / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let height = if boxes.is_empty() { 0.0 } else { lowest - highest };
    let corners: Vec<Point> =
        (0..boxes.len()).map(|node| Point { x: lefts[node], y: top(node) - highest }).collect();
    let ends = ends(boxes, edges, layered, middles);
    let line = |index: usize| {
        let (out, into) = ends[index];
        let edge = edges[index];
        let start = Point { x: corners[edge.from].x + boxes[edge.from].width, y: corners[edge.from].y + out };
        let end = Point { x: corners[edge.to].x, y: corners[edge.to].y + into };
        let bends =
            layered.bends[index].iter().map(|node| Point { x: lefts[*node], y: middles[*node] - highest });
        [start].into_iter().chain(bends).chain([end]).collect()
    };
    let lines = (0..edges.len()).map(line).collect();
    Drawing { size: Size { width, height }, boxes: corners, lines }
}

/// For each edge, how far below its box's corner it leaves and arrives: those of a side share it evenly, by where they lead.
fn ends(boxes: &[Size], edges: &[Edge], layered: &Layered, middles: &[f64]) -> Vec<(f64, f64)> {
    let mut ends = vec![(0.0, 0.0); edges.len()];
    for (node, size) in boxes.iter().enumerate() {
        let height_of = |index: usize, is_out: bool| {
            let bends = &layered.bends[index];
            let (next, other) =
                if is_out { (bends.first(), edges[index].to) } else { (bends.last(), edges[index].from) };
            middles[next.copied().unwrap_or(other)]
        };
        for is_out in [true, false] {
            let at = |edge: &Edge| if is_out { edge.from } else { edge.to };
            let mut side: Vec<usize> = (0..edges.len()).filter(|index| at(&edges[*index]) == node).collect();
            side.sort_by(|a, b| height_of(*a, is_out).total_cmp(&height_of(*b, is_out)));
            let step = size.height / (side.len() + 1) as f64;
            for (place, index) in side.into_iter().enumerate() {
                let y = step * (place + 1) as f64;
                if is_out {
                    ends[index].0 = y;
                } else {
                    ends[index].1 = y;
                }
            }
        }
    }
    ends
}
