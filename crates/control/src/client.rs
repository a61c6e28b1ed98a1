//! A client for the command line: one call at a time, each waits for its answer.

use std::time::Duration;

use thiserror::Error;
use tokio::runtime::{self, Runtime};
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};

use crate::methods::{Answer, for_each_method};
use crate::proto::bess::{self, bess_control_client::BessControlClient};
use crate::proto::v1::control_client::ControlClient;
use crate::proto::v1::{
    BindTupleRequest, ListServicesRequest, ListStacksRequest, ListStacksResponse, PipelineSpec,
    ReleaseTupleRequest, ReloadZonesRequest, ReplacePipelineRequest, ReplacePipelineResponse, Service,
    ShowMetadataRequest, ShowMetadataResponse, ShowPipelineRequest, StartServiceRequest,
    StartServiceResponse, StopServiceRequest, StopServiceResponse, Tuple, WatchRequest, WatchResponse,
    ZoneNews,
};
use crate::{Fault, MESSAGE_LEN_MAX};

/// How long the daemon has to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a call gave nothing.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody there.
    #[error("no daemon answers at {address}: start one, or name another address ({why})")]
    Unreachable {
        /// Where.
        address: String,
        /// What the system said.
        why: String,
    },
    /// The daemon refused or failed.
    #[error("{0}")]
    Refused(#[from] Fault),
    /// The call did not come through, or `tidegate.v1` refused it.
    #[error("{}", .0.message())]
    Status(Box<Status>),
}

impl From<Status> for ClientError {
    fn from(status: Status) -> Self {
        ClientError::Status(Box::new(status))
    }
}

/// A connection to a daemon.
pub struct Client {
    runtime: Runtime,
    bess: BessControlClient<Channel>,
    own: ControlClient<Channel>,
}

impl Client {
    /// Connects to `address`: `127.0.0.1:10514`, or `unix:/run/tidegate/control`.
    pub fn connect(address: &str) -> Result<Client, ClientError> {
        let unreachable = |why: String| ClientError::Unreachable { address: address.to_owned(), why };
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| unreachable(error.to_string()))?;
        let uri = if address.starts_with("unix:") { address.to_owned() } else { format!("http://{address}") };
        let endpoint = Endpoint::from_shared(uri).map_err(|error| unreachable(reasons(&error)))?;
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT);
        let channel = runtime.block_on(endpoint.connect()).map_err(|error| unreachable(reasons(&error)))?;
        let bess = BessControlClient::new(channel.clone()).max_decoding_message_size(MESSAGE_LEN_MAX);
        let own = ControlClient::new(channel).max_decoding_message_size(MESSAGE_LEN_MAX);
        Ok(Client { runtime, bess, own })
    }

    /// Puts a pipeline in the place of the one that runs, or only says what would change.
    pub fn replace_pipeline(
        &mut self,
        pipeline: PipelineSpec,
        check_only: bool,
    ) -> Result<ReplacePipelineResponse, ClientError> {
        let request = ReplacePipelineRequest { pipeline: Some(pipeline), check_only };
        Ok(self.runtime.block_on(self.own.replace_pipeline(request))?.into_inner())
    }

    /// The pipeline that runs, with all that its modules were told.
    pub fn show_pipeline(&mut self) -> Result<PipelineSpec, ClientError> {
        self.ask_for_pipeline(false)
    }

    /// The same without what modules were told.
    pub fn show_graph(&mut self) -> Result<PipelineSpec, ClientError> {
        self.ask_for_pipeline(true)
    }

    fn ask_for_pipeline(&mut self, without_commands: bool) -> Result<PipelineSpec, ClientError> {
        let request = ShowPipelineRequest { without_commands };
        let answer = self.runtime.block_on(self.own.show_pipeline(request))?;
        Ok(answer.into_inner().pipeline.unwrap_or_default())
    }

    /// Where metadata attributes lie: of these modules, or of all if none is named.
    pub fn show_metadata(&mut self, modules: Vec<String>) -> Result<ShowMetadataResponse, ClientError> {
        Ok(self.runtime.block_on(self.own.show_metadata(ShowMetadataRequest { modules }))?.into_inner())
    }

    /// Starts the web and name servers of a configuration.
    pub fn start_service(
        &mut self,
        request: StartServiceRequest,
    ) -> Result<StartServiceResponse, ClientError> {
        Ok(self.runtime.block_on(self.own.start_service(request))?.into_inner())
    }

    /// Ends one, and waits until it is gone.
    pub fn stop_service(&mut self, request: StopServiceRequest) -> Result<StopServiceResponse, ClientError> {
        Ok(self.runtime.block_on(self.own.stop_service(request))?.into_inner())
    }

    /// Web and name servers that the daemon runs.
    pub fn list_services(&mut self) -> Result<Vec<Service>, ClientError> {
        Ok(self.runtime.block_on(self.own.list_services(ListServicesRequest {}))?.into_inner().services)
    }

    /// Keeps a tuple for a user's stacks; the NIC that it is on.
    pub fn bind_tuple(&mut self, request: BindTupleRequest) -> Result<String, ClientError> {
        Ok(self.runtime.block_on(self.own.bind_tuple(request))?.into_inner().device)
    }

    /// Takes a tuple from the stack that has it and from whom it is kept for.
    pub fn release_tuple(&mut self, tuple: Tuple) -> Result<(), ClientError> {
        let request = ReleaseTupleRequest { tuple: Some(tuple) };
        self.runtime.block_on(self.own.release_tuple(request))?;
        Ok(())
    }

    /// Stacks of other processes, and tuples that are given away.
    pub fn list_stacks(&mut self) -> Result<ListStacksResponse, ClientError> {
        Ok(self.runtime.block_on(self.own.list_stacks(ListStacksRequest {}))?.into_inner())
    }

    /// Has name servers read zone files again: of one service, or of all if it is empty, and of zones likewise.
    pub fn reload_zones(&mut self, request: ReloadZonesRequest) -> Result<Vec<ZoneNews>, ClientError> {
        Ok(self.runtime.block_on(self.own.reload_zones(request))?.into_inner().zones)
    }

    /// Hands counters to `on_counters` as they come, until it says `false` or the daemon ends.
    pub fn watch(
        &mut self,
        request: WatchRequest,
        mut on_counters: impl FnMut(WatchResponse) -> bool,
    ) -> Result<(), ClientError> {
        self.runtime.block_on(async {
            let mut stream = self.own.watch(request).await?.into_inner();
            while let Some(counters) = stream.message().await? {
                if !on_counters(counters) {
                    break;
                }
            }
            Ok(())
        })
    }
}

macro_rules! ask {
    ($($name:ident($request:ident) -> $answer:ident;)*) => {
        /// The methods of `bess.pb.BESSControl`; an error in an answer's field 1 is a
        /// [`ClientError::Refused`].
        impl Client {
            $(
                #[doc = concat!("`", stringify!($request), "` to `", stringify!($answer), "`.")]
                pub fn $name(&mut self, request: bess::$request) -> Result<bess::$answer, ClientError> {
                    accepted(self.runtime.block_on(self.bess.$name(request)))
                }
            )*
        }
    };
}

for_each_method!(ask);

/// The answer, unless it carries an error.
fn accepted<A: Answer>(answer: Result<Response<A>, Status>) -> Result<A, ClientError> {
    let answer = answer?.into_inner();
    match answer.error() {
        Some(error) if error.code != 0 => Err(Fault::from(error).into()),
        _ => Ok(answer),
    }
}

/// An error with what caused it, in one line.
fn reasons(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
