//! What the desk gives those who keep answers ready.

use super::{Asker, Desk, Way};
use crate::answer::Family;
use crate::cookie::CookieVerdict;
use crate::message::{Edns, Opt};
use crate::store::Store;
use crate::tcp::Answered;
use crate::udp::beforehand::Order;
use crate::udp::{self, Found, Source, Wanted, Whole, zones};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tidegate_base::Instant;

impl Source for Desk {
    fn has_changed(&mut self) -> bool {
        let catalog = self.catalog.load();
        let has_changed = !Arc::ptr_eq(catalog, &self.settled);
        if has_changed {
            self.settled = Arc::clone(catalog);
        }
        has_changed
    }

    #[cold]
    fn fill(&mut self, wanted: &Wanted) {
        let Wanted { size_max, byte_count_max, seed } = *wanted;
        self.slot = Arc::default();
        let (catalog, slot) = (Arc::clone(&self.settled), Arc::clone(&self.slot));
        let policy = self.config.policy.clone();
        // Without the thread, which is gone only when all ends, answers are made when they are asked for.
        let _ = self.orders.send(Order { catalog, policy, size_max, byte_count_max, seed, slot });
    }

    #[inline]
    fn take_filled(&mut self) -> Option<Box<Store>> {
        self.slot.take()
    }

    #[inline]
    fn family(&mut self, question: &udp::Question<'_>) -> Option<Family> {
        zones::family(&self.settled, question)
    }

    fn find<'a>(
        &mut self,
        question: &udp::Question<'_>,
        size_max: usize,
        out: &'a mut [u8],
    ) -> Option<Found<'a>> {
        zones::find(&self.settled, &self.config.policy, question, size_max, out)
    }

    #[inline]
    fn opt(&mut self, now: Instant, edns: &Edns<'_>, client: IpAddr) -> (Opt<'_>, Option<CookieVerdict>) {
        let Self { config, wall_clock, .. } = self;
        config.opt(edns, client, || wall_clock.unix_s(now))
    }

    fn answer(&mut self, query: &[u8], peer: SocketAddr, size_max: usize, out: &mut [u8]) -> Option<Whole> {
        match Self::answer(self, query, Asker { peer, way: Way::Udp { size_max } }, out) {
            Answered::Message(len) => Some(Whole { len, cookie: self.cookie }),
            Answered::Transfer(_) | Answered::Hopeless => None,
        }
    }
}
