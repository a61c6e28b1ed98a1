//! Workers: threads that run pipelines.

use super::Outcome;
use crate::proto::bess::list_workers_response::WorkerStatus;

/// A worker to start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkerSpec {
    /// Its number.
    pub wid: u8,
    /// The core to pin it to.
    pub core: u32,
}

/// What is asked of workers.
pub trait Workers {
    /// Notes that all workers are to pause; a change needs no pause and traffic may well go on.
    fn pause_all(&mut self) -> Outcome;

    /// Takes every pause back.
    fn resume_all(&mut self) -> Outcome;

    /// Pauses one worker.
    fn pause_worker(&mut self, wid: u8) -> Outcome;

    /// Takes one worker's pause back.
    fn resume_worker(&mut self, wid: u8) -> Outcome;

    /// Removes all workers.
    fn reset_workers(&mut self) -> Outcome;

    /// All workers, by number.
    fn workers(&mut self) -> Outcome<Vec<WorkerStatus>>;

    /// Starts a worker; `EEXIST` if there is one of that number.
    fn add_worker(&mut self, spec: WorkerSpec) -> Outcome;

    /// Ends a worker.
    fn destroy_worker(&mut self, wid: u8) -> Outcome;
}
