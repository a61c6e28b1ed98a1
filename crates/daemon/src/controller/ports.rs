//! Ports: opened here, run by the worker whose modules use them.

use super::wall_s;
use crate::{Daemon, ports};
use tidegate_control::classes::Driver;
use tidegate_control::controller::{Outcome, PortSettings, PortSpec, Ports};
use tidegate_control::proto::bess::get_port_stats_response::Stat;
use tidegate_control::proto::bess::list_ports_response::Port;
use tidegate_control::proto::bess::{
    CreatePortResponse, GetLinkStatusResponse, GetPortStatsResponse, MempoolDump, PortConf,
};
use tidegate_control::{Errno, Fault, generated_name};
use tidegate_port::PortCounters;

/// The MTU of ports that say none.
const MTU_DEFAULT: u32 = 1500;

impl Daemon {
    fn port(&self, name: &str) -> Outcome<&PortSpec> {
        self.plant.ports.get(name).ok_or_else(|| {
            Fault::new(Errno::ENODEV, format!("there is no port {name}: list what there is, or create it"))
        })
    }

    /// Opens a port; a worker gets it with the next change.
    pub(super) fn open_port(&mut self, name: &str, spec: &PortSpec) -> Outcome {
        if self.attach_device(name, spec).map_err(|fault| fault.of(format!("port {name}")))? {
            return Ok(());
        }
        let opened = ports::open(name, spec).map_err(|fault| fault.of(format!("port {name}")))?;
        let count = opened.queues.len();
        for (queue, port) in opened.queues.into_iter().enumerate() {
            let own = if count == 1 { name.to_owned() } else { format!("{name}#{queue}") };
            self.harbour.insert(own, port);
        }
        self.devices.extend(opened.device.map(|device| (name.to_owned(), device)));
        Ok(())
    }

    /// Closes a port that no worker got.
    pub(super) fn close_port(&mut self, name: &str) {
        let is_of_port = |queue: &str| queue.rsplit_once('#').map_or(queue, |(port, _)| port) == name;
        self.harbour.retain(|queue, _| queue != name && !is_of_port(queue));
        self.devices.remove(name);
        self.forget_device(name);
    }

    /// The address of a port, or that of ports that have none.
    fn mac_of(&self, name: &str) -> String {
        let mac = self.devices.get(name).and_then(|device| device.mac().ok());
        mac.unwrap_or_else(|| MAC_NONE.to_owned())
    }

    /// Whether somebody is at the other end of a port.
    fn is_linked(&self, name: &str) -> Outcome<bool> {
        let queues = self.plant.queues(name);
        if let Some(port) = queues.iter().find_map(|queue| self.harbour.get(queue)) {
            return Ok(port.is_linked());
        }
        let Some(queue) = queues.iter().find(|queue| self.placement.ports.contains_key(*queue)) else {
            return Ok(false);
        };
        let place = self.placement.ports.get(queue).zip(self.port_indices.get(queue));
        let Some((running, index)) = place.and_then(|(wid, index)| Some((self.workers.get(wid)?, *index)))
        else {
            return Ok(false);
        };
        running.ask(move |worker| worker.port(index).is_some_and(|port| port.is_linked()))
    }

    /// What went through a port.
    pub(super) fn port_counters(&self, name: &str) -> Outcome<PortCounters> {
        let mut sum = PortCounters::default();
        for queue in self.plant.queues(name) {
            let one = self.queue_counters(&queue)?;
            sum = PortCounters {
                rx_packet_count: sum.rx_packet_count + one.rx_packet_count,
                rx_byte_count: sum.rx_byte_count + one.rx_byte_count,
                rx_drop_count: sum.rx_drop_count + one.rx_drop_count,
                tx_packet_count: sum.tx_packet_count + one.tx_packet_count,
                tx_byte_count: sum.tx_byte_count + one.tx_byte_count,
                tx_drop_count: sum.tx_drop_count + one.tx_drop_count,
                tx_ring_full_count: sum.tx_ring_full_count + one.tx_ring_full_count,
                syscall_count: sum.syscall_count + one.syscall_count,
            };
        }
        Ok(sum)
    }

    fn queue_counters(&self, queue: &str) -> Outcome<PortCounters> {
        if let Some(port) = self.harbour.get(queue) {
            return Ok(port.counters());
        }
        let place = self.placement.ports.get(queue).zip(self.port_indices.get(queue));
        let Some((running, index)) = place.and_then(|(wid, index)| Some((self.workers.get(wid)?, index.0)))
        else {
            return Ok(PortCounters::default());
        };
        let counters = running.ask(move |worker| worker.snapshot().ports.get(index).copied())?;
        Ok(counters.unwrap_or_default())
    }
}

impl Ports for Daemon {
    fn has_driver(&self, driver: &'static Driver) -> bool {
        ports::DRIVERS.contains(&driver.name)
    }

    fn reset_ports(&mut self) -> Outcome {
        let mut next = self.plant.clone();
        let own = next.ports.keys().filter(|port| next.owner(port).is_none());
        let used = own.into_iter().find_map(|port| Some((port, next.user_of(port)?)));
        if let Some((port, user)) = used {
            let text = format!("port {port} is used by {user}: destroy that module first");
            return Err(Fault::new(Errno::EBUSY, text));
        }
        next.clear_ports();
        self.change(next)
    }

    fn ports(&mut self) -> Outcome<Vec<Port>> {
        let port = |(name, spec): (&String, &PortSpec)| Port {
            name: name.clone(),
            driver: spec.driver.name.to_owned(),
            mac_addr: self.mac_of(name),
            num_inc_q: spec.rx_queues.into(),
            num_out_q: spec.tx_queues.into(),
            size_inc_q: spec.rx_descriptors.unwrap_or(0).into(),
            size_out_q: spec.tx_descriptors.unwrap_or(0).into(),
            driver_arg: Some(spec.arg.to_any()),
        };
        let own = self.plant.ports.iter().filter(|(name, _)| self.plant.owner(name).is_none());
        Ok(own.map(port).collect())
    }

    fn create_port(&mut self, spec: PortSpec) -> Outcome<CreatePortResponse> {
        let is_taken = |name: &str| self.plant.ports.contains_key(name);
        let name = spec.name.clone().unwrap_or_else(|| generated_name(spec.driver.short_name, is_taken));
        if is_taken(&name) {
            let text =
                format!("there is a port {name} already: give this one another name, or destroy that one");
            return Err(Fault::new(Errno::EEXIST, text));
        }
        self.open_port(&name, &spec)?;
        let mut next = self.plant.clone();
        next.ports.insert(name.clone(), PortSpec { name: Some(name.clone()), ..spec });
        if let Err(fault) = self.change(next) {
            self.close_port(&name);
            return Err(fault);
        }
        let mac_addr = self.mac_of(&name);
        Ok(CreatePortResponse { error: None, name, mac_addr })
    }

    fn destroy_port(&mut self, name: &str) -> Outcome {
        self.port(name)?;
        self.plant.check_free("port", name)?;
        if let Some(user) = self.plant.user_of(name) {
            let text = format!("port {name} is used by {user}: destroy that module first");
            return Err(Fault::new(Errno::EBUSY, text));
        }
        let mut next = self.plant.clone();
        next.ports.remove(name);
        self.change(next)
    }

    fn set_port(&mut self, name: &str, settings: PortSettings) -> Outcome {
        self.port(name)?;
        if let Some(device) = self.devices.get(name) {
            return device.set(&settings);
        }
        let is_as_it_is = settings.mac.is_none() && settings.mtu.is_none_or(|mtu| mtu == MTU_DEFAULT);
        if is_as_it_is && settings.up {
            return Ok(());
        }
        Err(Fault::unsupported(format!(
            "address, MTU and state of port {name} are fixed: create another one"
        )))
    }

    fn port_settings(&mut self, name: &str) -> Outcome<PortConf> {
        self.port(name)?;
        if let Some(device) = self.devices.get(name) {
            return device.settings();
        }
        Ok(PortConf { mac_addr: MAC_NONE.to_owned(), mtu: MTU_DEFAULT, admin_up: true })
    }

    fn port_stats(&mut self, name: &str) -> Outcome<GetPortStatsResponse> {
        self.port(name)?;
        let counters = self.port_counters(name)?;
        let stat = |packets, dropped, bytes| Some(Stat { packets, dropped, bytes, ..Stat::default() });
        Ok(GetPortStatsResponse {
            error: None,
            inc: stat(counters.rx_packet_count, counters.rx_drop_count, counters.rx_byte_count),
            out: stat(counters.tx_packet_count, counters.tx_drop_count, counters.tx_byte_count),
            timestamp: wall_s(),
        })
    }

    fn link_status(&mut self, name: &str) -> Outcome<GetLinkStatusResponse> {
        self.port(name)?;
        if let Some(device) = self.devices.get(name) {
            return device.link();
        }
        let link_up = self.is_linked(name)?;
        Ok(GetLinkStatusResponse { error: None, speed: 0, full_duplex: true, autoneg: false, link_up })
    }

    fn pools(&mut self, node: Option<u32>) -> Outcome<Vec<MempoolDump>> {
        if let Some(node) = node.filter(|node| *node != 0) {
            return Err(Fault::missing(format!("no pool lies on NUMA node {node}: name 0, or -1 for all")));
        }
        let mut sum = MempoolDump { initialized: true, ..MempoolDump::default() };
        sum.mp_element_size = crate::worker::CHUNK_SIZE as u32;
        for snapshot in self.snapshots()?.values() {
            let pool = snapshot.pool;
            let in_use = pool.held_count + pool.submitted_count + pool.retained_count;
            sum.mp_available_count += pool.free_count as u32;
            sum.mp_in_use_count += in_use as u32;
            sum.mp_size += (pool.free_count + in_use) as u32;
        }
        sum.mp_populated_size = sum.mp_size;
        // What is available stands in lists with room for every chunk, a pointer each.
        (sum.ring_count, sum.ring_free_count) = (sum.mp_available_count, sum.mp_in_use_count);
        sum.ring_bytes = u64::from(sum.mp_size) * size_of::<usize>() as u64;
        Ok(vec![sum])
    }
}

/// The address of ports that have none.
const MAC_NONE: &str = "00:00:00:00:00:00";
