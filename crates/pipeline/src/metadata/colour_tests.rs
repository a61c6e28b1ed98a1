//! Offsets against the best there are, on components drawn at random.
use super::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const MODULE_COUNT: usize = 8;

fn scope(size: u8, members: &[usize]) -> Scope<'static> {
    Scope { attribute: "a", size, members: members.to_vec(), start: members[0] }
}

fn coloured(scopes: &[Scope<'_>], module_count: usize) -> Colouring {
    colour(scopes, &alive_lens(scopes, module_count), &vec![None; scopes.len()])
}

/// Whether no two components with a common member have a common byte, and all are aligned.
fn is_sound(scopes: &[Scope<'_>], offsets: &[Option<u8>]) -> bool {
    let range = |it: usize| offsets[it].map(|offset| offset..offset + scopes[it].size);
    let apart = |one: usize, other: usize| match (range(one), range(other)) {
        (Some(a), Some(b)) => a.end <= b.start || b.end <= a.start,
        _ => true,
    };
    let meet =
        |one: usize, other: usize| scopes[one].members.iter().any(|m| scopes[other].members.contains(m));
    let aligned = |it: usize| offsets[it].is_none_or(|offset| offset % alignment(scopes[it].size) == 0);
    (0..scopes.len()).all(|one| aligned(one) && (0..one).all(|other| !meet(one, other) || apart(one, other)))
}

/// The fewest bytes that do, of all orders of first fit; one of them always is a best layout.
fn best_len(scopes: &[Scope<'_>]) -> usize {
    fn search(rest: &mut Vec<usize>, taken: &[Mask], len: usize, best: &mut usize, scopes: &[Scope<'_>]) {
        if len >= *best {
            return;
        }
        if rest.is_empty() {
            *best = len;
        }
        for index in 0..rest.len() {
            let it = rest.swap_remove(index);
            let Scope { size, members, .. } = &scopes[it];
            let all = members.iter().fold(0, |all, module| all | taken[*module]);
            let offset = first_gap(all, *size).unwrap();
            let mut taken = taken.to_vec();
            members.iter().for_each(|module| taken[*module] |= bytes(offset, *size));
            search(rest, &taken, len.max(usize::from(offset + size)), best, scopes);
            rest.push(it);
            let last = rest.len() - 1;
            rest.swap(index, last);
        }
    }
    let mut best = usize::MAX;
    search(&mut (0..scopes.len()).collect(), &[0; MODULE_COUNT], 0, &mut best, scopes);
    best
}

fn any_scopes(
    sizes: impl Strategy<Value = u8>,
    count_max: usize,
) -> impl Strategy<Value = Vec<Scope<'static>>> {
    let members = prop::collection::btree_set(0..MODULE_COUNT, 1..5);
    let scope = (sizes, members)
        .prop_map(|(size, members)| scope(size, &members.into_iter().collect::<Vec<usize>>()));
    prop::collection::vec(scope, 1..=count_max)
}

#[test]
fn sizes_are_aligned_to_the_next_power_of_two() {
    let aligned = [1, 2, 3, 4, 5, 6, 7, 8, 9, 32].map(alignment);
    assert_eq!(aligned, [1, 2, 4, 4, 8, 8, 8, 8, 8, 8]);
}

#[test]
fn the_large_come_first_so_that_alignment_leaves_no_gaps() {
    let colouring = coloured(&[scope(1, &[0]), scope(8, &[0]), scope(2, &[0]), scope(4, &[0])], 1);
    assert_eq!(colouring.offsets, [Some(14), Some(0), Some(12), Some(8)]);
    assert_eq!(colouring.used_len, 15);
}

#[test]
fn a_full_area_leaves_the_small_out_last() {
    let scopes =
        [scope(32, &[0]), scope(32, &[0]), scope(32, &[0]), scope(31, &[0]), scope(1, &[0]), scope(1, &[0])];
    let colouring = coloured(&scopes, 1);
    assert_eq!(colouring.offsets, [Some(0), Some(32), Some(64), Some(96), Some(127), None]);
}

#[test]
fn a_poor_order_is_mended() {
    // A path of four components, a-b-c-d by shared modules: two colours do, but taken from both ends it takes three.
    let scopes = [scope(4, &[0]), scope(4, &[0, 1]), scope(4, &[1, 2]), scope(4, &[2])];
    let ends_first = colour_in(&[0, 3, 1, 2], &scopes, 3, &[]);
    assert_eq!(ends_first.used_len, 12);
    let mut order = vec![0, 3, 1, 2];
    bring_forward(&mut order, &scopes, &ends_first);
    assert_eq!(order, [2, 0, 3, 1]);
    assert_eq!(colour_in(&order, &scopes, 3, &[]).used_len, 8);
    assert_eq!(coloured(&scopes, 3).used_len, 8);
}

#[test]
fn few_bytes_are_lost_against_the_best_layout() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let sizes = prop::sample::select(vec![1, 2, 3, 4, 6, 8, 16]);
    let scopes = any_scopes(sizes, 7);
    let (mut ours, mut best) = (0, 0);
    for _ in 0..500 {
        let scopes = scopes.new_tree(&mut runner).unwrap().current();
        ours += coloured(&scopes, MODULE_COUNT).used_len;
        best += best_len(&scopes);
    }
    assert!(best <= ours && ours * 1000 <= best * 1001, "{ours} bytes, {best} would do");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn bytes_of_components_that_meet_are_apart(scopes in any_scopes(1..=32_u8, 24)) {
        let colouring = coloured(&scopes, MODULE_COUNT);
        prop_assert!(is_sound(&scopes, &colouring.offsets));
        let end = |it: usize| colouring.offsets[it].map(|offset| usize::from(offset + scopes[it].size));
        prop_assert_eq!((0..scopes.len()).filter_map(end).max().unwrap_or(0), colouring.used_len);
        prop_assert!(colouring.used_len <= SCRATCH_LEN);
    }
}
