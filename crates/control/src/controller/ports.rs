//! Ports: where packets come from and go to.

use super::Outcome;
use crate::Message;
use crate::classes::Driver;
use crate::proto::bess::{
    CreatePortResponse, GetLinkStatusResponse, GetPortStatsResponse, MempoolDump, PortConf,
    list_ports_response::Port,
};

/// A port to open.
#[derive(Clone, PartialEq, Debug)]
pub struct PortSpec {
    /// Its name; to be generated if none is given.
    pub name: Option<String>,
    /// Its kind.
    pub driver: &'static Driver,
    /// The driver's argument, of the driver's kind.
    pub arg: Message,
    /// Receive queues, at least 1.
    pub rx_queues: u16,
    /// Transmit queues, at least 1.
    pub tx_queues: u16,
    /// Descriptors a receive queue; `None` for the driver's own choice.
    pub rx_descriptors: Option<u32>,
    /// Descriptors a transmit queue; `None` for the driver's own choice.
    pub tx_descriptors: Option<u32>,
}

/// What to set on a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortSettings {
    /// Its address; `None` to leave it.
    pub mac: Option<[u8; 6]>,
    /// Its MTU in bytes, without the Ethernet header; `None` to leave it.
    pub mtu: Option<u32>,
    /// Whether it is to be up.
    pub up: bool,
}

/// What is asked of ports. `error` of an answer is not looked at.
pub trait Ports {
    /// Whether this daemon can open ports of that kind.
    fn has_driver(&self, driver: &'static Driver) -> bool;

    /// Closes all ports; `EBUSY` if a module uses one.
    fn reset_ports(&mut self) -> Outcome;

    /// All ports.
    fn ports(&mut self) -> Outcome<Vec<Port>>;

    /// Opens a port; `EEXIST` if there is one of that name.
    fn create_port(&mut self, spec: PortSpec) -> Outcome<CreatePortResponse>;

    /// Closes a port; `EBUSY` if a module uses it.
    fn destroy_port(&mut self, name: &str) -> Outcome;

    /// Changes a port.
    fn set_port(&mut self, name: &str, settings: PortSettings) -> Outcome;

    /// Address, MTU and state of a port.
    fn port_settings(&mut self, name: &str) -> Outcome<PortConf>;

    /// What went through a port.
    fn port_stats(&mut self, name: &str) -> Outcome<GetPortStatsResponse>;

    /// The state of a port's link.
    fn link_status(&mut self, name: &str) -> Outcome<GetLinkStatusResponse>;

    /// How full the pools are: of one NUMA node, or of all.
    fn pools(&mut self, node: Option<u32>) -> Outcome<Vec<MempoolDump>>;
}
