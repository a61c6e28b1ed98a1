//! Modules that spread flows over gates and heed what happens there.

mod link_aggregation;
mod load_balancer;

pub use link_aggregation::{LinkAggregation, LinkMode};
pub use load_balancer::{LoadBalancer, LoadBalancerParams, LoadPoints};
