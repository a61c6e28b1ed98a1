//! A message that travels as `google.protobuf.Any`: which there are, and one as decoded and checked.
//!
//! Invariant: a [`Message`] that came from [`Message::decode`] has passed every check that holds for any
//! module (`check`): gates exist, shares are shares, one of a `oneof` is there. What must be parsed
//! further, like addresses, is left to the module that the message is for.

mod check;

use std::fmt;

use prost::{Message as _, Name};
use prost_types::Any;

use crate::Fault;
use crate::names::quoted;
use crate::proto::bess;

/// What stands before the message's name in a type URL that we write.
const URL_PREFIX: &str = "type.googleapis.com/";

/// Messages that say "no argument" wherever one could stand: clients send them for classes whose message
/// they do not find.
const EMPTY_NAMES: [&str; 3] = ["bess.pb.EmptyArg", "bess.pb.EmptyRequest", "google.protobuf.Empty"];

macro_rules! messages {
    ($($name:ident),* $(,)?) => {
        /// Which message.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs, reason = "each is named after the message that it stands for")]
        pub enum Kind { $($name),* }

        /// An argument or an answer.
        #[derive(Clone, PartialEq, Debug)]
        #[allow(missing_docs, reason = "each is named after the message that it holds")]
        pub enum Message { $($name(bess::$name)),* }

        impl Kind {
            /// All there are.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];

            /// The message's name without its package: `QueueArg`.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$name => <bess::$name as Name>::NAME),* }
            }

            fn parse(self, bytes: &[u8]) -> Result<Message, prost::DecodeError> {
                match self { $(Kind::$name => bess::$name::decode(bytes).map(Message::$name)),* }
            }
        }

        impl Message {
            /// Which message it is.
            pub const fn kind(&self) -> Kind {
                match self { $(Message::$name(_) => Kind::$name),* }
            }

            fn emit(&self) -> Vec<u8> {
                match self { $(Message::$name(message) => message.encode_to_vec()),* }
            }
        }

        $(
            impl From<bess::$name> for Message {
                fn from(message: bess::$name) -> Self {
                    Message::$name(message)
                }
            }

            impl TryFrom<Message> for bess::$name {
                type Error = Fault;

                fn try_from(message: Message) -> Result<Self, Fault> {
                    match message {
                        Message::$name(message) => Ok(message),
                        other => Err(unexpected(Kind::$name, other.kind().name())),
                    }
                }
            }
        )*
    };
}

messages! {
    TrackArg, TcpdumpArg, PcapngArg, EmptyArg, BpfCommandClearArg, ExactMatchCommandAddArg,
    ExactMatchCommandDeleteArg, ExactMatchCommandClearArg, ExactMatchCommandSetDefaultGateArg,
    FlowGenCommandSetBurstArg, HashLbCommandSetModeArg, HashLbCommandSetGatesArg,
    IpLookupCommandAddArg, IpLookupCommandDeleteArg, IpLookupCommandClearArg,
    L2ForwardCommandAddArg, L2ForwardCommandDeleteArg, L2ForwardCommandSetDefaultGateArg,
    L2ForwardCommandLookupArg, L2ForwardCommandLookupResponse, L2ForwardCommandPopulateArg,
    MeasureCommandGetSummaryArg, MeasureCommandGetSummaryResponse, DrrArg, DrrQuantumArg,
    DrrMaxFlowQueueSizeArg, PortIncCommandSetBurstArg, QueueIncCommandSetBurstArg,
    QueueCommandSetBurstArg, QueueCommandSetSizeArg, QueueCommandGetStatusArg,
    QueueCommandGetStatusResponse, RandomUpdateCommandClearArg, RewriteCommandClearArg,
    UpdateCommandClearArg, WildcardMatchCommandAddArg, WildcardMatchCommandDeleteArg,
    WildcardMatchCommandClearArg, WildcardMatchCommandSetDefaultGateArg, AclArg, BpfArg, BufferArg,
    BypassArg, DumpArg, EtherEncapArg, ExactMatchArg, ExactMatchConfig, FlowGenArg, GenericDecapArg,
    GenericEncapArg, HashLbArg, IpEncapArg, IpLookupArg, L2ForwardArg, MacSwapArg, MeasureArg,
    MergeArg, MetadataTestArg, NatArg, StaticNatArg, NoOpArg, PortIncArg, PortOutArg, QueueIncArg,
    QueueOutArg, QueueArg, RandomSplitArg, RandomSplitCommandSetDroprateArg,
    RandomSplitCommandSetGatesArg, RandomUpdateArg, RewriteArg, RoundRobinCommandSetGatesArg,
    RoundRobinCommandSetModeArg, RoundRobinArg, ReplicateArg, ReplicateCommandSetGatesArg,
    SetMetadataArg, SinkArg, SourceCommandSetBurstArg, SourceCommandSetPktSizeArg, SourceArg,
    IpChecksumArg, L4ChecksumArg, SplitArg, TimestampArg, UpdateArg, UrlFilterArg, UrlFilterConfig,
    VlanPopArg, VlanPushArg, VlanSplitArg, VxlanDecapArg, VxlanEncapArg, WildcardMatchArg,
    WildcardMatchConfig, ArpResponderArg, MplsPopArg, WorkerSplitArg, PcapPortArg, PmdPortArg,
    UnixSocketPortArg, VPortArg, AfxdpPortArg, BulkTapPortArg, LroArg, GreEncapArg, GreDecapArg, GeneveEncapArg,
    GeneveDecapArg, RateLimiterArg, RateLimiterCommandSetRatesArg, LoadBalancerArg,
    LoadBalancerCommandSetGatesArg, LinkAggregationArg, LinkAggregationCommandSetLinksArg, ImpairArg, ReclassArg, ReplayArg, TsoArg, MemifPortArg,
    VhostUserPortArg,
}

impl Kind {
    /// The message's name on the wire: `bess.pb.QueueArg`.
    pub fn full_name(self) -> String {
        format!("{}.{}", bess::EmptyArg::PACKAGE, self.name())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Message {
    /// What `any` holds, which must be of this kind, or nothing where all defaults will do.
    ///
    /// `EINVAL` says what was expected, or what in the message is wrong.
    pub fn decode(kind: Kind, any: Option<&Any>) -> Result<Message, Fault> {
        let bytes = bytes_of(kind, any)?;
        let message =
            kind.parse(bytes).map_err(|error| Fault::invalid(format!("{kind} is damaged: {error}")))?;
        message.check().map_err(|wrong| Fault::invalid(format!("{kind}: {wrong}")))?;
        Ok(message)
    }

    /// The message as it travels.
    pub fn to_any(&self) -> Any {
        Any { type_url: format!("{URL_PREFIX}{}", self.kind().full_name()), value: self.emit() }
    }
}

/// The bytes of a message of this kind; none for "no argument".
fn bytes_of(kind: Kind, any: Option<&Any>) -> Result<&[u8], Fault> {
    let Some(any) = any else { return Ok(&[]) };
    let name = any.type_url.rsplit('/').next().unwrap_or_default();
    if name == kind.full_name() {
        Ok(&any.value)
    } else if (name.is_empty() || EMPTY_NAMES.contains(&name)) && any.value.is_empty() {
        Ok(&[])
    } else {
        Err(unexpected(kind, &any.type_url))
    }
}

fn unexpected(wanted: Kind, given: &str) -> Fault {
    Fault::invalid(format!("{} was expected, not {}", wanted.full_name(), quoted(given)))
}

#[cfg(test)]
mod tests;
