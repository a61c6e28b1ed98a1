//! In which order the nodes of a layer stand, so that few edges cross.

use crate::layers::Layered;

/// Sweeps through all layers, there and back. Later ones rarely find anything.
const SWEEP_COUNT: usize = 24;

/// The nodes of each layer, from top to bottom.
pub(crate) fn ordered(graph: &Layered) -> Vec<Vec<usize>> {
    let mut layers = first_order(graph);
    let mut best = layers.clone();
    let mut fewest = crossings(graph, &layers);
    for sweep in 0..SWEEP_COUNT {
        if fewest == 0 {
            break;
        }
        sort_by_neighbours(graph, &mut layers, sweep.is_multiple_of(2));
        let count = crossings(graph, &layers);
        if count < fewest {
            fewest = count;
            best.clone_from(&layers);
        }
    }
    best
}

/// As a walk in depth meets them: what belongs together stands together.
fn first_order(graph: &Layered) -> Vec<Vec<usize>> {
    let count = graph.sizes.len();
    let mut layers = vec![Vec::new(); graph.layer_count()];
    let mut is_met = vec![false; count];
    let mut roots: Vec<usize> = (0..count).collect();
    roots.sort_by_key(|node| (graph.layer[*node], *node));
    for root in roots {
        let mut waiting = vec![root];
        while let Some(node) = waiting.pop() {
            if std::mem::replace(&mut is_met[node], true) {
                continue;
            }
            layers[graph.layer[node]].push(node);
            waiting.extend(graph.before[node].iter().rev());
            waiting.extend(graph.after[node].iter().rev());
        }
    }
    layers
}

/// Sorts each layer by where its nodes' neighbours stand in the layer that was sorted before it.
fn sort_by_neighbours(graph: &Layered, layers: &mut [Vec<usize>], is_forward: bool) {
    let mut places = places(graph, layers);
    let count = layers.len();
    for step in 1..count {
        let at = if is_forward { step } else { count - 1 - step };
        let near = if is_forward { &graph.before } else { &graph.after };
        let layer = &mut layers[at];
        layer.sort_by(|a, b| {
            let key = |node: usize| mean(&near[node], &places).unwrap_or(places[node] as f64);
            key(*a).total_cmp(&key(*b))
        });
        for (place, node) in layer.iter().enumerate() {
            places[*node] = place;
        }
    }
}

fn mean(nodes: &[usize], places: &[usize]) -> Option<f64> {
    let sum: usize = nodes.iter().map(|node| places[*node]).sum();
    (!nodes.is_empty()).then(|| sum as f64 / nodes.len() as f64)
}

fn places(graph: &Layered, layers: &[Vec<usize>]) -> Vec<usize> {
    let mut places = vec![0; graph.sizes.len()];
    for layer in layers {
        for (place, node) in layer.iter().enumerate() {
            places[*node] = place;
        }
    }
    places
}

/// How many pairs of edges cross.
pub(crate) fn crossings(graph: &Layered, layers: &[Vec<usize>]) -> usize {
    let places = places(graph, layers);
    let between = |layer: &Vec<usize>| {
        let mut ends = Vec::new();
        for node in layer {
            let mut led: Vec<usize> = graph.after[*node].iter().map(|to| places[*to]).collect();
            led.sort_unstable();
            ends.extend(led);
        }
        inversions(&mut ends)
    };
    layers.iter().map(between).sum()
}

/// Pairs that stand in the wrong order, counted while they are merged.
fn inversions(list: &mut [usize]) -> usize {
    if list.len() < 2 {
        return 0;
    }
    let (left, right) = list.split_at_mut(list.len() / 2);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(list.len());
    let (left, right) = list.split_at(list.len() / 2);
    let (mut at_left, mut at_right) = (0, 0);
    while at_left < left.len() || at_right < right.len() {
        if at_right == right.len() || (at_left < left.len() && left[at_left] <= right[at_right]) {
            merged.push(left[at_left]);
            at_left += 1;
        } else {
            count += left.len() - at_left;
            merged.push(right[at_right]);
            at_right += 1;
        }
    }
    list.copy_from_slice(&merged);
    count
}
