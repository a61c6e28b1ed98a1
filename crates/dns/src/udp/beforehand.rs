//! Answers made before anybody asks, by a thread of their own.
//!
//! ```text
//!   worker, its zones changed --Order--> thread: zones' names x types -> Store
//!   worker, before a burst    <--Slot--- a store, taken for its own in one step
//! ```
//! The worker answers all the while, from what it finds itself. The thread runs when nobody else wants to, and gives
//! a store up whose worker has ordered another since.
//!
//! Made are: of each name that is no wildcard and not occluded, the types that it has, with and without DNSSEC
//! records; A and AAAA of an alias; A of a cut, which is what resolvers ask that tell no more of a name than they
//! must (RFC 9156 section 2.3). Zones that would not fit what is left of the budget are left out whole: their answers
//! come as they are asked for.
//!
//! Not here: which answers are worth keeping of those that are asked for ([`super::zones`]).

use super::zones;
use super::{MESSAGE_LEN_MAX, Question};
use crate::answer::Policy;
use crate::message::Rtype;
use crate::store::{Key, NAME_LEN_MAX, NAME_WORD_COUNT_MAX, Store, StoreSize};
use crate::udp::glance::HEADER_LEN;
use crate::zone::{Catalog, Node, Zone};
use crossbeam_channel::{Receiver, Sender};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a worker wants made.
pub struct Order {
    /// From which zones.
    pub catalog: Arc<Catalog>,
    /// What else answers depend on.
    pub policy: Policy,
    /// The longest answer.
    pub size_max: u16,
    /// Bytes at most.
    pub byte_count_max: usize,
    /// What keys are hashed with.
    pub seed: u64,
    /// Where it is put.
    pub slot: Arc<Slot>,
}

/// Where a store waits for its worker.
#[derive(Default)]
pub struct Slot {
    is_full: AtomicBool,
    store: Mutex<Option<Box<Store>>>,
}

impl Slot {
    /// What was made, once.
    #[inline]
    pub fn take(&self) -> Option<Box<Store>> {
        if !self.is_full.load(Ordering::Relaxed) {
            return None;
        }
        self.is_full.store(false, Ordering::Relaxed);
        self.store.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, store: Box<Store>) {
        *self.store.lock().unwrap_or_else(PoisonError::into_inner) = Some(store);
        self.is_full.store(true, Ordering::Relaxed);
    }
}

/// Starts the thread; it ends when nobody can order any more.
pub fn start() -> std::io::Result<Sender<Order>> {
    let (sender, orders) = crossbeam_channel::unbounded();
    std::thread::Builder::new().name("ready-answers".into()).spawn(move || work(&orders))?;
    Ok(sender)
}

fn work(orders: &Receiver<Order>) {
    if let Err(error) = tidegate_sys::cpu::run_when_idle() {
        tracing::debug!("answers are made beforehand at ordinary priority: {error}");
    }
    for order in orders {
        if let Some(store) = order.fill() {
            order.slot.put(Box::new(store));
        }
    }
}

impl Order {
    /// The store that is wanted; `None` if it is not wanted any more.
    fn fill(&self) -> Option<Store> {
        let rrset_count = self.catalog.zones().map(|zone| zone.rrset_count()).sum();
        let size = StoreSize::of_rrsets(self.byte_count_max, rrset_count);
        let mut filling =
            Filling { order: self, store: Store::new(size, self.seed), out: [0; MESSAGE_LEN_MAX] };
        let mut left = filling.store.entry_byte_count_max();
        for zone in self.catalog.zones() {
            let wanted = StoreSize::byte_count_of(zone.rrset_count());
            if wanted <= left {
                left -= wanted;
                filling.add_zone(zone)?;
            }
        }
        Some(filling.store)
    }

    fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.slot) > 1
    }
}

/// A store that is being filled.
struct Filling<'o> {
    order: &'o Order,
    store: Store,
    out: [u8; MESSAGE_LEN_MAX],
}

impl Filling<'_> {
    /// `None` if the store is not wanted any more.
    fn add_zone(&mut self, zone: &Zone) -> Option<()> {
        for node in zone.nodes().filter(|node| !node.is_occluded() && !node.is_wildcard()) {
            if !self.order.is_wanted() {
                return None;
            }
            if !types(&node).all(|rtype| self.add(node.name().as_wire(), rtype)) {
                break;
            }
        }
        Some(())
    }

    /// Makes both answers to a question. False if there is no room for more.
    fn add(&mut self, name: &[u8], rtype: Rtype) -> bool {
        // As the name would lie in a query.
        let mut message = [0; HEADER_LEN + NAME_LEN_MAX];
        let end = HEADER_LEN + name.len();
        let Some(to) = message.get_mut(HEADER_LEN..end) else { return true };
        to.copy_from_slice(name);
        [false, true].into_iter().all(|wants_dnssec| {
            let mut words = [0; NAME_WORD_COUNT_MAX];
            let octets = &message[..end];
            let key = Key::new(self.store.seed(), octets, name.len(), rtype.0, wants_dnssec, &mut words);
            let Some(key) = key else { return true };
            let question = Question { name, qtype: rtype.0, wants_dnssec };
            let Order { catalog, policy, size_max, .. } = self.order;
            let found = zones::find(catalog, policy, &question, usize::from(*size_max), &mut self.out);
            match found.filter(|found| found.is_lasting) {
                Some(found) => self.store.fill(&key, &words, &found.sections),
                None => true,
            }
        })
    }
}

/// The types that are asked of a name.
fn types<'z>(node: &Node<'z>) -> impl Iterator<Item = Rtype> + use<'z> {
    let usual: &[Rtype] = match node {
        alias if alias.has_cname() => &[Rtype::A, Rtype::AAAA],
        cut if cut.is_cut() => &[Rtype::A],
        _ => &[],
    };
    let own = node.rrsets().map(|set| Rtype(set.rtype().to_int()));
    // What proves that names are not there is asked for with those names.
    own.filter(|rtype| *rtype != Rtype::NSEC).chain(usual.iter().copied())
}

#[cfg(test)]
mod tests {
    //! That what is made beforehand is what would be made when it is asked for.
    use super::*;
    use crate::name::{Name, NameBuf};
    use crate::zone::file;

    fn order(text: &str, byte_count_max: usize) -> Order {
        let mut apex = NameBuf::new();
        apex.assign(Name::from_wire(b"\x07example\x00").unwrap());
        let zone = file::read_text("test", text.as_bytes(), apex.as_name()).unwrap().zone;
        Order {
            catalog: Arc::new(Catalog::new().with(Arc::new(zone))),
            policy: Policy::default(),
            size_max: 1232,
            byte_count_max,
            seed: 7,
            slot: Arc::default(),
        }
    }

    const HEAD: &str = "$TTL 60\n@ SOA ns admin 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n";

    fn find(store: &mut Store, name: &[u8], rtype: Rtype, wants_dnssec: bool) -> Option<Vec<u8>> {
        let message = [&[0; HEADER_LEN], name].concat();
        let mut words = [0; NAME_WORD_COUNT_MAX];
        let key = Key::new(7, &message, name.len(), rtype.0, wants_dnssec, &mut words).unwrap();
        store.find(&key, &words).map(|ready| ready.sections.octets.to_vec())
    }

    #[test]
    fn every_name_is_ready_but_wildcards_and_what_is_below_a_cut() {
        let text = format!("{HEAD}www CNAME ns\nfar NS ns.far\nns.far A 192.0.2.9\n*.any A 192.0.2.8\n");
        let order = order(&text, 1 << 20);
        let slot = Arc::clone(&order.slot);
        let mut store = order.fill().unwrap();
        let mut has = |name: &[u8], rtype| {
            let [plain, dnssec] = [false, true].map(|dnssec| find(&mut store, name, rtype, dnssec).is_some());
            assert_eq!(plain, dnssec);
            plain
        };
        assert!(has(b"\x07example\x00", Rtype::SOA) && has(b"\x07example\x00", Rtype::NS));
        assert!(has(b"\x03www\x07example\x00", Rtype::A) && has(b"\x03www\x07example\x00", Rtype::CNAME));
        assert!(has(b"\x03far\x07example\x00", Rtype::A) && has(b"\x03far\x07example\x00", Rtype::NS));
        assert!(!has(b"\x02ns\x03far\x07example\x00", Rtype::A));
        assert!(!has(b"\x01*\x03any\x07example\x00", Rtype::A));
        assert_eq!(store.counters().filled_count, store.counters().entry_count);
        drop(slot);
    }

    #[test]
    fn an_answer_is_what_the_engine_makes() {
        let order = order(HEAD, 1 << 20);
        let slot = Arc::clone(&order.slot);
        let mut store = order.fill().unwrap();
        let name = b"\x02ns\x07example\x00";
        let question = Question { name, qtype: 1, wants_dnssec: true };
        let mut out = [0; 4096];
        let made = zones::find(&order.catalog, &order.policy, &question, 1232, &mut out).unwrap();
        assert_eq!(find(&mut store, name, Rtype::A, true).unwrap(), made.sections.octets);
        drop(slot);
    }

    #[test]
    fn a_zone_that_does_not_fit_is_left_out_whole() {
        let many: String = (0..10_000).map(|n| format!("h{n} A 192.0.2.1\n")).collect();
        let order = order(&format!("{HEAD}{many}"), 1 << 20);
        let slot = Arc::clone(&order.slot);
        assert_eq!(order.fill().unwrap().counters().entry_count, 0);
        drop(slot);
    }

    #[test]
    fn what_is_not_wanted_any_more_is_given_up() {
        let order = order(HEAD, 1 << 20);
        assert!(order.fill().is_none());
    }

    #[test]
    fn an_order_is_carried_out() {
        let orders = start().unwrap();
        let order = order(HEAD, 1 << 20);
        let slot = Arc::clone(&order.slot);
        orders.send(order).unwrap();
        let store = std::iter::from_fn(|| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            Some(slot.take())
        });
        let mut store = store.take(30_000).flatten().next().expect("made within thirty seconds");
        assert!(find(&mut store, b"\x02ns\x07example\x00", Rtype::A, false).is_some());
        assert!(slot.take().is_none());
    }
}
