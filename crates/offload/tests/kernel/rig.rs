//! A loaded program with a table and a service over each IP version, and the same in Rust beside it.

use std::net::SocketAddr;

use tidegate_base::Instant;
use tidegate_bpf::{Action, LoadError, LoadOptions, OffloadOutcome, OffloadPlace, OffloadTable, XdpProgram};
use tidegate_offload::model::Model;
use tidegate_offload::{Capacity, Rule, RuleId, Table};
use tidegate_wire::MacAddr;

use crate::frames::NIC;
use crate::reference::{Nic, Outcome};

pub(crate) const SLOT: u32 = 3;
const MTU: u32 = 1500;
/// Later than the ends of rules that tests make, and long before the kernel's.
pub(crate) const NOW: Instant = Instant::from_millis(1);

/// Loads the program; `None`, said on standard error, where the process may not and need not.
pub(crate) fn load() -> Option<XdpProgram> {
    match XdpProgram::load(&LoadOptions::default()) {
        Ok(program) => Some(program),
        Err(LoadError::NotPermitted) if std::env::var_os("CI").is_none() => {
            eprintln!("not run: loading an XDP program needs root");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A table of `capacity` in the program's slot.
pub(crate) fn table_in(program: &XdpProgram, capacity: Capacity) -> Table<OffloadTable> {
    let memory = program.offload_table(SLOT, capacity.page_count()).expect("memory for a table");
    let table = Table::create(memory, capacity, 0x7469_6465).expect("a table that fits its memory");
    program.set_table(table.memory()).expect("a slot has a place");
    table
}

/// All of it.
pub(crate) struct Rig {
    pub(crate) program: XdpProgram,
    pub(crate) table: Table<OffloadTable>,
    pub(crate) model: Model,
    pub(crate) nic: Nic,
}

impl Rig {
    pub(crate) fn new() -> Option<Self> {
        let program = load()?;
        let table = table_in(&program, Capacity { rule_count: 1000, record_bytes: 500_000 });
        let services: Vec<SocketAddr> =
            ["192.0.2.1:53", "[2001:db8::1]:53"].map(|text| text.parse().expect("a literal address")).into();
        for service in &services {
            program.serve(*service, SLOT).expect("a service has a place");
        }
        program.answer_as(MacAddr(NIC), MTU).expect("the setting can be written");
        let nic = Nic { mac: NIC, mtu: MTU as usize, services };
        Some(Self { program, table, model: Model::default(), nic })
    }

    /// Puts a rule into both, if it can be one.
    pub(crate) fn put(&mut self, id: RuleId, rule: &Rule) {
        match self.table.put(id, rule) {
            Ok(()) => self.model.put(id, rule),
            Err(tidegate_offload::PutError::GroupDropped { group }) => {
                self.table.renew(group).expect("a group");
                self.model.renew(group);
            }
            Err(_) => {}
        }
    }

    /// What must become of a frame. Unsound requests change nothing.
    pub(crate) fn expected(&mut self, frame: &[u8]) -> Outcome {
        let model = &mut self.model;
        if self.nic.is_sound(frame) {
            return self.nic.look(frame, |request| model.serve(request, NOW));
        }
        let mut untouched = model.clone();
        self.nic.look(frame, |request| untouched.serve(request, NOW))
    }

    /// What becomes of a frame in the kernel, and that it is counted as that.
    pub(crate) fn run(&self, place: OffloadPlace, frame: &[u8]) -> Outcome {
        let read = || self.program.offload_counters().expect("counters can be read");
        let before = read();
        let reply = match place {
            OffloadPlace::Xdp => match self.program.test_reply(frame).expect("the kernel runs the frame") {
                (Action::Transmit, reply) => Some(reply),
                (Action::Pass, same) => {
                    assert_eq!(same, frame, "what is passed is as it came");
                    None
                }
                (action, _) => panic!("the program returned {action:?}"),
            },
            OffloadPlace::Tc => self.program.test_fallback(frame).expect("the kernel runs the frame"),
        };
        let counted = read().since(&before);
        let counted: Vec<_> = counted.iter().filter(|(.., frames)| *frames > 0).collect();
        match (reply, &counted[..]) {
            (Some(reply), [(found, OffloadOutcome::Answered, 1)]) if *found == place => {
                Outcome::Answered(reply)
            }
            (None, []) => Outcome::Foreign,
            (None, [(found, outcome, 1)]) if *found == place => Outcome::Passed(*outcome),
            (reply, counted) => panic!("counted as {counted:?}, and the reply is {reply:02x?}"),
        }
    }
}
