//! NICs of the host that the process has frames of, each with one program, and who holds which tuples of them.
//!
//! ```text
//!   service, port, stack --hold--> registry: is it free?  placeholder: and in the host?
//!                                     +--> Holding --claim--> the program has the tuples    dropped: it has not
//! ```
//! Invariant: a tuple that the program has is somebody's in the registry, and its port is taken in the host.

use crate::error::{MuxError, Result};
use crate::nic::Nic;
use crate::pins::PinRoot;
use crate::registry::Registry;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tidegate_bpf::{ModeChoice, Protocol, Steering, Tuple};
use tidegate_sys::netlink::LinkInfo;
use tidegate_sys::socket::{Placeholder, ReserveError, Transport};

/// The NICs, and who has what of them.
#[derive(Default)]
pub struct Ground {
    nics: BTreeMap<String, Weak<Nic>>,
    registry: Arc<Mutex<Registry>>,
    /// Where programs are pinned, if they are.
    pin_root: Option<PinRoot>,
}

/// Whether the host's sockets are kept from ports that are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// Yes: the addresses are the host's.
    Ports,
    /// No: frames are taken as they are, also those to nobody.
    Nothing,
}

impl Ground {
    /// One whose programs are pinned, so that another process can go on with them.
    pub(crate) fn pinned(registry: Registry, root: PinRoot) -> Self {
        Self { nics: BTreeMap::new(), registry: Arc::new(Mutex::new(registry)), pin_root: Some(root) }
    }

    /// The program on a NIC of the host, put there if it is not.
    pub fn nic(&mut self, link: LinkInfo, choice: ModeChoice) -> Result<Arc<Nic>> {
        let known = self.nics.get(&link.name).and_then(Weak::upgrade);
        if let Some(nic) = known.filter(|nic| nic.ifindex == link.ifindex) {
            return if nic.is_attached()? { Ok(nic) } else { Err(taken_off(&nic.name)) };
        }
        let pins = self.pin_root.as_ref().map(|root| root.of(&link.name)).transpose()?;
        let nic = Arc::new(Nic::take(link, choice, pins)?);
        self.leave_strangers(&nic)?;
        self.nics.insert(nic.name.clone(), Arc::downgrade(&nic));
        Ok(nic)
    }

    /// Gives the host back what services of an earlier process had.
    fn leave_strangers(&self, nic: &Nic) -> Result<()> {
        let registered = nic.program.registered()?;
        let registry = self.registry();
        let strangers = registered.iter().filter(|(tuple, _)| !registry.bindings().contains_key(tuple));
        strangers.map(|(tuple, _)| *tuple).try_for_each(|tuple| {
            nic.program.unregister(tuple)?;
            Ok(())
        })
    }

    /// Keeps `tuples` of a NIC for a service; none: all frames of it, which then nobody else may have any of.
    pub fn hold(&self, nic: &Arc<Nic>, service: &str, tuples: &[Tuple], reserve: Reserve) -> Result<Holding> {
        if tuples.is_empty() && !nic.is_own() && Arc::strong_count(nic) > 1 {
            let text = format!("{} is used by others: name what frames of it are wanted", nic.name);
            return Err(MuxError::Occupied(text));
        }
        let held = self.registry().hold(&nic.name, service, tuples);
        held.map_err(|refusal| MuxError::Occupied(refusal.to_string()))?;
        let mut holding = Holding {
            nic: Arc::clone(nic),
            registry: Arc::clone(&self.registry),
            tuples: tuples.to_vec(),
            _placeholders: Vec::new(),
        };
        if reserve == Reserve::Ports {
            holding._placeholders =
                tuples.iter().map(|tuple| placeholder(*tuple)).collect::<Result<_, _>>()?;
        }
        Ok(holding)
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever has frames of it gets none any more, and would not if it came back: the maps would be others.
fn taken_off(device: &str) -> MuxError {
    let text =
        format!("the XDP program was taken off {device} while it was in use: start this process again");
    MuxError::Occupied(text)
}

/// Takes a port out of the host's hands.
pub(crate) fn placeholder(tuple: Tuple) -> Result<Placeholder, ReserveError> {
    let transport = match tuple.protocol {
        Protocol::Tcp => Transport::Tcp,
        Protocol::Udp => Transport::Udp,
    };
    Placeholder::bind(transport, SocketAddr::new(tuple.address, tuple.port))
}

/// What a service has of a NIC, until this is dropped.
#[must_use = "the tuples are the host's again when this is dropped"]
pub struct Holding {
    nic: Arc<Nic>,
    registry: Arc<Mutex<Registry>>,
    tuples: Vec<Tuple>,
    _placeholders: Vec<Placeholder>,
}

impl Holding {
    /// Claims frames: those to its tuples, or all.
    pub fn claim(&self) -> Result<()> {
        if self.tuples.is_empty() {
            return Ok(self.nic.program.own_device(true)?);
        }
        for tuple in &self.tuples {
            self.nic.program.register(*tuple, Steering::Socket)?;
        }
        Ok(())
    }
}

impl Drop for Holding {
    /// The kernel may have forgotten the device: then there is nothing to leave.
    fn drop(&mut self) {
        if self.tuples.is_empty() {
            let _ = self.nic.program.own_device(false);
        }
        for tuple in &self.tuples {
            let _ = self.nic.program.unregister(*tuple);
        }
        self.registry.lock().unwrap_or_else(PoisonError::into_inner).let_go(&self.tuples);
    }
}
