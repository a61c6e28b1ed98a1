//! Stacks of other processes: what controllers keep for them, take from them and see of them.

use crate::Daemon;
use crate::berth::fault;
use tidegate_bpf::{StackCounters, Tuple};
use tidegate_control::controller::{Outcome, ReservationSpec, Stacks, TupleSpec};
use tidegate_control::proto::v1::{self, DropCounter, ListStacksResponse, TupleBinding};
use tidegate_control::{Errno, Fault};
use tidegate_mux::registry::{Binding, Grade, Owner, Reservation};
use tidegate_mux::{Desk, MuxError, Shown};
use tidegate_sys::netlink::Netlink;
use tidegate_wire::egress::EgressVerdict;

impl Stacks for Daemon {
    fn reserve_tuple(&mut self, spec: ReservationSpec) -> Outcome<String> {
        let ReservationSpec { tuple, device, uid, grade } = spec;
        let unknown = |name: &str| {
            Fault::invalid(format!("grade is {}: it may be queue, veth or memif", name.escape_debug()))
        };
        let grade = grade.map(|name| Grade::named(&name).ok_or_else(|| unknown(&name))).transpose()?;
        let device = device.map_or_else(|| device_of(tuple), Ok)?;
        let reserved = desk(self)?.reserve(&device, of_spec(tuple), Reservation { uid, grade });
        reserved.map_err(|error| fault(error.into()))?;
        Ok(device)
    }

    fn release_tuple(&mut self, tuple: TupleSpec) -> Outcome {
        let released = self.with_desk(|desk, daemon| desk.release(of_spec(tuple), daemon));
        released.ok_or_else(unserved)?.map_err(|error| fault(error.into()))
    }

    fn stacks(&mut self) -> Outcome<ListStacksResponse> {
        let listed = self.with_desk(|desk, daemon| ListStacksResponse {
            bindings: desk.bindings().into_iter().map(of_binding).collect(),
            stacks: desk.stacks(daemon).iter().map(of_stack).collect(),
        });
        listed.ok_or_else(unserved)
    }
}

fn desk(daemon: &mut Daemon) -> Outcome<&mut Desk> {
    daemon.mux.desk().ok_or_else(unserved)
}

fn unserved() -> Fault {
    Fault::unsupported("this daemon serves no stacks of other processes: start it with --mux")
}

fn of_spec(spec: TupleSpec) -> Tuple {
    let (address, port) = (spec.address.ip(), spec.address.port());
    if spec.is_tcp { Tuple::tcp(address, port) } else { Tuple::udp(address, port) }
}

/// The NIC that has the address.
fn device_of(tuple: TupleSpec) -> Outcome<String> {
    let wanted = tuple.address.ip();
    let found = || -> Result<Option<String>, MuxError> {
        let mut netlink = Netlink::open()?;
        let Some(ifindex) =
            netlink.addresses()?.into_iter().find(|it| it.address.ip == wanted).map(|it| it.ifindex)
        else {
            return Ok(None);
        };
        Ok(Some(netlink.link_of(ifindex)?.name))
    };
    let nowhere =
        || Fault::new(Errno::ENODEV, format!("no interface has the address {wanted}: name one with --dev"));
    found().map_err(|error| fault(error.into()))?.ok_or_else(nowhere)
}

fn of_binding((tuple, binding, owner): (Tuple, Binding, String)) -> TupleBinding {
    let slot = match binding.owner {
        Owner::Stack(slot) => Some(slot),
        Owner::Service(_) | Owner::Reserved => None,
    };
    let address = std::net::SocketAddr::new(tuple.address, tuple.port).to_string();
    TupleBinding {
        tuple: Some(v1::Tuple { protocol: tuple.protocol.to_string(), address }),
        device: binding.device,
        owner,
        slot,
        reserved_uid: binding.reservation.map(|reservation| reservation.uid),
    }
}

fn of_stack(shown: &Shown) -> v1::Stack {
    let Shown { slot, stack, counters } = shown;
    let counted = |of: fn(&StackCounters) -> u64| counters.as_ref().map_or(0, of);
    let drops = counters
        .iter()
        .flat_map(StackCounters::iter)
        .filter(|(verdict, packets)| *verdict != EgressVerdict::Sent && *packets > 0);
    let drop =
        |(verdict, packets): (EgressVerdict, u64)| DropCounter { reason: verdict.name().into(), packets };
    v1::Stack {
        slot: *slot,
        uid: stack.uid,
        pid: stack.pid,
        device: stack.wanted.device.clone(),
        grade: stack.wanted.grade.to_string(),
        queue: stack.wanted.queue.filter(|_| stack.wanted.grade == Grade::Queue),
        to_packets: counted(|it| it.to_frames),
        to_bytes: counted(|it| it.to_bytes),
        wrong_queue_packets: counted(|it| it.wrong_queue_frames),
        from_packets: counted(|it| it.from_frames(EgressVerdict::Sent)),
        from_bytes: counted(|it| it.from_bytes),
        from_drops: drops.map(drop).collect(),
    }
}
