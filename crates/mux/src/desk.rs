//! The daemon's side of stacks that are processes of their own: what they ask for, and what the kernel is told of it.
//!
//! ```text
//!   Event --on_event--> registry says yes --> placeholder in the host --> program: tuple -> slot --> state file --> Answer
//!   lease ends -------> program forgets its tuples, its veth or memif goes, its ports are the host's again
//! ```
//! Calls that stacks of grade memif may be concerned by are given the [`Carrier`] of their frames.
//!
//! Invariant: what is written to the state file is what the kernel has been told.

use crate::carrier::Carrier;
use crate::door::Door;
use crate::error::{Attempt, MuxError, Result, wrong_input};
use crate::ground::{Ground, placeholder};
use crate::message::{Answer, Place, Request};
use crate::nic::{Nic, find_link};
use crate::pins::PinRoot;
use crate::registry::{
    Applicant, Binding, Grade, Limits, Owner, RECLAIM_PATIENCE, Registry, Reservation, Stack, Token, Wanted,
};
use crate::server::{Event, Lease, Line};
use crate::vport::Vport;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tidegate_bpf::{ModeChoice, Rate, StackCounters, Steering, Tuple, XdpProgram};
use tidegate_sys::netlink::Netlink;
use tidegate_sys::random;
use tidegate_sys::socket::Placeholder;
use tidegate_sys::xsk::XskSocket;

/// What the kernel was told of a stack.
struct Attached {
    nic: Arc<Nic>,
    way: Way,
}

/// How a stack's frames come and go.
enum Way {
    Queue,
    Veth(Vport),
    Memif(Door),
}

impl Attached {
    fn steering(&self, slot: u32) -> Steering {
        match self.way {
            Way::Veth(_) => Steering::Device { slot },
            Way::Queue => Steering::SlotSocket { slot },
            Way::Memif(_) => Steering::Socket,
        }
    }

    const fn is_carried(&self) -> bool {
        matches!(self.way, Way::Memif(_))
    }
}

/// A stack, for whoever shows it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its slot.
    pub slot: u32,
    /// Who it is.
    pub stack: Stack,
    /// What the program counted for it; nothing where that cannot be read.
    pub counters: Option<StackCounters>,
}

/// Stacks and what they have.
pub struct Desk {
    ground: Ground,
    leases: BTreeMap<Lease, u32>,
    attached: BTreeMap<u32, Attached>,
    placeholders: BTreeMap<Tuple, Placeholder>,
    state: PathBuf,
    /// What each stack may send, but for those of grade queue, which are trusted.
    rate: Option<Rate>,
}

impl Desk {
    /// Goes on where the state file says that an earlier daemon was, if there is one. Programs are pinned below
    /// `pin_root`, which is in a bpf file system, and which no other daemon has. No stack sends more than `rate`. Needs what XDP and network namespaces need.
    pub fn open(
        state: PathBuf,
        pin_root: PathBuf,
        rate: Option<Rate>,
        carrier: &mut dyn Carrier,
    ) -> Result<Self> {
        // First of all: a second daemon is refused by it before it touches what the first one has.
        let pin_root = PinRoot::claim(pin_root)?;
        let registry = match fs::read_to_string(&state) {
            Ok(text) => Registry::restore(Limits::default(), &text, Instant::now())
                .attempting(|| format!("could not read {}", state.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Registry::new(Limits::default()),
            Err(error) => return Err(error).attempting(|| format!("could not read {}", state.display())),
        };
        let ground = Ground::pinned(registry, pin_root);
        let (leases, attached, placeholders) = Default::default();
        let mut desk = Self { ground, leases, attached, placeholders, state, rate };
        desk.go_on(carrier);
        desk.save()?;
        Ok(desk)
    }

    /// The NICs and the registry, for services.
    pub fn ground_mut(&mut self) -> &mut Ground {
        &mut self.ground
    }

    /// Takes over what an earlier daemon left; what cannot be is given back.
    fn go_on(&mut self, carrier: &mut dyn Carrier) {
        let stacks: Vec<(u32, Stack)> =
            self.ground.registry().stacks().iter().map(|(slot, stack)| (*slot, stack.clone())).collect();
        for (slot, stack) in stacks {
            match self.adopt(slot, &stack, carrier) {
                Ok(attached) => drop(self.attached.insert(slot, attached)),
                Err(error) => {
                    tracing::warn!("stack {slot} of user {} is not there any more: {error}", stack.uid);
                    self.ground.registry().detach(slot);
                }
            }
        }
        let bindings = self.ground.registry().bindings().clone();
        for (tuple, binding) in bindings {
            if let Err(error) = self.keep(tuple, &binding, carrier) {
                tracing::warn!("{tuple} is given back: {error}");
                self.ground.registry().release(tuple);
            }
        }
    }

    fn adopt(&mut self, slot: u32, stack: &Stack, carrier: &mut dyn Carrier) -> Result<Attached> {
        let nic = self.nic(&stack.wanted.device)?;
        let way = match stack.wanted.grade {
            Grade::Veth => {
                let gone = || MuxError::Occupied("its veth is gone".to_owned());
                let vport = nic.vports()?.adopt(slot)?.ok_or_else(gone)?;
                nic.program.set_rate(slot, self.rate)?;
                Way::Veth(vport)
            }
            Grade::Queue => Way::Queue,
            Grade::Memif => self.open_door(slot, stack.uid, &nic, carrier)?,
        };
        Ok(Attached { nic, way })
    }

    /// Has a stack's frames carried to and from a memif that its owner may connect to.
    fn open_door(&self, slot: u32, uid: u32, nic: &Arc<Nic>, carrier: &mut dyn Carrier) -> Result<Way> {
        let door = Door::build(&self.state.with_extension("memif"), slot)?;
        carrier.attach(nic, slot, &door.socket(), self.rate)?;
        match door.open_for(uid) {
            Ok(()) => Ok(Way::Memif(door)),
            Err(error) => {
                carrier.detach(slot);
                Err(error)
            }
        }
    }

    /// Has the host and the program know of a binding again.
    fn keep(&mut self, tuple: Tuple, binding: &Binding, carrier: &mut dyn Carrier) -> Result<()> {
        self.placeholders.insert(tuple, placeholder(tuple)?);
        let Owner::Stack(slot) = binding.owner else { return Ok(()) };
        let Some(attached) = self.attached.get(&slot) else { return Ok(()) };
        if attached.is_carried() {
            carrier.bind(slot, tuple)?;
        }
        // Without a gap: the host would end the stack's connections with resets.
        Ok(attached.nic.program.steer(tuple, attached.steering(slot))?)
    }

    /// Does what a stack asks, or ends its lease, and answers.
    pub fn on_event(&mut self, event: Event, carrier: &mut dyn Carrier) {
        let Event { lease, who, line, request } = event;
        let Some(request) = request else {
            if let Some(slot) = self.leases.remove(&lease) {
                self.detach(slot, carrier);
            }
            return;
        };
        let outcome = match request {
            Request::Attach { .. } if self.leases.contains_key(&lease) => {
                Err(wrong_input("this connection has its stack already: open another one for another stack"))
            }
            Request::Attach { wanted, token } => match self.attach(lease, &who, wanted, token, carrier) {
                Ok((place, socket)) => return self.tell(&line, &Answer::Attached(place), socket),
                Err(error) => Err(error),
            },
            Request::Bind(tuple) => {
                self.slot_of(lease).and_then(|slot| self.bind(slot, &who, tuple, carrier))
            }
            Request::Release(tuple) => self.slot_of(lease).and_then(|slot| self.unbind(slot, tuple, carrier)),
        };
        let answer = outcome.map_or_else(|error| Answer::Refused(error.to_string()), |()| Answer::Done);
        self.tell(&line, &answer, None);
    }

    fn tell(&self, line: &Line, answer: &Answer, socket: Option<OwnedFd>) {
        line.answer(answer, socket.as_ref().map(AsFd::as_fd));
    }

    fn slot_of(&self, lease: Lease) -> Result<u32> {
        self.leases.get(&lease).copied().ok_or_else(|| wrong_input("attach first, then bind"))
    }

    fn nic(&mut self, device: &str) -> Result<Arc<Nic>> {
        let link = find_link(&mut Netlink::open()?, device)?;
        self.ground.nic(link, ModeChoice::DriverThenGeneric)
    }

    fn attach(
        &mut self,
        lease: Lease,
        who: &Applicant,
        wanted: Wanted,
        token: Option<Token>,
        carrier: &mut dyn Carrier,
    ) -> Result<(Place, Option<OwnedFd>)> {
        if let Some(token) = token {
            let slot = self.ground.registry().reclaim(who, &token)?;
            self.leases.insert(lease, slot);
            return Ok((self.place(slot)?, None));
        }
        let nic = self.nic(&wanted.device)?;
        check_wanted(&wanted, &nic)?;
        let slot = self.ground.registry().attach(who, wanted.clone(), random::bytes()?)?;
        let made = self.make(slot, who.uid, &wanted, nic, carrier);
        let made = made.and_then(|socket| Ok((self.place(slot)?, socket)));
        if made.is_err() {
            self.detach(slot, carrier);
        } else {
            self.leases.insert(lease, slot);
            self.save()?;
        }
        made
    }

    /// Makes the stack's way in and out, and its socket.
    fn make(
        &mut self,
        slot: u32,
        uid: u32,
        wanted: &Wanted,
        nic: Arc<Nic>,
        carrier: &mut dyn Carrier,
    ) -> Result<Option<OwnedFd>> {
        let (way, socket) = match wanted.grade {
            Grade::Veth => {
                let (vport, socket) = nic.vports()?.create(slot)?;
                nic.program.set_rate(slot, self.rate)?;
                (Way::Veth(vport), Some(socket))
            }
            Grade::Queue => {
                nic.program.clear_slot(slot)?;
                let socket = XskSocket::open()?;
                nic.program.set_slot_socket(slot, wanted.queue.unwrap_or(0), &socket)?;
                (Way::Queue, Some(socket))
            }
            Grade::Memif => (self.open_door(slot, uid, &nic, carrier)?, None),
        };
        self.attached.insert(slot, Attached { nic, way });
        Ok(socket)
    }

    /// What the stack in `slot` must know.
    fn place(&self, slot: u32) -> Result<Place> {
        let (Some(attached), Some(stack)) =
            (self.attached.get(&slot), self.ground.registry().stacks().get(&slot).cloned())
        else {
            return Err(wrong_input("the stack is gone: attach anew"));
        };
        let Attached { nic, way } = attached;
        let (ifindex, queue, mtu) = match way {
            Way::Veth(_) => (XdpProgram::stack_end_ifindex(slot), 0, nic.vports()?.mtu()),
            Way::Queue => (nic.ifindex, stack.wanted.queue.unwrap_or(0), nic.mtu as u32),
            Way::Memif(_) => (nic.ifindex, 0, nic.mtu as u32),
        };
        let path = match way {
            Way::Memif(door) => door.socket().to_string_lossy().into_owned(),
            Way::Veth(_) | Way::Queue => String::new(),
        };
        let addresses = nic.addresses()?;
        let (token, grade, mac) = (stack.token, stack.wanted.grade, nic.mac.0);
        Ok(Place { slot, token, grade, mac, mtu, ifindex, queue, addresses, path })
    }

    fn bind(&mut self, slot: u32, who: &Applicant, tuple: Tuple, carrier: &mut dyn Carrier) -> Result<()> {
        let Some(attached) = self.attached.get(&slot) else {
            return Err(wrong_input("the stack is gone: attach anew"));
        };
        let (nic, is_carried) = (Arc::clone(&attached.nic), attached.is_carried());
        check_address(tuple, &nic.name, nic.ifindex)?;
        let before = self.ground.registry().clone();
        self.ground.registry().bind(slot, who, tuple)?;
        if before.tuples_of(&Owner::Stack(slot)).contains(&tuple) {
            return Ok(());
        }
        let steering = self.attached[&slot].steering(slot);
        let told = self.reserve_port(tuple).and_then(|()| match is_carried {
            true => carrier.bind(slot, tuple),
            false => Ok(()),
        });
        let told = told.and_then(|()| Ok(nic.program.register(tuple, steering)?));
        if let Err(error) = told {
            if is_carried {
                carrier.unbind(slot, tuple);
            }
            *self.ground.registry() = before;
            self.tidy();
            return Err(error);
        }
        self.save()
    }

    fn reserve_port(&mut self, tuple: Tuple) -> Result<()> {
        if let Entry::Vacant(place) = self.placeholders.entry(tuple) {
            place.insert(placeholder(tuple)?);
        }
        Ok(())
    }

    fn unbind(&mut self, slot: u32, tuple: Tuple, carrier: &mut dyn Carrier) -> Result<()> {
        self.ground.registry().unbind(slot, tuple)?;
        self.forget(slot, &[tuple], carrier);
        self.save()
    }

    /// Ends a lease.
    fn detach(&mut self, slot: u32, carrier: &mut dyn Carrier) {
        let tuples = self.ground.registry().detach(slot);
        self.forget(slot, &tuples, carrier);
        match self.attached.remove(&slot) {
            Some(Attached { nic, way: Way::Queue }) => drop(nic.program.unset_slot_socket(slot)),
            Some(Attached { way: Way::Memif(_), .. }) => carrier.detach(slot),
            Some(Attached { way: Way::Veth(_), .. }) | None => {}
        }
        if let Err(error) = self.save() {
            tracing::error!("{error}");
        }
    }

    /// Has the program, the carrier and the host forget what was a stack's.
    fn forget(&mut self, slot: u32, tuples: &[Tuple], carrier: &mut dyn Carrier) {
        if let Some(attached) = self.attached.get(&slot) {
            for tuple in tuples {
                if let Err(error) = attached.nic.program.unregister(*tuple) {
                    tracing::error!("{tuple} is still steered to stack {slot}: {error}");
                }
                if attached.is_carried() {
                    carrier.unbind(slot, *tuple);
                }
            }
        }
        self.tidy();
    }

    /// Gives ports back to the host that nobody has any more.
    fn tidy(&mut self) {
        let registry = self.ground.registry();
        let is_kept = |tuple: &Tuple| {
            let binding = registry.bindings().get(tuple);
            binding.is_some_and(|binding| !matches!(binding.owner, Owner::Service(_)))
        };
        self.placeholders.retain(|tuple, _| is_kept(tuple));
    }

    /// Ends leases that nobody has claimed back since the restart.
    pub fn expire(&mut self, now: Instant, carrier: &mut dyn Carrier) {
        let over = self.ground.registry().expire(now);
        for (slot, tuples) in over {
            tracing::warn!("nobody claimed stack {slot} back within {} s", RECLAIM_PATIENCE.as_secs());
            self.forget(slot, &tuples, carrier);
            self.detach(slot, carrier);
        }
    }

    /// When [`expire`](Self::expire) is due.
    pub fn next_expiry(&self) -> Option<Instant> {
        self.ground.registry().next_expiry()
    }

    /// Keeps a tuple of a NIC for a user's stacks.
    pub fn reserve(&mut self, device: &str, tuple: Tuple, reservation: Reservation) -> Result<()> {
        // Without the program on it, which costs some NICs a second without frames.
        let link = find_link(&mut Netlink::open()?, device)?;
        check_address(tuple, device, link.ifindex)?;
        self.ground.registry().reserve(device, tuple, reservation)?;
        if let Err(error) = self.reserve_port(tuple) {
            self.ground.registry().release(tuple);
            return Err(error);
        }
        self.save()
    }

    /// Takes a tuple from whoever has it, services aside.
    pub fn release(&mut self, tuple: Tuple, carrier: &mut dyn Carrier) -> Result<()> {
        let released = self.ground.registry().release(tuple);
        let nobodys = || wrong_input(format!("{tuple} is no stack's and reserved for nobody"));
        if let Owner::Stack(slot) = released.ok_or_else(nobodys)?.owner {
            self.forget(slot, &[tuple], carrier);
        }
        self.tidy();
        self.save()
    }

    /// What is given away, with whose it is in words.
    pub fn bindings(&self) -> Vec<(Tuple, Binding, String)> {
        let registry = self.ground.registry();
        let shown =
            |(tuple, binding): (&Tuple, &Binding)| (*tuple, binding.clone(), registry.describe(binding));
        registry.bindings().iter().map(shown).collect()
    }

    /// All stacks.
    pub fn stacks(&self, carrier: &dyn Carrier) -> Vec<Shown> {
        let shown = |(slot, stack): (&u32, &Stack)| {
            let counters = self.attached.get(slot).and_then(|it| match it.way {
                Way::Memif(_) => carrier.counters(*slot),
                Way::Queue | Way::Veth(_) => it.nic.program.stack_counters(*slot).ok(),
            });
            Shown { slot: *slot, stack: stack.clone(), counters }
        };
        self.ground.registry().stacks().iter().map(shown).collect()
    }

    /// Leaves everything as it is for another daemon to go on with.
    pub fn leave(mut self) {
        for (_, Attached { nic, way }) in std::mem::take(&mut self.attached) {
            nic.stay();
            // Dropped, it would take the veth with it.
            if let Way::Veth(vport) = way {
                std::mem::forget(vport);
            }
        }
    }

    /// Writes what another daemon needs to go on, whole or not at all.
    fn save(&self) -> Result<()> {
        let text = self.ground.registry().to_state();
        let part = self.state.with_extension("new");
        let written = fs::write(&part, text).and_then(|()| fs::rename(&part, &self.state));
        written.attempting(|| format!("could not write {}", self.state.display()))
    }
}

fn check_wanted(wanted: &Wanted, nic: &Nic) -> Result<()> {
    let count = nic.queue_count;
    match (wanted.grade, wanted.queue) {
        (Grade::Queue, Some(queue)) if queue < count => Ok(()),
        (Grade::Queue, _) => {
            Err(wrong_input(format!("{} has queues 0 to {}: choose one", nic.name, count - 1)))
        }
        (Grade::Veth | Grade::Memif, _) => Ok(()),
    }
}

fn check_address(tuple: Tuple, device: &str, ifindex: u32) -> Result<()> {
    let addresses = Netlink::open()?.addresses_of(ifindex)?;
    let addresses: Vec<IpAddr> = addresses.iter().map(|it| it.ip).collect();
    if tuple.address.is_unspecified() || addresses.contains(&tuple.address.to_canonical()) {
        return Ok(());
    }
    let listed: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    Err(wrong_input(format!("{device} has no address {}: it has {}", tuple.address, listed.join(", "))))
}
