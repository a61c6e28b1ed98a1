//! How high each node stands: close to its neighbours, in its layer's order, and clear of those beside it.

use crate::layers::Layered;
use crate::{GAP_LINE, GAP_Y};

/// Sweeps through all layers.
const SWEEP_COUNT: usize = 12;

/// How much more a bend wants to stand level with its neighbours than a box: long edges are to be straight.
const BEND_WEIGHT: f64 = 4.0;

/// The middle of each node.
pub(crate) fn middles(graph: &Layered, layers: &[Vec<usize>]) -> Vec<f64> {
    let mut middles = vec![0.0; graph.sizes.len()];
    for layer in layers {
        let mut y = 0.0;
        for pair in 0..layer.len() {
            if pair > 0 {
                y += apart(graph, layer[pair - 1], layer[pair]);
            }
            middles[layer[pair]] = y;
        }
        layer.iter().for_each(|node| middles[*node] -= y / 2.0);
    }
    for sweep in 0..SWEEP_COUNT {
        let count = layers.len();
        for step in 0..count {
            let at = if sweep.is_multiple_of(2) { step } else { count - 1 - step };
            let layer = &layers[at];
            let wishes: Vec<(f64, f64)> =
                layer.iter().map(|node| wish(graph, *node, &middles, sweep)).collect();
            settle(graph, layer, &wishes, &mut middles);
        }
    }
    middles
}

/// How far apart the middles of two nodes are at least that stand one above the other.
fn apart(graph: &Layered, upper: usize, lower: usize) -> f64 {
    let gap = if graph.is_bend(upper) || graph.is_bend(lower) { GAP_LINE } else { GAP_Y };
    (graph.sizes[upper].height + graph.sizes[lower].height) / 2.0 + gap
}

/// Where a node wants to stand, and how much.
fn wish(graph: &Layered, node: usize, middles: &[f64], sweep: usize) -> (f64, f64) {
    let (before, after) = (&graph.before[node], &graph.after[node]);
    // First by one side in turn, to get everything moving; at last by both.
    let near: Vec<usize> = match sweep {
        _ if sweep + 4 >= SWEEP_COUNT => before.iter().chain(after).copied().collect(),
        _ if sweep.is_multiple_of(2) => before.clone(),
        _ => after.clone(),
    };
    let weight = if graph.is_bend(node) { BEND_WEIGHT } else { 1.0 };
    if near.is_empty() {
        return (middles[node], weight * 0.1);
    }
    // A line of its own pulls harder than one of many, so that chains stay straight beside a fan.
    let pull = |other: usize| {
        let (from, to) = if graph.layer[other] < graph.layer[node] { (other, node) } else { (node, other) };
        1.0 / graph.after[from].len().max(graph.before[to].len()) as f64
    };
    let sum: f64 = near.iter().map(|near| middles[*near] * pull(*near)).sum();
    (sum / near.iter().map(|near| pull(*near)).sum::<f64>(), weight)
}

/// Puts a layer's nodes as close to their wishes as their order and sizes allow: least squares, by pooling neighbours that
/// push each other (the pool adjacent violators algorithm).
fn settle(graph: &Layered, layer: &[usize], wishes: &[(f64, f64)], middles: &mut [f64]) {
    struct Pool {
        sum: f64,
        weight: f64,
        count: usize,
    }
    // With the distances taken out, keeping them means not to fall back.
    let mut offsets = vec![0.0; layer.len()];
    for at in 1..layer.len() {
        offsets[at] = offsets[at - 1] + apart(graph, layer[at - 1], layer[at]);
    }
    let mut pools: Vec<Pool> = Vec::new();
    for ((wish, weight), offset) in wishes.iter().zip(&offsets) {
        pools.push(Pool { sum: (wish - offset) * weight, weight: *weight, count: 1 });
        while let [.., upper, lower] = pools.as_slice()
            && upper.sum / upper.weight > lower.sum / lower.weight
        {
            let (sum, weight, count) = (lower.sum, lower.weight, lower.count);
            pools.pop();
            if let Some(upper) = pools.last_mut() {
                upper.sum += sum;
                upper.weight += weight;
                upper.count += count;
            }
        }
    }
    let levels = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.sum / pool.weight, pool.count));
    for ((node, level), offset) in layer.iter().zip(levels).zip(&offsets) {
        middles[*node] = level + offset;
    }
}
