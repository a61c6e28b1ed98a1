//! Who owns which 3-tuples: the rules, without any I/O. Time and randomness come in as arguments.
//!
//! ```text
//!   stack:        attach --> Held --owner's connection ends--> gone, its tuples with it
//!                              ^ reclaim(token)
//!                 restore --> Lost --10 s--> gone
//!   reservation:  reserve(uid) --bind by a stack of that uid--> the stack's --release--> reserved again
//!   service:      hold(name) --let_go--> gone                          in-daemon, never restored
//! ```
//! Invariants: two owners never have tuples one frame could match; a slot has one stack; a user never has more
//! than its quota; what is refused changes nothing.

mod state;

pub use state::StateError;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};
use tidegate_bpf::Tuple;

/// How long the owner of a lease that a restart interrupted may take to claim it back.
pub const RECLAIM_PATIENCE: Duration = Duration::from_secs(10);
/// Ports below it are given to privileged processes only (ip(7), `ip_unprivileged_port_start`).
const PORT_UNPRIVILEGED_MIN: u16 = 1024;

/// How a stack is attached, and with it how far it is isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Grade {
    /// An AF_XDP socket of its own on a queue of the NIC: memory apart, trusted to send.
    Queue = 2,
    /// An AF_XDP socket on a veth of its own, whose other end checks in the kernel what it sends.
    Veth = 3,
    /// Shared memory with a port of the daemon, whose pipeline checks what it sends.
    Memif = 4,
}

impl Grade {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Queue, Self::Veth, Self::Memif];

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grade| grade.name() == name)
    }

    /// The one of that number.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|grade| *grade as u8 == number)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Veth => "veth",
            Self::Memif => "memif",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What proves that a lease is one's own.
pub type Token = [u8; 16];

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applicant {
    /// The user.
    pub uid: u32,
    /// The process, for messages.
    pub pid: u32,
    /// It may have ports below 1024: CAP_NET_BIND_SERVICE.
    pub may_bind_low: bool,
    /// It may have raw sockets on the NIC: CAP_NET_RAW.
    pub may_send_raw: bool,
}

/// How much there is to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Stacks at once.
    pub slot_count: u32,
    /// Tuples at once.
    pub tuple_count_max: usize,
    /// Stacks of a user other than root.
    pub stacks_per_uid: u32,
    /// Tuples of a user other than root.
    pub tuples_per_uid: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { slot_count: 1024, tuple_count_max: 4096, stacks_per_uid: 64, tuples_per_uid: 256 }
    }
}

/// What a stack wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The NIC, by its name.
    pub device: String,
    /// How to be attached to it.
    pub grade: Grade,
    /// The queue of the NIC, for [`Grade::Queue`].
    pub queue: Option<u32>,
}

/// A stack that is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its user.
    pub uid: u32,
    /// Its process; 0 where it is not known, after a restart.
    pub pid: u32,
    /// What it asked for.
    pub wanted: Wanted,
    /// What it may claim the lease back with.
    pub token: Token,
    /// Nobody has claimed it back since a restart: it goes then.
    pub lost_until: Option<Instant>,
}

/// Whose a tuple is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A service of the daemon's.
    Service(String),
    /// The stack in that slot.
    Stack(u32),
    /// Kept for a user's next stack that wants it.
    Reserved,
}

/// A reservation: who may bind a tuple though its port is privileged or others want it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The user.
    pub uid: u32,
    /// The only grade that will do.
    pub grade: Option<Grade>,
}

/// A tuple that is given away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The NIC.
    pub device: String,
    /// Whose it is.
    pub owner: Owner,
    /// Whose it is again when the owner lets go.
    pub reservation: Option<Reservation>,
}

/// Why something was not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Somebody has the tuple, or one that the same frames match.
    #[error("{wanted} is taken: {holder}; choose another port or address")]
    Taken {
        /// What was wanted.
        wanted: Tuple,
        /// Who has what.
        holder: String,
    },
    /// The port needs a right.
    #[error(
        "{0} has a port below 1024, which needs CAP_NET_BIND_SERVICE, or a reservation: tidegate mux bind --uid N"
    )]
    LowPort(Tuple),
    /// Port zero is no port.
    #[error("{0} has no port: name one from 1 to 65535")]
    NoPort(Tuple),
    /// The grade needs a right.
    #[error(
        "grade queue is for processes that may have raw sockets (CAP_NET_RAW): choose grade veth or memif"
    )]
    Raw,
    /// The queue is another stack's.
    #[error("queue {queue} of {device} is stack {slot}'s: choose another queue, or grade veth")]
    QueueTaken {
        /// The NIC.
        device: String,
        /// The queue.
        queue: u32,
        /// Whose it is.
        slot: u32,
    },
    /// All of a user's share is used up.
    #[error("user {uid} has {count} {what} already, which is the most: release one first")]
    Quota {
        /// The user.
        uid: u32,
        /// How many there are.
        count: u32,
        /// Of what.
        what: &'static str,
    },
    /// All there is is used up.
    #[error("all {count} places for {what} are taken: release one first")]
    Full {
        /// How many there are.
        count: usize,
        /// Of what.
        what: &'static str,
    },
    /// No lease has that token.
    #[error(
        "no lease of user {uid} has that token: it was released, or waited for longer than 10 s; attach anew"
    )]
    NoLease {
        /// The user.
        uid: u32,
    },
    /// The tuple is not the asker's.
    #[error("{0} is not this stack's: there is nothing to release")]
    NotOwn(Tuple),
    /// A reservation asks for another grade.
    #[error("{wanted} is reserved for a stack of grade {grade}: attach with that")]
    OtherGrade {
        /// What was wanted.
        wanted: Tuple,
        /// What will do.
        grade: Grade,
    },
}

type Result<T, E = Refusal> = std::result::Result<T, E>;

/// All that is given away.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    limits: Limits,
    stacks: BTreeMap<u32, Stack>,
    bindings: BTreeMap<Tuple, Binding>,
}

impl Registry {
    /// One with nothing given away.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Gives a stack the first free slot. The same holds for all later ones: a slot is used again when its
    /// stack is gone.
    pub fn attach(&mut self, who: &Applicant, wanted: Wanted, token: Token) -> Result<u32> {
        self.check_attach(who, &wanted)?;
        let free = (0..self.limits.slot_count).find(|slot| !self.stacks.contains_key(slot));
        let count = self.limits.slot_count as usize;
        let slot = free.ok_or(Refusal::Full { count, what: "stacks" })?;
        self.stacks.insert(slot, Stack { uid: who.uid, pid: who.pid, wanted, token, lost_until: None });
        Ok(slot)
    }

    fn check_attach(&self, who: &Applicant, wanted: &Wanted) -> Result<()> {
        if wanted.grade == Grade::Queue {
            if !who.may_send_raw {
                return Err(Refusal::Raw);
            }
            let is_there = |stack: &Stack| stack.wanted == *wanted;
            if let Some((slot, _)) = self.stacks.iter().find(|(_, stack)| is_there(stack)) {
                let (device, queue, slot) = (wanted.device.clone(), wanted.queue.unwrap_or(0), *slot);
                return Err(Refusal::QueueTaken { device, queue, slot });
            }
        }
        let count = self.stacks.values().filter(|stack| stack.uid == who.uid).count() as u32;
        check_quota(who.uid, count, self.limits.stacks_per_uid, "stacks")
    }

    /// Gives an owner back what a restart interrupted: the slot.
    pub fn reclaim(&mut self, who: &Applicant, token: &Token) -> Result<u32> {
        let is_meant =
            |stack: &Stack| stack.token == *token && stack.uid == who.uid && stack.lost_until.is_some();
        let found = self.stacks.iter_mut().find(|(_, stack)| is_meant(stack));
        let (slot, stack) = found.ok_or(Refusal::NoLease { uid: who.uid })?;
        stack.lost_until = None;
        stack.pid = who.pid;
        Ok(*slot)
    }

    /// Gives the stack in `slot` a tuple. It may have had it before, which is no error.
    pub fn bind(&mut self, slot: u32, who: &Applicant, tuple: Tuple) -> Result<()> {
        let Some(stack) = self.stacks.get(&slot) else { return Err(Refusal::NoLease { uid: who.uid }) };
        let tuple = canonical(tuple);
        let reservation = self.reservation(stack, tuple)?;
        check_port(tuple, who.may_bind_low || reservation.is_some())?;
        let is_own = |binding: &Binding| {
            binding.owner == Owner::Stack(slot)
                || (binding.owner == Owner::Reserved && binding.reservation == reservation)
        };
        self.check_clash(tuple, is_own)?;
        let device = stack.wanted.device.clone();
        if !self.bindings.get(&tuple).is_some_and(|binding| binding.owner == Owner::Stack(slot)) {
            self.check_tuple_quota(stack.uid)?;
            if reservation.is_none() {
                self.check_room()?;
            }
        }
        self.bindings.insert(tuple, Binding { device, owner: Owner::Stack(slot), reservation });
        Ok(())
    }

    /// The reservation under which a stack may have `tuple`.
    fn reservation(&self, stack: &Stack, tuple: Tuple) -> Result<Option<Reservation>> {
        let reserved = self.bindings.get(&tuple).filter(|binding| binding.device == stack.wanted.device);
        let Some(reservation) = reserved.and_then(|binding| binding.reservation) else { return Ok(None) };
        match reservation.grade {
            _ if reservation.uid != stack.uid => Ok(None),
            Some(grade) if grade != stack.wanted.grade => Err(Refusal::OtherGrade { wanted: tuple, grade }),
            _ => Ok(Some(reservation)),
        }
    }

    /// Takes a tuple from the stack in `slot`.
    pub fn unbind(&mut self, slot: u32, tuple: Tuple) -> Result<()> {
        let tuple = canonical(tuple);
        match self.bindings.get(&tuple) {
            Some(binding) if binding.owner == Owner::Stack(slot) => {
                self.give_back(tuple);
                Ok(())
            }
            _ => Err(Refusal::NotOwn(tuple)),
        }
    }

    /// Ends a lease; the tuples that went with it come back.
    pub fn detach(&mut self, slot: u32) -> Vec<Tuple> {
        self.stacks.remove(&slot);
        let tuples = self.tuples_of(&Owner::Stack(slot));
        tuples.iter().for_each(|tuple| self.give_back(*tuple));
        tuples
    }

    /// Leaves a tuple to whom it is reserved for, or to nobody.
    fn give_back(&mut self, tuple: Tuple) {
        match self.bindings.get_mut(&tuple) {
            Some(binding) if binding.reservation.is_some() => binding.owner = Owner::Reserved,
            _ => drop(self.bindings.remove(&tuple)),
        }
    }

    /// Ends the leases that nobody has claimed back in time; their slots.
    pub fn expire(&mut self, now: Instant) -> Vec<(u32, Vec<Tuple>)> {
        let is_over = |stack: &Stack| stack.lost_until.is_some_and(|until| until <= now);
        let over = self.stacks.iter().filter(|(_, stack)| is_over(stack)).map(|(slot, _)| *slot);
        let over: Vec<u32> = over.collect();
        over.into_iter().map(|slot| (slot, self.detach(slot))).collect()
    }

    /// When the next lease is over unless it is claimed back.
    pub fn next_expiry(&self) -> Option<Instant> {
        self.stacks.values().filter_map(|stack| stack.lost_until).min()
    }

    /// Keeps a tuple for stacks of a user.
    pub fn reserve(&mut self, device: &str, tuple: Tuple, reservation: Reservation) -> Result<()> {
        let tuple = canonical(tuple);
        check_port(tuple, true)?;
        self.check_clash(tuple, |_| false)?;
        self.check_room()?;
        let (device, owner) = (device.to_owned(), Owner::Reserved);
        self.bindings.insert(tuple, Binding { device, owner, reservation: Some(reservation) });
        Ok(())
    }

    /// Gives tuples to a service of the daemon's: all of them, or none.
    pub fn hold(&mut self, device: &str, service: &str, tuples: &[Tuple]) -> Result<()> {
        let owner = Owner::Service(service.to_owned());
        for tuple in tuples {
            self.check_clash(canonical(*tuple), |binding| binding.owner == owner)?;
        }
        for tuple in tuples {
            let (device, owner) = (device.to_owned(), owner.clone());
            self.bindings.insert(canonical(*tuple), Binding { device, owner, reservation: None });
        }
        Ok(())
    }

    /// Takes a service's tuples back.
    pub fn let_go(&mut self, tuples: &[Tuple]) {
        tuples.iter().for_each(|tuple| drop(self.bindings.remove(&canonical(*tuple))));
    }

    /// Takes a tuple from a stack and from whom it was reserved for; whose it was. A service's stays.
    pub fn release(&mut self, tuple: Tuple) -> Option<Binding> {
        let tuple = canonical(tuple);
        match self.bindings.get(&tuple)?.owner {
            Owner::Service(_) => None,
            Owner::Stack(_) | Owner::Reserved => self.bindings.remove(&tuple),
        }
    }

    /// The stacks, by slot.
    pub fn stacks(&self) -> &BTreeMap<u32, Stack> {
        &self.stacks
    }

    /// The tuples that are given away.
    pub fn bindings(&self) -> &BTreeMap<Tuple, Binding> {
        &self.bindings
    }

    /// What an owner has.
    pub fn tuples_of(&self, owner: &Owner) -> Vec<Tuple> {
        let own = self.bindings.iter().filter(|(_, binding)| binding.owner == *owner);
        own.map(|(tuple, _)| *tuple).collect()
    }

    /// Whether anything on that NIC is a stack's.
    pub fn uses(&self, device: &str) -> bool {
        self.stacks.values().any(|stack| stack.wanted.device == device)
    }

    /// Who an owner is, in words.
    pub fn describe(&self, binding: &Binding) -> String {
        match (&binding.owner, binding.reservation) {
            (Owner::Service(name), _) => format!("service {name} has it"),
            (Owner::Stack(slot), _) => match self.stacks.get(slot) {
                Some(stack) => format!("stack {slot} has it (user {}, process {})", stack.uid, stack.pid),
                None => format!("stack {slot} has it"),
            },
            (Owner::Reserved, Some(reservation)) => format!("it is reserved for user {}", reservation.uid),
            (Owner::Reserved, None) => "it is reserved".to_owned(),
        }
    }

    /// Refuses what the same frames would match as somebody else's.
    fn check_clash(&self, wanted: Tuple, is_own: impl Fn(&Binding) -> bool) -> Result<()> {
        let clash =
            self.bindings.iter().find(|(tuple, binding)| clashes(**tuple, wanted) && !is_own(binding));
        let Some((tuple, binding)) = clash else { return Ok(()) };
        let holder = match self.describe(binding) {
            who if *tuple == wanted => who,
            who => format!("{who} as {tuple}"),
        };
        Err(Refusal::Taken { wanted, holder })
    }

    fn check_tuple_quota(&self, uid: u32) -> Result<()> {
        let is_of_user = |binding: &&Binding| match binding.owner {
            Owner::Stack(slot) => self.stacks.get(&slot).is_some_and(|stack| stack.uid == uid),
            Owner::Reserved | Owner::Service(_) => false,
        };
        let count = self.bindings.values().filter(is_of_user).count() as u32;
        check_quota(uid, count, self.limits.tuples_per_uid, "tuples")
    }

    fn check_room(&self) -> Result<()> {
        let count = self.limits.tuple_count_max;
        if self.bindings.len() >= count { Err(Refusal::Full { count, what: "tuples" }) } else { Ok(()) }
    }
}

/// Root's share is everything.
fn check_quota(uid: u32, count: u32, count_max: u32, what: &'static str) -> Result<()> {
    if uid == 0 || count < count_max { Ok(()) } else { Err(Refusal::Quota { uid, count, what }) }
}

fn check_port(tuple: Tuple, may_be_low: bool) -> Result<()> {
    match tuple.port {
        0 => Err(Refusal::NoPort(tuple)),
        port if port < PORT_UNPRIVILEGED_MIN && !may_be_low => Err(Refusal::LowPort(tuple)),
        _ => Ok(()),
    }
}

/// An IPv4-mapped IPv6 address means the IPv4 one.
fn canonical(tuple: Tuple) -> Tuple {
    Tuple { address: tuple.address.to_canonical(), ..tuple }
}

/// Whether a frame could match both.
fn clashes(one: Tuple, other: Tuple) -> bool {
    let same_version = one.address.is_ipv4() == other.address.is_ipv4();
    let meets =
        one.address == other.address || one.address.is_unspecified() || other.address.is_unspecified();
    one.protocol == other.protocol && one.port == other.port && same_version && meets
}

#[cfg(test)]
mod tests;
