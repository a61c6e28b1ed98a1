//! Ports and their drivers.

use std::fmt::Display;

use super::{Reply, done};
use crate::classes::{self, Driver};
use crate::controller::{PortSettings, PortSpec};
use crate::names::{self, quoted};
use crate::proto::bess::CommandResponse;
use crate::proto::bess::{
    CreatePortRequest, CreatePortResponse, DestroyPortRequest, DumpMempoolRequest, DumpMempoolResponse,
    EmptyRequest, GetDriverInfoRequest, GetDriverInfoResponse, GetLinkStatusRequest, GetLinkStatusResponse,
    GetPortConfRequest, GetPortConfResponse, GetPortStatsRequest, GetPortStatsResponse, ListDriversResponse,
    ListPortsResponse, PortConf, SetPortConfRequest,
};
use crate::{Controller, Fault, Message};

/// Queues of a port in one direction.
const QUEUES_MAX: u64 = 128;

/// Descriptors of a queue.
const DESCRIPTORS_MAX: u64 = 1 << 16;

/// Bytes of an MTU, as a 16-bit length allows.
const MTU_MAX: u64 = 65_535;

/// NUMA nodes of a machine.
const NODES_MAX: u64 = 1024;

pub(crate) fn list_drivers(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply<ListDriversResponse> {
    let offered = classes::DRIVERS.iter().filter(|driver| daemon.has_driver(driver));
    let driver_names = offered.map(|driver| driver.name.to_owned()).collect();
    Ok(ListDriversResponse { error: None, driver_names })
}

pub(crate) fn get_driver_info(
    daemon: &mut dyn Controller,
    request: GetDriverInfoRequest,
) -> Reply<GetDriverInfoResponse> {
    let driver = driver(daemon, &request.driver_name)?;
    Ok(GetDriverInfoResponse {
        error: None,
        name: driver.name.to_owned(),
        help: driver.help.to_owned(),
        commands: Vec::new(),
    })
}

pub(crate) fn reset_ports(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply {
    done(daemon.reset_ports())
}

pub(crate) fn list_ports(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply<ListPortsResponse> {
    Ok(ListPortsResponse { error: None, ports: daemon.ports()? })
}

pub(crate) fn create_port(
    daemon: &mut dyn Controller,
    request: CreatePortRequest,
) -> Reply<CreatePortResponse> {
    let spec = port_spec(daemon, request)?;
    let made = daemon.create_port(spec)?;
    Ok(CreatePortResponse { error: None, ..made })
}

pub(crate) fn destroy_port(daemon: &mut dyn Controller, request: DestroyPortRequest) -> Reply {
    done(daemon.destroy_port(&names::required("port", request.name)?))
}

pub(crate) fn set_port_conf(
    daemon: &mut dyn Controller,
    request: SetPortConfRequest,
) -> Reply<CommandResponse> {
    let name = names::required("port", request.name)?;
    let settings = settings(request.conf).map_err(|fault| fault.of(format!("port {}", quoted(&name))))?;
    daemon.set_port(&name, settings)?;
    Ok(CommandResponse::default())
}

pub(crate) fn get_port_conf(
    daemon: &mut dyn Controller,
    request: GetPortConfRequest,
) -> Reply<GetPortConfResponse> {
    let conf = daemon.port_settings(&names::required("port", request.name)?)?;
    Ok(GetPortConfResponse { error: None, conf: Some(conf) })
}

pub(crate) fn get_port_stats(
    daemon: &mut dyn Controller,
    request: GetPortStatsRequest,
) -> Reply<GetPortStatsResponse> {
    let stats = daemon.port_stats(&names::required("port", request.name)?)?;
    Ok(GetPortStatsResponse { error: None, ..stats })
}

pub(crate) fn get_link_status(
    daemon: &mut dyn Controller,
    request: GetLinkStatusRequest,
) -> Reply<GetLinkStatusResponse> {
    let status = daemon.link_status(&names::required("port", request.name)?)?;
    Ok(GetLinkStatusResponse { error: None, ..status })
}

pub(crate) fn dump_mempool(
    daemon: &mut dyn Controller,
    request: DumpMempoolRequest,
) -> Reply<DumpMempoolResponse> {
    let node = match request.socket {
        socket if socket < 0 => None,
        socket => Some(names::below("NUMA node", socket, NODES_MAX)?),
    };
    Ok(DumpMempoolResponse { error: None, dumps: daemon.pools(node)? })
}

pub(super) fn port_spec(daemon: &dyn Controller, request: CreatePortRequest) -> Result<PortSpec, Fault> {
    let driver = driver(daemon, &request.driver)?;
    let whose = format!("port {} of driver {}", quoted(&request.name), driver.name);
    let arg = Message::decode(driver.arg, request.arg.as_ref()).map_err(|fault| fault.of(&whose))?;
    let at_most = |what, count: u64, max| within(what, count, max).map_err(|fault| fault.of(&whose));
    Ok(PortSpec {
        name: names::optional("port", request.name)?,
        driver,
        arg,
        rx_queues: at_most("num_inc_q", request.num_inc_q, QUEUES_MAX)?.max(1) as u16,
        tx_queues: at_most("num_out_q", request.num_out_q, QUEUES_MAX)?.max(1) as u16,
        rx_descriptors: at_most("size_inc_q", request.size_inc_q, DESCRIPTORS_MAX).map(nonzero)?,
        tx_descriptors: at_most("size_out_q", request.size_out_q, DESCRIPTORS_MAX).map(nonzero)?,
    })
}

fn driver(daemon: &dyn Controller, name: &str) -> Result<&'static Driver, Fault> {
    let offered = classes::port(name).filter(|driver| daemon.has_driver(driver));
    offered
        .ok_or_else(|| Fault::missing(format!("there is no driver {}: ListDrivers names all", quoted(name))))
}

fn within(what: impl Display, count: u64, max: u64) -> Result<u32, Fault> {
    u32::try_from(count)
        .ok()
        .filter(|_| count <= max)
        .ok_or_else(|| Fault::invalid(format!("{what} is {count}: it may be 0 to {max}")))
}

fn nonzero(count: u32) -> Option<u32> {
    (count > 0).then_some(count)
}

fn settings(conf: Option<PortConf>) -> Result<PortSettings, Fault> {
    let conf = conf.ok_or_else(|| Fault::invalid("nothing to set: the field `conf` is missing"))?;
    let mac = if conf.mac_addr.is_empty() { None } else { Some(mac(&conf.mac_addr)?) };
    let mtu = nonzero(within("mtu", conf.mtu.into(), MTU_MAX)?);
    Ok(PortSettings { mac, mtu, up: conf.admin_up })
}

fn mac(text: &str) -> Result<[u8; 6], Fault> {
    let mut octets = text.split(':').map(|octet| match octet.len() {
        1 | 2 if octet.bytes().all(|digit| digit.is_ascii_hexdigit()) => u8::from_str_radix(octet, 16).ok(),
        _ => None,
    });
    let mac = std::array::from_fn(|_| octets.next().flatten());
    let parsed = mac.iter().all(Option::is_some) && octets.next().is_none();
    let wrong = || Fault::invalid(format!("{} is no MAC address like 02:00:00:00:00:01", quoted(text)));
    parsed.then(|| mac.map(Option::unwrap_or_default)).ok_or_else(wrong)
}
