//! What families of names have in common against what the engine writes for each name, octet by octet; and that it takes
//! no memory to say it.
use super::tests::{EDNS, Net, Zones, query};
use super::*;
use crate::name::{Name, NameBuf};
use crate::zone::{Catalog, file};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const TYPES: [u16; 12] = [1, 2, 5, 6, 15, 16, 28, 43, 46, 47, 65, 255];
const SIZES: [Option<(u16, bool)>; 6] =
    [None, Some((512, false)), Some((512, true)), Some((900, true)), Some((1232, false)), Some((4096, true))];

fn zone_files(directory: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/zones").join(directory);
    let paths = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "zone")).collect()
}

/// The zones of the differential test in these directories.
fn catalog(directories: &[&str]) -> Catalog {
    let mut paths: Vec<_> = directories.iter().flat_map(|directory| zone_files(directory)).collect();
    paths.sort();
    paths.iter().fold(Catalog::new(), |catalog, path| {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let apex: NameBuf = if stem == "root" { "." } else { stem }.parse().unwrap();
        catalog.with(Arc::new(file::read(path, &apex).unwrap().zone))
    })
}

/// One with every case and without the root, and one with the root.
fn catalogs() -> &'static [Catalog; 2] {
    static CATALOGS: OnceLock<[Catalog; 2]> = OnceLock::new();
    CATALOGS.get_or_init(|| [catalog(&["plain", "signed", "ours"]), catalog(&["rootsigned"])])
}

/// Every name of every zone.
fn names(catalog: &Catalog) -> Vec<NameBuf> {
    let mut names: Vec<NameBuf> =
        catalog.zones().flat_map(|zone| zone.nodes().map(|node| node.name().to_owned())).collect();
    names.sort_by(|one, other| one.as_name().cmp(other.as_name()));
    names.dedup();
    names
}

fn net(catalog: &Catalog, key_form: KeyForm) -> Net {
    let store = StoreSize { byte_count_max: 64 << 20, entry_count: 1 << 16 };
    Net::serving(Zones::of(catalog.clone()), UdpConfig { key_form, store, ..UdpConfig::default() })
}

/// `labels` before `name`, as text; `None` if that is too long, or cannot be written without escapes.
fn below(labels: &str, name: &Name) -> Option<String> {
    let text = format!("{labels}.{name}").trim_end_matches('.').to_owned();
    let is_plain = text.bytes().all(|octet| octet.is_ascii_alphanumeric() || b".-_*".contains(&octet));
    (is_plain && text.len() < 250).then_some(text)
}

fn check(net: &mut Net, asked: &[Vec<u8>]) {
    for chunk in asked.chunks(BURST_LEN_MAX) {
        let answers = net.ask(chunk);
        assert_eq!(answers.len(), chunk.len());
        for (asked, answered) in chunk.iter().zip(answers) {
            assert_eq!(answered, net.engine(asked), "to {asked:02x?}");
        }
    }
}

#[test]
fn all_names_around_those_of_all_zones_are_answered_as_the_engine_does() {
    for catalog in catalogs() {
        let (mut net, mut asked) = (net(catalog, KeyForm::Wire), Vec::new());
        for name in &names(catalog) {
            for labels in ["q", "zz", "r.Q", "*", "ns", "www", "a.b.c.d.e.f", "0", "-"] {
                let Some(text) = below(labels, name) else { continue };
                for (at, qtype) in TYPES.into_iter().enumerate() {
                    asked.push(query(
                        asked.len() as u16,
                        &text,
                        qtype,
                        SIZES[(asked.len() + at) % SIZES.len()],
                    ));
                }
            }
        }
        check(&mut net, &asked);
        check(&mut net, &asked);
        let counters = net.counters();
        assert!(counters.common_count > counters.query_count / 3, "{counters:?}");
    }
}

/// Names that the shared records have too: the engine compresses them against the question.
#[test]
fn names_that_the_answer_itself_holds_are_answered_as_the_engine_does() {
    let zone = "\
$ORIGIN example.
$TTL 60
@ SOA ns.void admin.nobody 1 2 3 4 5
@ NS ns
ns A 192.0.2.1
cut NS ns.cut
cut NS a.b.cut
cut NS NS2.cut
ns.cut A 192.0.2.2
a.b.cut A 192.0.2.3
ns2.cut AAAA 2001:db8::1
*.wild MX 10 mail.wild
*.wild MX 20 x.y.wild
*.alias CNAME target.alias
";
    let zone = file::read_text("test", zone.as_bytes(), "example".parse::<NameBuf>().unwrap().as_name());
    let catalog = Catalog::new().with(Arc::new(zone.unwrap().zone));
    let names = [
        "x",
        "void",
        "ns.void",
        "q.void",
        "nobody",
        "ADMIN.nobody",
        "z.cut",
        "ns.cut",
        "b.cut",
        "c.b.cut",
        "a.b.cut",
        "q.a.b.cut",
        "ns2.cut",
        "x.Ns2.cut",
        "ns3.cut",
        "m.wild",
        "mail.wild",
        "MAIL.wild",
        "y.wild",
        "x.y.wild",
        "q.mail.wild",
        "t.alias",
        "target.alias",
        "u.target.alias",
        "wild",
        "alias",
    ];
    let mut net = net(&catalog, KeyForm::Expanded);
    for _ in 0..3 {
        let asked: Vec<_> = names
            .iter()
            .chain(names.iter().rev())
            .flat_map(|name| TYPES.map(|qtype| (name, qtype)))
            .enumerate()
            .map(|(id, (name, qtype))| {
                query(id as u16, &format!("{name}.example"), qtype, EDNS[id % EDNS.len()])
            })
            .collect();
        check(&mut net, &asked);
    }
}

#[test]
fn nothing_is_allocated_for_names_that_are_not_there() {
    let catalog = &catalogs()[0];
    let names = names(catalog);
    let mut net = net(catalog, KeyForm::Wire);
    for qtype in [1, 15, 43] {
        for (n, name) in names.iter().enumerate() {
            // The first makes what the others have in common, which may touch the store's memory, and no allocator's.
            let asked: Vec<_> = (0..8)
                .filter_map(|k| below(&format!("n{n}k{k}"), name))
                .map(|text| query(n as u16, &text, qtype, Some((1232, n % 2 == 0))))
                .collect();
            net.ask(&asked);
            assert_eq!(net.allocation_count, 0, "below {name}");
        }
    }
    assert!(net.counters().common_count > 0);
}

#[test]
fn a_small_store_that_families_push_each_other_out_of_answers_as_the_engine_does() {
    let catalog = &catalogs()[0];
    let store = StoreSize { byte_count_max: 1 << 15, entry_count: 64 };
    let mut net = Net::serving(Zones::of(catalog.clone()), UdpConfig { store, ..UdpConfig::default() });
    let names = names(catalog);
    let texts = names.iter().filter_map(|name| below("q", name));
    let asked: Vec<_> = texts.enumerate().map(|(n, text)| query(n as u16, &text, 1, EDNS[n % 4])).collect();
    (0..4).for_each(|_| check(&mut net, &asked));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever was asked before, and in whatever order.
    #[test]
    fn any_names_are_answered_as_the_engine_does(
        draws in proptest::collection::vec(
            (any::<prop::sample::Index>(), "[a-dA-D]{1,3}(\\.[a-c]{1,2}){0,3}", 0..TYPES.len(), 0..SIZES.len()),
            1..64,
        ),
        with_root in any::<bool>(),
    ) {
        let catalog = &catalogs()[usize::from(with_root)];
        let names = names(catalog);
        let mut net = net(catalog, KeyForm::Wire);
        let asked: Vec<_> = draws
            .iter()
            .filter_map(|(name, labels, qtype, size)| {
                let name: &NameBuf = name.get(names.as_slice());
                Some(query(7, &below(labels, name)?, TYPES[*qtype], SIZES[*size]))
            })
            .collect();
        check(&mut net, &asked);
        check(&mut net, &asked);
    }
}
