//! The way from the server's threads to the one thread that owns the controller.
//!
//! ```text
//!   handler --Call--> |||||| --recv--> control thread: call.run(&mut controller)
//!      ^ awaits            bounded: who comes when CALLS_MAX wait, waits outside
//!      +------------------ answer
//! ```
//!
//! Invariant: a call that was queued runs whole, whether or not its client is still there; a call that was
//! not queued leaves no trace.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, unbounded};
use tokio::sync::{Semaphore, oneshot};

use crate::{Controller, Errno, Fault};

/// Calls that may wait at once.
const CALLS_MAX: usize = 64;

type Work = Box<dyn FnOnce(&mut dyn Controller) + Send>;

/// Something that a client asked the controller for.
pub struct Call(Work);

impl Call {
    /// Does it and answers the client. A controller that panics is reported to the client as `EIO`, and
    /// takes the next call.
    pub fn run(self, controller: &mut dyn Controller) {
        (self.0)(controller);
    }
}

/// The end that the control thread holds.
pub struct CallQueue(Receiver<Call>);

impl CallQueue {
    /// Runs calls until no server is left that could send one.
    pub fn run(&self, controller: &mut dyn Controller) {
        self.0.iter().for_each(|call| call.run(controller));
    }

    /// The channel that calls come by, for a loop that waits for other things too.
    pub fn receiver(&self) -> &Receiver<Call> {
        &self.0
    }
}

/// The end that a server holds.
#[derive(Clone)]
pub struct Caller {
    calls: Sender<Call>,
    room: Arc<Semaphore>,
}

/// A queue of calls.
pub fn queue() -> (Caller, CallQueue) {
    let (calls, receiver) = unbounded();
    (Caller { calls, room: Arc::new(Semaphore::new(CALLS_MAX)) }, CallQueue(receiver))
}

impl Caller {
    /// Has the control thread do `work`, and waits for its outcome; `EIO` when there is no such thread any more.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Controller) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let place = self.room.clone().acquire_owned().await.map_err(|_| gone())?;
        let (answer, answered) = oneshot::channel();
        let call = Call(Box::new(move |controller| {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(controller)));
            // A client that has gone away needs no answer.
            let _ = answer.send(outcome.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))));
            drop(place);
        }));
        self.calls.send(call).map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Waits until no call is queued or running.
    pub(crate) async fn idle(&self) {
        // The semaphore is never closed, and what is acquired is given back at once.
        let _ = self.room.acquire_many(CALLS_MAX as u32).await;
    }
}

fn gone() -> Fault {
    Fault::new(Errno::EIO, "the daemon is ending: nothing is changed any more")
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Fault {
    let text = panic.downcast_ref::<&str>().copied();
    let text =
        text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason told");
    Fault::new(Errno::EIO, format!("the daemon failed inside, please report it: {text}"))
}
