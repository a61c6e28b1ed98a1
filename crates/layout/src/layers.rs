//! Which layer each box stands in, and the bends of edges that span several.

use crate::{Edge, Size};

/// The graph without cycles, with a bend wherever an edge passes a layer. Nodes are the boxes, then the bends.
pub(crate) struct Layered {
    /// Of each node; a bend has none.
    pub(crate) sizes: Vec<Size>,
    /// The number of boxes: nodes from there on are bends.
    pub(crate) box_count: usize,
    /// The layer of each node.
    pub(crate) layer: Vec<usize>,
    /// Neighbours of each node in the layer before and the layer after.
    pub(crate) before: Vec<Vec<usize>>,
    pub(crate) after: Vec<Vec<usize>>,
    /// The bends of each edge, from its beginning to its end.
    pub(crate) bends: Vec<Vec<usize>>,
}

impl Layered {
    pub(crate) fn new(boxes: &[Size], edges: &[Edge]) -> Self {
        let forward = forward(boxes.len(), edges);
        let layer = layer(boxes.len(), &forward);
        let mut layered = Self {
            sizes: boxes.to_vec(),
            box_count: boxes.len(),
            layer,
            before: vec![Vec::new(); boxes.len()],
            after: vec![Vec::new(); boxes.len()],
            bends: vec![Vec::new(); edges.len()],
        };
        for (index, edge) in forward.iter().enumerate() {
            layered.thread(index, *edge);
            if *edge != edges[index] {
                layered.bends[index].reverse();
            }
        }
        layered
    }

    /// The number of layers.
    pub(crate) fn layer_count(&self) -> usize {
        self.layer.iter().max().map_or(0, |last| last + 1)
    }

    pub(crate) fn is_bend(&self, node: usize) -> bool {
        node >= self.box_count
    }

    /// Leads an edge through the layers between its ends.
    fn thread(&mut self, index: usize, edge: Edge) {
        if edge.from == edge.to {
            return;
        }
        let mut last = edge.from;
        for layer in self.layer[edge.from] + 1..self.layer[edge.to] {
            let bend = self.sizes.len();
            self.sizes.push(Size { width: 0.0, height: 0.0 });
            self.layer.push(layer);
            self.before.push(Vec::new());
            self.after.push(Vec::new());
            self.bends[index].push(bend);
            self.join(last, bend);
            last = bend;
        }
        self.join(last, edge.to);
    }

    fn join(&mut self, from: usize, to: usize) {
        self.after[from].push(to);
        self.before[to].push(from);
    }
}

/// The edges, those turned that would close a cycle.
fn forward(count: usize, edges: &[Edge]) -> Vec<Edge> {
    let mut leaving = vec![Vec::new(); count];
    let mut is_entered = vec![false; count];
    for (index, edge) in edges.iter().enumerate() {
        leaving[edge.from].push(index);
        is_entered[edge.to] |= edge.from != edge.to;
    }
    let mut forward = edges.to_vec();
    let mut state = vec![State::New; count];
    // From where nothing leads to first, so that a cycle is cut where packets come back to it.
    let roots = (0..count).filter(|node| !is_entered[*node]).chain(0..count);
    for root in roots.collect::<Vec<_>>() {
        if state[root] == State::New {
            turn(root, &leaving, &mut state, &mut forward);
        }
    }
    forward
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    OnTheWay,
    Done,
}

/// Walks from `root` in depth and turns the edges that lead back to the way that it is on.
fn turn(root: usize, leaving: &[Vec<usize>], state: &mut [State], edges: &mut [Edge]) {
    let mut way = vec![(root, 0)];
    state[root] = State::OnTheWay;
    while let Some((node, next)) = way.last_mut() {
        let Some(index) = leaving[*node].get(*next).copied() else {
            state[*node] = State::Done;
            way.pop();
            continue;
        };
        *next += 1;
        let to = edges[index].to;
        match state[to] {
            State::New => {
                state[to] = State::OnTheWay;
                way.push((to, 0));
            }
            State::OnTheWay => edges[index] = Edge { from: to, to: edges[index].from },
            State::Done => {}
        }
    }
}

/// The layer of each box: one after the last that leads to it; what nothing leads to stands close before what it leads to.
fn layer(count: usize, edges: &[Edge]) -> Vec<usize> {
    let edges: Vec<Edge> = edges.iter().copied().filter(|edge| edge.from != edge.to).collect();
    let mut leaving = vec![Vec::new(); count];
    let mut waits_for = vec![0; count];
    for edge in &edges {
        leaving[edge.from].push(edge.to);
        waits_for[edge.to] += 1;
    }
    let mut layer = vec![0; count];
    let is_entered: Vec<bool> = waits_for.iter().map(|waits| *waits > 0).collect();
    let mut ready: Vec<usize> = (0..count).filter(|node| waits_for[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        for &to in &leaving[node] {
            layer[to] = layer[to].max(layer[node] + 1);
            waits_for[to] -= 1;
            if waits_for[to] == 0 {
                ready.push(to);
            }
        }
    }
    for node in (0..count).filter(|node| !is_entered[*node]) {
        if let Some(first) = leaving[node].iter().map(|to| layer[*to]).min() {
            layer[node] = first - 1;
        }
    }
    layer
}
