//! Stacks of other processes, and the tuples that they and others have.

use super::Outcome;
use crate::proto::v1::ListStacksResponse;
use std::net::SocketAddr;

/// One end of flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TupleSpec {
    /// TCP, or UDP.
    pub is_tcp: bool,
    /// Its address, or the unspecified one, and its port.
    pub address: SocketAddr,
}

/// A tuple that is kept for somebody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReservationSpec {
    /// Which.
    pub tuple: TupleSpec,
    /// The NIC; to be found by the address if none is given.
    pub device: Option<String>,
    /// For whom.
    pub uid: u32,
    /// The grade that a stack must have: its name.
    pub grade: Option<String>,
}

/// What is asked of stacks.
pub trait Stacks {
    /// Keeps a tuple for a user's stacks; the NIC that it is on.
    fn reserve_tuple(&mut self, spec: ReservationSpec) -> Outcome<String>;

    /// Takes a tuple from whoever has it, services aside.
    fn release_tuple(&mut self, tuple: TupleSpec) -> Outcome;

    /// Everything that is given away.
    fn stacks(&mut self) -> Outcome<ListStacksResponse>;
}
