//! The modules of the pipeline: one file each. A module's card, with its gates, parameters, attributes and counters, is
//! the head of its file, or stands in `cards/`.
//!
//! | module     | in | out | what it does                                              |
//! |------------|----|-----|-----------------------------------------------------------|
//! | `source`   | 0  | 1   | makes frames out of nothing                               |
//! | `sink`     | 1  | 0   | where frames end                                          |
//! | `bypass`   | n  | n   | lets everything pass, gate N to gate N; may spend cycles  |
//! | `no_op`    | 0  | 0   | a task that does nothing                                  |
//! | `dump`     | 1  | 1   | shows a frame now and then                                |
//! | `buffer`   | 1  | 1   | holds frames until a batch is full                        |
//! | `arp_responder` | 1 | 1 | answers ARP, and learns                                 |
//! | `port_in`  | 0  | 1   | receives from a port                                      |
//! | `port_out` | 1  | 0   | sends to a port                                           |
//! | `stack`    | 1  | 1   | a host with a service: web, DNS, your code                |
//! | `impair`   | 1  | 1   | loses, delays, reorders, duplicates and corrupts packets  |
//! | `flow_gen` | 0  | 1   | makes flows that begin, send and end                      |
//! | `url_filter` | 2 | 2  | refuses HTTP requests for what is on a list               |
//! | `bpf`      | 1  | n   | steers frames by tcpdump's filters                        |
//! | `replay`   | 0  | 1   | replays a capture in its own pace                         |
//! | `measure`  | 1  | 1   | how long frames were under way, and how evenly they come  |
//! | `demux`    | 1  | n   | gives frames to whoever has the end of the flow they are for |
//! | `egress_check` | 1 | 1 | lets a stack send its own datagrams and nothing else      |
//!
//! | folder    | what its modules do to frames                  | modules |
//! |-----------|------------------------------------------------|---------|
//! | `header/` | change headers in place                        | `mac_swap`, `ip_swap`, `vlan_push`, `vlan_pop`, `mpls_pop`, `update`, `random_update`, `rewrite`, `update_ttl`, `ip_checksum`, `l4_checksum` |
//! | `encap/`  | put headers in front, and take them away       | `ether_encap`, `ip_encap`, `generic_encap`, `generic_decap`, `vxlan_encap`, `vxlan_decap`, `gre_encap`, `gre_decap`, `geneve_encap`, `geneve_decap` |
//! | `split/`  | steer them                                     | `split`, `vlan_split`, `worker_split`, `random_split`, `round_robin`, `replicate`, `merge`, `hash_lb` |
//! | `mark/`   | give them times and attributes to carry        | `timestamp`, `set_metadata`, `metadata_test` |
//! | `queue/`  | have them wait; ends of single queues          | `queue`, `queue_inc`, `queue_out`, `drr`, `rate_limiter`, `reclass` |
//! | `lookup/` | steer or drop them by what a table says        | `exact_match`, `wildcard_match`, `l2_forward`, `ip_lookup`, `acl` |
//! | `balance/` | spread flows and heed what happens          | `load_balancer`, `link_aggregation` |
//! | `offload/` | what NICs do for TCP                      | `tso`, `lro` |
//! | `nat/`    | translate addresses                            | `nat`, `static_nat` |
#![forbid(unsafe_code)]

mod arp_responder;
mod attribute;
pub mod balance;
pub mod bpf;
mod buffer;
mod bulk;
mod bypass;
mod demux;
mod dump;
mod egress_check;
pub mod encap;
mod field;
pub mod flow_gen;
mod flow_hash;
pub mod header;
mod impair;
mod layers;
pub mod lookup;
pub mod mark;
mod measure;
pub mod nat;
mod no_op;
pub mod offload;
mod parameter;
mod port_in;
mod port_out;
pub mod queue;
mod segment;
mod sink;
mod source;
pub mod split;
mod stack;
mod stamp;
mod steer;
pub mod url_filter;
mod window;

pub use arp_responder::ArpResponder;
pub use buffer::Buffer;
pub use bypass::{Bypass, BypassParams};
pub use demux::Demux;
pub use dump::{DUMP_INTERVAL_DEFAULT, Dump, Hex, Viewer};
pub use egress_check::{EgressCheck, EgressTally};
pub use field::{Field, Position};
pub use flow_hash::Layer;
pub use impair::{Impair, ImpairConfig, ImpairError};
pub use measure::{HistogramSummary, Measure, MeasureParams, MeasureSummary, StampPlace};
pub use no_op::NoOp;
pub use parameter::{FRAME_LEN_MAX, ParameterError};
pub use port_in::PortIn;
pub use port_out::PortOut;
pub use sink::Sink;
pub use source::{SOURCE_LEN_DEFAULT, Source};
pub use stack::StackModule;
pub use stamp::read_stamp;

#[cfg(test)]
mod rig;
#[cfg(test)]
mod small_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod waiting_tests;
