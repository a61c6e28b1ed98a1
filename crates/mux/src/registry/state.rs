//! What of the registry outlives the daemon: a text, a record a line.
//!
//! ```text
//!   tidegate-mux 1
//!   stack SLOT UID DEVICE GRADE QUEUE|- TOKEN
//!   bind tcp|udp ADDRESS:PORT DEVICE SLOT|- UID|- GRADE|-        whose it is; whom it is reserved for
//! ```
//! Services' tuples are not in it: the services that held them ended with the daemon.

use super::{Binding, Grade, Limits, Owner, RECLAIM_PATIENCE, Registry, Reservation, Stack, Token, Wanted};
use std::fmt::Write;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Instant;
use tidegate_bpf::{Protocol, Tuple};

const HEADING: &str = "tidegate-mux 1";

/// A state that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no record of this version: remove the file, and stacks attach anew")]
pub struct StateError {
    /// Which line, from 1.
    pub line: usize,
}

impl Registry {
    /// What a later daemon needs to go on.
    pub fn to_state(&self) -> String {
        let mut text = format!("{HEADING}\n");
        for (slot, stack) in &self.stacks {
            let Stack { uid, wanted: Wanted { device, grade, queue }, token, .. } = stack;
            let _ = writeln!(text, "stack {slot} {uid} {device} {grade} {} {}", or_dash(*queue), hex(token));
        }
        for (tuple, binding) in &self.bindings {
            let slot = match &binding.owner {
                Owner::Service(_) => continue,
                Owner::Stack(slot) => Some(*slot),
                Owner::Reserved => None,
            };
            let uid = binding.reservation.map(|reservation| reservation.uid);
            let grade = binding.reservation.and_then(|reservation| reservation.grade);
            let (slot, uid, grade) = (or_dash(slot), or_dash(uid), or_dash(grade));
            let _ = writeln!(text, "bind {tuple} {} {slot} {uid} {grade}", binding.device);
        }
        text
    }

    /// Goes on from there. Nobody has claimed a lease back yet.
    pub fn restore(limits: Limits, text: &str, now: Instant) -> Result<Self, StateError> {
        let mut registry = Self::new(limits);
        let mut lines = text.lines().zip(1..);
        if lines.next().is_none_or(|(heading, _)| heading != HEADING) {
            return Err(StateError { line: 1 });
        }
        for (text, line) in lines {
            registry.restore_line(text, now).ok_or(StateError { line })?;
        }
        Ok(registry)
    }

    fn restore_line(&mut self, line: &str, now: Instant) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match *words.as_slice() {
            ["stack", slot, uid, device, grade, queue, token] => {
                let wanted =
                    Wanted { device: device.to_owned(), grade: Grade::named(grade)?, queue: maybe(queue)? };
                let lost_until = Some(now + RECLAIM_PATIENCE);
                let stack =
                    Stack { uid: uid.parse().ok()?, pid: 0, wanted, token: unhex(token)?, lost_until };
                let slot = slot.parse().ok().filter(|slot| *slot < self.limits.slot_count)?;
                self.stacks.insert(slot, stack).is_none().then_some(())
            }
            ["bind", protocol, address, device, slot, uid, grade] => {
                let owner = maybe(slot)?.map_or(Owner::Reserved, Owner::Stack);
                let is_known = |slot: &u32| self.stacks.contains_key(slot);
                if matches!(&owner, Owner::Stack(slot) if !is_known(slot)) {
                    return None;
                }
                let grade = if grade == "-" { None } else { Some(Grade::named(grade)?) };
                let reservation = maybe(uid)?.map(|uid| Reservation { uid, grade });
                if owner == Owner::Reserved && reservation.is_none() {
                    return None;
                }
                let binding = Binding { device: device.to_owned(), owner, reservation };
                self.bindings.insert(tuple(protocol, address)?, binding).is_none().then_some(())
            }
            _ => None,
        }
    }
}

fn tuple(protocol: &str, address: &str) -> Option<Tuple> {
    let address: SocketAddr = address.parse().ok()?;
    let protocol = match protocol {
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        _ => return None,
    };
    Some(Tuple { protocol, address: address.ip(), port: address.port() })
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// Nothing where there is a dash.
fn maybe<T: FromStr>(word: &str) -> Option<Option<T>> {
    if word == "-" { Some(None) } else { word.parse().ok().map(Some) }
}

fn hex(token: &Token) -> String {
    token.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Token> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32)?;
    Some(number.to_be_bytes())
}
