//! The daemon's side of stacks that are processes of their own: what they ask for, and what the kernel is told of it.
//!
//! ```text
//!   Event --on_event--> registry says yes --> placeholder in the host --> program: tuple -> slot --> state file --> Answer
//!   lease ends -------> program forgets its tuples, its veth goes, its ports are the host's again
//! ```
//! Invariant: what is written to the state file is what the kernel has been told.

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
use tidegate_bpf::{ModeChoice, StackCounters, Steering, Tuple, XdpProgram};
use tidegate_sys::netlink::Netlink;
use tidegate_sys::random;
use tidegate_sys::socket::Placeholder;
use tidegate_sys::xsk::XskSocket;

/// What the kernel was told of a stack.
struct Attached {
    nic: Arc<Nic>,
    /// Of grade veth.
    vport: Option<Vport>,
}

impl Attached {
    fn steering(&self, slot: u32) -> Steering {
        match self.vport {
            Some(_) => Steering::Device { slot },
            None => Steering::SlotSocket { slot },
        }
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
}

impl Desk {
    /// Goes on where the state file says that an earlier daemon was, if there is one. Programs are pinned below
    /// `pin_root`, which is in a bpf file system, and which no other daemon has. Needs what XDP and network namespaces need.
    pub fn open(state: PathBuf, pin_root: PathBuf) -> Result<Self> {
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
        let mut desk = Self { ground, leases, attached, placeholders, state };
        desk.go_on();
        desk.save()?;
        Ok(desk)
    }

    /// The NICs and the registry, for services.
    pub fn ground_mut(&mut self) -> &mut Ground {
        &mut self.ground
    }

    /// Takes over what an earlier daemon left; what cannot be is given back.
    fn go_on(&mut self) {
        let stacks: Vec<(u32, Stack)> =
            self.ground.registry().stacks().iter().map(|(slot, stack)| (*slot, stack.clone())).collect();
        for (slot, stack) in stacks {
            match self.adopt(slot, &stack) {
                Ok(attached) => drop(self.attached.insert(slot, attached)),
                Err(error) => {
                    tracing::warn!("stack {slot} of user {} is not there any more: {error}", stack.uid);
                    self.ground.registry().detach(slot);
                }
            }
        }
        let bindings = self.ground.registry().bindings().clone();
        for (tuple, binding) in bindings {
            if let Err(error) = self.keep(tuple, &binding) {
                tracing::warn!("{tuple} is given back: {error}");
                self.ground.registry().release(tuple);
            }
        }
    }

    fn adopt(&mut self, slot: u32, stack: &Stack) -> Result<Attached> {
        let nic = self.nic(&stack.wanted.device)?;
        let vport = match stack.wanted.grade {
            Grade::Veth => {
                let gone = || MuxError::Occupied("its veth is gone".to_owned());
                Some(nic.vports()?.adopt(slot)?.ok_or_else(gone)?)
            }
            Grade::Queue | Grade::Memif => None,
        };
        Ok(Attached { nic, vport })
    }

    /// Has the host and the program know of a binding again.
    fn keep(&mut self, tuple: Tuple, binding: &Binding) -> Result<()> {
        self.placeholders.insert(tuple, placeholder(tuple)?);
        let Owner::Stack(slot) = binding.owner else { return Ok(()) };
        let Some(attached) = self.attached.get(&slot) else { return Ok(()) };
        // Without a gap: the host would end the stack's connections with resets.
        Ok(attached.nic.program.steer(tuple, attached.steering(slot))?)
    }

    /// Does what a stack asks, or ends its lease, and answers.
    pub fn on_event(&mut self, event: Event) {
        let Event { lease, who, line, request } = event;
        let Some(request) = request else {
            if let Some(slot) = self.leases.remove(&lease) {
                self.detach(slot);
            }
            return;
        };
        let outcome = match request {
            Request::Attach { .. } if self.leases.contains_key(&lease) => {
                Err(wrong_input("this connection has its stack already: open another one for another stack"))
            }
            Request::Attach { wanted, token } => match self.attach(lease, &who, wanted, token) {
                Ok((place, socket)) => return self.tell(&line, &Answer::Attached(place), socket),
                Err(error) => Err(error),
            },
            Request::Bind(tuple) => self.slot_of(lease).and_then(|slot| self.bind(slot, &who, tuple)),
            Request::Release(tuple) => self.slot_of(lease).and_then(|slot| self.unbind(slot, tuple)),
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
    ) -> Result<(Place, Option<OwnedFd>)> {
        if let Some(token) = token {
            let slot = self.ground.registry().reclaim(who, &token)?;
            self.leases.insert(lease, slot);
            return Ok((self.place(slot)?, None));
        }
        let nic = self.nic(&wanted.device)?;
        check_wanted(&wanted, &nic)?;
        let slot = self.ground.registry().attach(who, wanted.clone(), random::bytes()?)?;
        let made = self.make(slot, &wanted, nic).and_then(|socket| Ok((self.place(slot)?, socket)));
        if made.is_err() {
            self.detach(slot);
        } else {
            self.leases.insert(lease, slot);
            self.save()?;
        }
        made
    }

    /// Makes the stack's way in and out, and its socket.
    fn make(&mut self, slot: u32, wanted: &Wanted, nic: Arc<Nic>) -> Result<Option<OwnedFd>> {
        let (vport, socket) = match wanted.grade {
            Grade::Veth => {
                let (vport, socket) = nic.vports()?.create(slot)?;
                (Some(vport), socket)
            }
            Grade::Queue | Grade::Memif => {
                nic.program.clear_slot(slot)?;
                let socket = XskSocket::open()?;
                nic.program.set_slot_socket(slot, wanted.queue.unwrap_or(0), &socket)?;
                (None, socket)
            }
        };
        self.attached.insert(slot, Attached { nic, vport });
        Ok(Some(socket))
    }

    /// What the stack in `slot` must know.
    fn place(&self, slot: u32) -> Result<Place> {
        let (Some(attached), Some(stack)) =
            (self.attached.get(&slot), self.ground.registry().stacks().get(&slot).cloned())
        else {
            return Err(wrong_input("the stack is gone: attach anew"));
        };
        let Attached { nic, vport } = attached;
        let addresses = Netlink::open()?.addresses_of(nic.ifindex)?;
        let (ifindex, queue, mtu) = match vport {
            Some(_) => (XdpProgram::stack_end_ifindex(slot), 0, nic.vports()?.mtu()),
            None => (nic.ifindex, stack.wanted.queue.unwrap_or(0), nic.mtu as u32),
        };
        let addresses = addresses.iter().map(|it| it.ip).collect();
        let (token, grade, mac, path) = (stack.token, stack.wanted.grade, nic.mac.0, String::new());
        Ok(Place { slot, token, grade, mac, mtu, ifindex, queue, addresses, path })
    }

    fn bind(&mut self, slot: u32, who: &Applicant, tuple: Tuple) -> Result<()> {
        let Some(Attached { nic, .. }) = self.attached.get(&slot) else {
            return Err(wrong_input("the stack is gone: attach anew"));
        };
        let nic = Arc::clone(nic);
        check_address(tuple, &nic.name, nic.ifindex)?;
        let before = self.ground.registry().clone();
        self.ground.registry().bind(slot, who, tuple)?;
        if before.tuples_of(&Owner::Stack(slot)).contains(&tuple) {
            return Ok(());
        }
        let steering = self.attached[&slot].steering(slot);
        let told = self.reserve_port(tuple).and_then(|()| Ok(nic.program.register(tuple, steering)?));
        if let Err(error) = told {
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

    fn unbind(&mut self, slot: u32, tuple: Tuple) -> Result<()> {
        self.ground.registry().unbind(slot, tuple)?;
        self.forget(slot, &[tuple]);
        self.save()
    }

    /// Ends a lease.
    fn detach(&mut self, slot: u32) {
        let tuples = self.ground.registry().detach(slot);
        self.forget(slot, &tuples);
        if let Some(Attached { nic, vport: None }) = self.attached.remove(&slot) {
            let _ = nic.program.unset_slot_socket(slot);
        }
        if let Err(error) = self.save() {
            tracing::error!("{error}");
        }
    }

    /// Has the program and the host forget what was a stack's.
    fn forget(&mut self, slot: u32, tuples: &[Tuple]) {
        if let Some(attached) = self.attached.get(&slot) {
            for tuple in tuples {
                if let Err(error) = attached.nic.program.unregister(*tuple) {
                    tracing::error!("{tuple} is still steered to stack {slot}: {error}");
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
    pub fn expire(&mut self, now: Instant) {
        let over = self.ground.registry().expire(now);
        for (slot, tuples) in over {
            tracing::warn!("nobody claimed stack {slot} back within {} s", RECLAIM_PATIENCE.as_secs());
            self.forget(slot, &tuples);
            self.detach(slot);
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
    pub fn release(&mut self, tuple: Tuple) -> Result<()> {
        let released = self.ground.registry().release(tuple);
        let nobodys = || wrong_input(format!("{tuple} is no stack's and reserved for nobody"));
        if let Owner::Stack(slot) = released.ok_or_else(nobodys)?.owner {
            self.forget(slot, &[tuple]);
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
    pub fn stacks(&self) -> Vec<Shown> {
        let shown = |(slot, stack): (&u32, &Stack)| {
            let counters = self.attached.get(slot).and_then(|it| it.nic.program.stack_counters(*slot).ok());
            Shown { slot: *slot, stack: stack.clone(), counters }
        };
        self.ground.registry().stacks().iter().map(shown).collect()
    }

    /// Leaves everything as it is for another daemon to go on with.
    pub fn leave(mut self) {
        for (_, Attached { nic, vport }) in std::mem::take(&mut self.attached) {
            nic.stay();
            // Dropped, it would take the veth with it.
            std::mem::forget(vport);
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
        (Grade::Memif, _) => Err(wrong_input("grade memif is not served here: choose grade veth")),
        (Grade::Veth, _) => Ok(()),
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
