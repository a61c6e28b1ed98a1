//! Properties of drawings of random graphs, and of graphs that are drawn as one would by hand.

use crate::layers::Layered;
use crate::order::{crossings, ordered};
use crate::{Drawing, Edge, Size, draw};
use proptest::prelude::*;

const BOX: Size = Size { width: 120.0, height: 40.0 };

fn edges(pairs: &[(usize, usize)]) -> Vec<Edge> {
    pairs.iter().map(|&(from, to)| Edge { from, to }).collect()
}

fn drawn(count: usize, pairs: &[(usize, usize)]) -> Drawing {
    draw(&vec![BOX; count], &edges(pairs))
}

#[test]
fn nothing_is_drawn_of_nothing() {
    assert_eq!(drawn(0, &[]).size, Size { width: 0.0, height: 0.0 });
    assert_eq!(drawn(1, &[]).size, BOX);
}

#[test]
fn chain_is_a_straight_line() {
    let chain = drawn(4, &[(0, 1), (1, 2), (2, 3)]);
    assert!(chain.boxes.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].y == pair[1].y));
    assert_eq!(chain.size.height, BOX.height);
}

#[test]
fn diamond_is_symmetric() {
    let diamond = drawn(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    let [first, upper, lower, last] = diamond.boxes[..] else { panic!("four boxes") };
    assert_eq!(first.y, last.y);
    assert_eq!(upper.x, lower.x);
    assert!((upper.y + lower.y - 2.0 * first.y).abs() < 1e-6);
}

#[test]
fn edge_that_skips_layers_passes_beside_the_boxes() {
    let bypass = drawn(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
    let line = &bypass.lines[3];
    assert_eq!(line.len(), 4);
    for (bend, at) in line[1..3].iter().zip([1, 2]) {
        let corner = bypass.boxes[at];
        assert!(bend.y < corner.y || bend.y > corner.y + BOX.height);
    }
}

#[test]
fn cycle_is_cut_where_packets_come_back() {
    let cycle = drawn(4, &[(0, 1), (1, 2), (2, 1), (2, 3), (3, 3)]);
    assert!(cycle.boxes.windows(2).all(|pair| pair[0].x < pair[1].x));
    let back = &cycle.lines[2];
    assert!(back[0].x > back[back.len() - 1].x);
}

#[test]
fn source_stands_close_before_what_it_leads_to() {
    let late = drawn(4, &[(0, 1), (1, 2), (3, 2)]);
    assert_eq!(late.boxes[3].x, late.boxes[1].x);
}

#[test]
fn crossed_pairs_are_uncrossed() {
    let pairs = edges(&[(0, 5), (1, 4), (2, 3), (0, 4), (2, 4)]);
    let graph = Layered::new(&[BOX; 6], &pairs);
    assert_eq!(crossings(&graph, &ordered(&graph)), 0);
}

fn graphs() -> impl Strategy<Value = (Vec<Size>, Vec<Edge>)> {
    (1usize..40).prop_flat_map(|count| {
        let size = (20.0..200.0, 20.0..80.0).prop_map(|(width, height)| Size { width, height });
        let edge = (0..count, 0..count).prop_map(|(from, to)| Edge { from, to });
        (prop::collection::vec(size, count), prop::collection::vec(edge, 0..80))
    })
}

proptest! {
    #[test]
    fn boxes_never_overlap_and_all_is_inside((boxes, edges) in graphs()) {
        let drawing = draw(&boxes, &edges);
        let is_within = |value: f64, most: f64| value >= -1e-6 && value <= most + 1e-6;
        for (corner, size) in drawing.boxes.iter().zip(&boxes) {
            prop_assert!(is_within(corner.x, drawing.size.width - size.width));
            prop_assert!(is_within(corner.y, drawing.size.height - size.height));
        }
        for a in 0..boxes.len() {
            for b in 0..a {
                let (one, other) = (drawing.boxes[a], drawing.boxes[b]);
                let is_beside = one.x + boxes[a].width <= other.x || other.x + boxes[b].width <= one.x;
                let is_above = one.y + boxes[a].height <= other.y + 1e-6 || other.y + boxes[b].height <= one.y + 1e-6;
                prop_assert!(is_beside || is_above);
            }
        }
        for (line, edge) in drawing.lines.iter().zip(&edges) {
            prop_assert!(line.iter().all(|point| is_within(point.y, drawing.size.height)));
            prop_assert_eq!(line[0].x, drawing.boxes[edge.from].x + boxes[edge.from].width);
            prop_assert_eq!(line[line.len() - 1].x, drawing.boxes[edge.to].x);
        }
    }

    #[test]
    fn edges_of_graphs_without_cycles_lead_to_the_right((boxes, edges) in graphs()) {
        let edges: Vec<Edge> = edges.into_iter().filter(|edge| edge.from < edge.to).collect();
        let drawing = draw(&boxes, &edges);
        for line in &drawing.lines {
            prop_assert!(line.windows(2).all(|pair| pair[0].x < pair[1].x));
        }
    }

    #[test]
    fn same_graph_is_drawn_the_same((boxes, edges) in graphs()) {
        prop_assert_eq!(draw(&boxes, &edges), draw(&boxes, &edges));
    }
}
