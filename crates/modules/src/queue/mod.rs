//! Modules in which frames wait, and the ends of single queues of ports.

mod drr;
mod line;
#[allow(clippy::module_inception)]
mod queue;
mod queue_inc;
mod queue_out;
mod rate_limiter;
mod reclass;
mod ring;

pub use drr::{Drr, DrrParams};
pub use line::{Inlet, Outlet, line};
pub use queue::{QUEUE_SIZE_DEFAULT, Queue, QueueParams, QueueStatus};
pub use queue_inc::{QueueInc, QueueIncParams};
pub use queue_out::QueueOut;
pub use rate_limiter::{RateLimiter, RateLimiterError, RateLimiterParams};
pub use reclass::{Reclass, ReclassParams};
