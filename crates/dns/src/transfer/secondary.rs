//! The thread that keeps copies of zones current: it knows when each is to be checked, and has that done.
//!
//! ```text
//!   timers, NOTIFY, command --due--> check (a thread for each, COUNT_MAX at once)
//!                                       |  client: each primary in turn
//!        <------- Done ----------------+-> publish, keep on disk
//!   expired --> withdrawn: SERVFAIL until a primary answers again (RFC 1034 section 4.3.5)
//! ```
//! Invariant: a zone is checked by one thread at a time; a NOTIFY that comes meanwhile has it checked again.

mod schedule;

use super::client::{self, ClientPatience, Fetched};
use super::clock::Clock;
use super::inbound::Received;
use super::keep::{self, Kept};
use super::relations::Copied;
use super::served::Served;
use crate::name::{Name, NameBuf};
use crate::zone::Lack;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use hashbrown::HashMap;
use schedule::{Confirmed, Schedule};
use std::sync::Arc;
use tidegate_base::{Duration, Instant, Rng};

/// How many zones are checked at once.
const CHECK_COUNT_MAX: usize = 8;
/// The shortest time between checks that somebody asked for.
const NOTIFY_INTERVAL: Duration = Duration::from_secs(1);
/// How many events may wait. News that come in such a flood are known already.
const EVENT_COUNT_MAX: usize = 1024;
/// The longest sleep: nothing depends on it.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

/// What the thread is told.
pub(crate) enum Event {
    /// Somebody who should know says that a zone has changed, or the operator asks.
    Check(NameBuf),
    /// A check is over.
    Done(NameBuf, Outcome),
    /// The relations are others now.
    Reconfigured,
    /// It ends.
    Stop,
}

/// How a check went.
pub(crate) enum Outcome {
    /// What is served is what a primary has.
    Confirmed(Confirmed),
    /// No primary was of use.
    Failed,
}

/// One copied zone.
struct Task {
    schedule: Schedule,
    is_busy: bool,
    /// When the last check began.
    checked: Instant,
    /// It was told to check while it did.
    again: bool,
    is_withdrawn: bool,
}

impl Task {
    /// Has it checked now; not more often than each second, for a NOTIFY is easily forged.
    fn heed(&mut self, now: Instant) {
        self.schedule.on_notify(now.max(self.checked + NOTIFY_INTERVAL));
    }
}

/// All copied zones.
struct Keeper {
    served: Arc<Served>,
    clock: Clock,
    patience: ClientPatience,
    events: Sender<Event>,
    tasks: HashMap<NameBuf, Task>,
    busy_count: usize,
    rng: Rng,
}

/// Reads what is kept of each copied zone, so that it is served from the start, and starts the thread.
pub(crate) fn start(
    served: &Arc<Served>,
    clock: Clock,
    patience: ClientPatience,
    seed: u64,
) -> std::io::Result<Sender<Event>> {
    let (events, received) = crossbeam_channel::bounded(EVENT_COUNT_MAX);
    let mut keeper = Keeper {
        served: Arc::clone(served),
        clock,
        patience,
        events: events.clone(),
        tasks: HashMap::new(),
        busy_count: 0,
        rng: Rng::new(seed),
    };
    keeper.take_up();
    let thread = std::thread::Builder::new().name("secondary".to_owned());
    thread.spawn(move || keeper.run(&received))?;
    Ok(events)
}

impl Keeper {
    fn run(mut self, events: &Receiver<Event>) {
        loop {
            let now = self.clock.now();
            let sleep = self.next_deadline().since(now).min(SLEEP_MAX);
            match events.recv_timeout(sleep.into()) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(event) => self.on_event(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.withdraw_expired();
            self.check_due();
        }
    }

    fn on_event(&mut self, event: Event) {
        let now = self.clock.now();
        match event {
            Event::Check(apex) => {
                if let Some(task) = self.tasks.get_mut(&*apex) {
                    task.heed(now);
                    task.again = task.is_busy;
                }
            }
            Event::Done(apex, outcome) => self.on_done(now, &apex, &outcome),
            Event::Reconfigured => self.take_up(),
            Event::Stop => {}
        }
    }

    fn on_done(&mut self, now: Instant, apex: &Name, outcome: &Outcome) {
        self.busy_count -= 1;
        let Some(task) = self.tasks.get_mut(apex) else { return };
        task.is_busy = false;
        match outcome {
            Outcome::Confirmed(confirmed) => {
                task.is_withdrawn = false;
                task.schedule.on_confirmed(now, confirmed, self.rng.below(1000));
                self.served.set_expiry(apex, Some(task.schedule.expires()));
                if !confirmed.is_new {
                    let age = task.schedule.age(now, confirmed.times.expire);
                    keep_confirmed(&self.served, apex, age);
                }
            }
            Outcome::Failed => task.schedule.on_failed(now),
        }
        if std::mem::take(&mut task.again) {
            task.heed(now);
        }
    }

    /// Takes up the zones that are new among the relations, and leaves those that are gone.
    fn take_up(&mut self) {
        let relations = self.served.relations();
        let is_copied = |apex: &Name| relations.of(apex).is_some_and(|relation| relation.copied.is_some());
        for (apex, _) in self.tasks.extract_if(|apex, _| !is_copied(apex)) {
            self.served.set_expiry(&apex, None);
        }
        for (apex, copied) in relations.copied() {
            if !self.tasks.contains_key(apex) {
                let task = self.take_up_one(apex, copied);
                self.tasks.insert(apex.to_owned(), task);
            }
        }
    }

    fn take_up_one(&self, apex: &Name, copied: &Copied) -> Task {
        let kept = keep::read(&copied.file, apex).unwrap_or_else(|error| {
            let file = copied.file.display();
            tracing::warn!("the copy of {apex} in {file} is not usable, all of it is asked for: {error}");
            None
        });
        let now = self.clock.now();
        let schedule = match &kept {
            Some(kept) => Schedule::kept(now, kept.zone.soa(), kept.age),
            None => Schedule::missing(now),
        };
        let is_withdrawn = kept.is_none() || schedule.is_expired(now);
        match kept {
            None => self.served.withdraw(apex, Lack::Awaited),
            Some(_) if is_withdrawn => self.served.withdraw(apex, Lack::Unusable),
            Some(Kept { zone, .. }) => {
                self.served.set_expiry(apex, Some(schedule.expires()));
                self.served.publish(vec![Arc::new(zone)]);
            }
        }
        Task { schedule, is_busy: false, checked: Instant::ZERO, again: false, is_withdrawn }
    }

    fn next_deadline(&self) -> Instant {
        let can_check = self.busy_count < CHECK_COUNT_MAX;
        let next = |task: &Task| {
            let check =
                if can_check && !task.is_busy { task.schedule.next_check() } else { Instant::FAR_FUTURE };
            let expiry = if task.is_withdrawn { Instant::FAR_FUTURE } else { task.schedule.expires() };
            check.min(expiry)
        };
        self.tasks.values().map(next).min().unwrap_or(Instant::FAR_FUTURE)
    }

    fn withdraw_expired(&mut self) {
        let now = self.clock.now();
        let expired =
            self.tasks.iter_mut().filter(|(_, task)| !task.is_withdrawn && task.schedule.is_expired(now));
        for (apex, task) in expired {
            tracing::warn!("{apex} has expired: no primary has confirmed it for as long as its SOA allows");
            task.is_withdrawn = true;
            self.served.withdraw(apex, Lack::Unusable);
        }
    }

    fn check_due(&mut self) {
        let now = self.clock.now();
        while self.busy_count < CHECK_COUNT_MAX {
            let is_due = |task: &Task| !task.is_busy && task.schedule.next_check() <= now;
            let Some((apex, task)) = self.tasks.iter_mut().find(|(_, task)| is_due(task)) else { return };
            task.is_busy = true;
            task.checked = now;
            let apex = *apex;
            self.busy_count += 1;
            let (served, patience, events) = (Arc::clone(&self.served), self.patience, self.events.clone());
            let thread = std::thread::Builder::new().name("transfer".to_owned());
            let check = move || {
                let outcome = check(&served, &apex, patience);
                // Nobody listens any more when the service ends.
                let _ = events.send(Event::Done(apex, outcome));
            };
            if let Err(error) = thread.spawn(check) {
                tracing::warn!("could not start a thread to check {apex}: {error}");
                self.on_done(now, &apex, &Outcome::Failed);
            }
        }
    }
}

/// Notes on disk that a copy was confirmed, `age` ago.
fn keep_confirmed(served: &Served, apex: &Name, age: Duration) {
    let relations = served.relations();
    let Some(copied) = relations.of(apex).and_then(|relation| relation.copied.as_ref()) else { return };
    if let Err(error) = keep::confirm(&copied.file, age) {
        tracing::debug!("{}: {error}", copied.file.display());
    }
}

/// Asks the primaries of a zone, one after the other, until one is of use.
fn check(served: &Served, apex: &Name, patience: ClientPatience) -> Outcome {
    let relations = served.relations();
    let Some(copied) = relations.of(apex).and_then(|relation| relation.copied.as_ref()) else {
        return Outcome::Failed;
    };
    for primary in &copied.primaries {
        let base = served.zone(apex);
        let fetched = client::fetch(primary, apex, base.as_ref(), patience).inspect_err(|error| {
            tracing::warn!("{apex} from {}: {error}", primary.address);
        });
        let Ok(Fetched { received, expire_s }) = fetched else { continue };
        let (zone, is_new) = match (received, base) {
            (Received::Zone(zone), _) => (Arc::new(*zone), true),
            (Received::UpToDate, Some(base)) => (base, false),
            (Received::UpToDate, None) => continue,
        };
        let confirmed = Confirmed { times: *zone.soa(), expire_s, is_new };
        if is_new {
            tracing::info!("{apex}: version {} from {}", zone.serial(), primary.address);
            if let Err(error) = keep::write(&copied.file, &zone, confirmed.age()) {
                let file = copied.file.display();
                tracing::warn!("{apex} is served, and could not be kept in {file}: {error}");
            }
            served.publish(vec![zone]);
        }
        return Outcome::Confirmed(confirmed);
    }
    Outcome::Failed
}

#[cfg(test)]
mod tests;
