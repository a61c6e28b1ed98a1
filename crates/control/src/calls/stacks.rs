//! Stacks of other processes.

use crate::controller::{ReservationSpec, TupleSpec};
use crate::names::{self, quoted};
use crate::proto::v1::{
    BindTupleRequest, BindTupleResponse, ListStacksRequest, ListStacksResponse, ReleaseTupleRequest,
    ReleaseTupleResponse, Tuple,
};
use crate::{Controller, Fault};

pub(crate) fn bind_tuple(
    daemon: &mut dyn Controller,
    request: BindTupleRequest,
) -> Result<BindTupleResponse, Fault> {
    let BindTupleRequest { tuple: wanted, device, uid, grade } = request;
    let (device, grade) = (names::optional("device", device)?, names::optional("grade", grade)?);
    let spec = ReservationSpec { tuple: tuple(wanted)?, device, uid, grade };
    Ok(BindTupleResponse { device: daemon.reserve_tuple(spec)? })
}

pub(crate) fn release_tuple(
    daemon: &mut dyn Controller,
    request: ReleaseTupleRequest,
) -> Result<ReleaseTupleResponse, Fault> {
    daemon.release_tuple(tuple(request.tuple)?)?;
    Ok(ReleaseTupleResponse {})
}

pub(crate) fn list_stacks(
    daemon: &mut dyn Controller,
    _: ListStacksRequest,
) -> Result<ListStacksResponse, Fault> {
    daemon.stacks()
}

fn tuple(given: Option<Tuple>) -> Result<TupleSpec, Fault> {
    let Tuple { protocol, address } = given.unwrap_or_default();
    let is_tcp = match protocol.as_str() {
        "tcp" => true,
        "udp" => false,
        other => return Err(Fault::invalid(format!("protocol is {}: it may be tcp or udp", quoted(other)))),
    };
    let parsed = address.parse().map_err(|_| {
        let address = quoted(&address);
        Fault::invalid(format!("address is {address}: write it like 10.0.0.5:8080 or [2001:db8::5]:8080"))
    });
    Ok(TupleSpec { is_tcp, address: parsed? })
}
