//! The side of a server that other servers see: what is served, and the threads that tell and ask.

use super::client::ClientPatience;
use super::clock::Clock;
use super::notify::sender;
use super::relations::Relations;
use super::secondary::{self, Event};
use super::served::Served;
use crate::desk::{Desk, DeskConfig};
use crate::name::Name;
use crate::udp::beforehand::{self, Order};
use crossbeam_channel::Sender;
use std::sync::Arc;

/// A server's dealings with other servers. When it is dropped its threads end.
pub struct Exchange {
    served: Arc<Served>,
    events: Sender<Event>,
    orders: Sender<Order>,
}

impl Exchange {
    /// Serves the copies of zones that are kept on disk, and keeps them current from now on. Zones of our own are
    /// [`Served::publish`]ed by whoever reads them. `seed` is random.
    pub fn start(relations: Relations, patience: ClientPatience, seed: u64) -> std::io::Result<Self> {
        let clock = Clock::start();
        let served = Served::new(relations, sender::start(clock, seed)?, clock);
        let events = secondary::start(&served, clock, patience, !seed)?;
        Ok(Self { served, events, orders: beforehand::start()? })
    }

    /// What is served.
    pub const fn served(&self) -> &Arc<Served> {
        &self.served
    }

    /// A worker's desk.
    pub fn desk(&self, config: Arc<DeskConfig>) -> Desk {
        Desk::new(Arc::clone(&self.served), config, self.events.clone(), self.orders.clone())
    }

    /// Goes on under other relations. Copies of zones that are new among them are taken up; those that are gone
    /// are no longer kept current, and served until they are [`Served::forget`]ten.
    pub fn set_relations(&self, relations: Relations) {
        self.served.set_relations(relations);
        self.send(Event::Reconfigured);
    }

    /// Has a copied zone checked against its primaries now.
    pub fn check(&self, apex: &Name) {
        self.send(Event::Check(apex.to_owned()));
    }

    fn send(&self, event: Event) {
        // The thread is there until this is dropped.
        let _ = self.events.send(event);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.send(Event::Stop);
    }
}
