//! `tidegate.v1.Control`: a fault goes back as the gRPC status that is nearest to it.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status};

use super::end_of;
use crate::calls::{pipeline, services, stacks};
use crate::controller::{Ending, Job, Kinds};
use crate::proto::v1::control_server::Control;
use crate::proto::v1::{
    BindTupleRequest, BindTupleResponse, ListServicesRequest, ListServicesResponse, ListStacksRequest,
    ListStacksResponse, ReleaseTupleRequest, ReleaseTupleResponse, ReloadZonesRequest, ReloadZonesResponse,
    ReplacePipelineRequest, ReplacePipelineResponse, ShowMetadataRequest, ShowMetadataResponse,
    ShowPipelineRequest, ShowPipelineResponse, StartServiceRequest, StartServiceResponse, StopServiceRequest,
    StopServiceResponse, WatchRequest, WatchResponse,
};
use crate::{Caller, Controller, Errno, Fault};

/// Milliseconds between two answers of a watch: what 0 means, and the limits.
const INTERVAL_MS_DEFAULT: u32 = 1_000;
const INTERVAL_MS: std::ops::RangeInclusive<u32> = 100..=3_600_000;
/// How often it is looked whether a service that ends is gone.
const DRAIN_PERIOD: Duration = Duration::from_millis(20);

/// The service.
pub(super) struct Tidegate {
    control: Caller,
    stopped: watch::Receiver<bool>,
}

impl Tidegate {
    pub(super) fn new(control: Caller, stopped: watch::Receiver<bool>) -> Self {
        Self { control, stopped }
    }

    async fn answer<Q, A>(
        &self,
        request: Request<Q>,
        method: fn(&mut dyn Controller, Q) -> Result<A, Fault>,
    ) -> Result<Response<A>, Status>
    where
        Q: Send + 'static,
        A: Send + 'static,
    {
        let request = request.into_inner();
        let outcome = self.control.call(move |controller| method(controller, request)).await;
        outcome.map(Response::new).map_err(|fault| status(&fault))
    }
}

#[tonic::async_trait]
impl Control for Tidegate {
    type WatchStream = ReceiverStream<Result<WatchResponse, Status>>;

    async fn replace_pipeline(
        &self,
        request: Request<ReplacePipelineRequest>,
    ) -> Result<Response<ReplacePipelineResponse>, Status> {
        self.answer(request, pipeline::replace_pipeline).await
    }

    async fn show_pipeline(
        &self,
        request: Request<ShowPipelineRequest>,
    ) -> Result<Response<ShowPipelineResponse>, Status> {
        self.answer(request, pipeline::show_pipeline).await
    }

    async fn show_metadata(
        &self,
        request: Request<ShowMetadataRequest>,
    ) -> Result<Response<ShowMetadataResponse>, Status> {
        self.answer(request, pipeline::show_metadata).await
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let request = request.into_inner();
        let kinds = pipeline::kinds(&request).map_err(|fault| status(&fault))?;
        let every = every(request.interval_ms).map_err(|fault| status(&fault))?;
        // One answer may wait: a client that reads slowly is told less often, and nothing piles up.
        let (answers, stream) = mpsc::channel(1);
        let told = tell(self.control.clone(), kinds, every, answers.clone());
        let end = end_of(self.stopped.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = told => {}
                () = end => {}
                () = answers.closed() => {}
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn start_service(
        &self,
        request: Request<StartServiceRequest>,
    ) -> Result<Response<StartServiceResponse>, Status> {
        let request = request.into_inner();
        let job = self.control.call(move |controller| services::prepare_service(controller, request)).await;
        let prepared = elsewhere(job).await.map_err(|fault| status(&fault))?;
        let outcome = self.control.call(move |controller| controller.start_service(prepared)).await;
        outcome.map(Response::new).map_err(|fault| status(&fault))
    }

    async fn reload_zones(
        &self,
        request: Request<ReloadZonesRequest>,
    ) -> Result<Response<ReloadZonesResponse>, Status> {
        let request = request.into_inner();
        let job = self.control.call(move |controller| services::reload_zones(controller, request)).await;
        elsewhere(job).await.map(Response::new).map_err(|fault| status(&fault))
    }

    /// The control thread is not kept: it is asked again and again until the service is gone.
    async fn stop_service(
        &self,
        request: Request<StopServiceRequest>,
    ) -> Result<Response<StopServiceResponse>, Status> {
        let request = request.into_inner();
        loop {
            let asked = request.clone();
            let ending = self.control.call(move |controller| services::stop_service(controller, asked)).await;
            match ending.map_err(|fault| status(&fault))? {
                Ending::Gone { cut_count } => {
                    return Ok(Response::new(StopServiceResponse { cut_connections: cut_count }));
                }
                Ending::Draining => tokio::time::sleep(DRAIN_PERIOD).await,
            }
        }
    }

    async fn list_services(
        &self,
        request: Request<ListServicesRequest>,
    ) -> Result<Response<ListServicesResponse>, Status> {
        self.answer(request, services::list_services).await
    }

    async fn bind_tuple(
        &self,
        request: Request<BindTupleRequest>,
    ) -> Result<Response<BindTupleResponse>, Status> {
        self.answer(request, stacks::bind_tuple).await
    }

    async fn release_tuple(
        &self,
        request: Request<ReleaseTupleRequest>,
    ) -> Result<Response<ReleaseTupleResponse>, Status> {
        self.answer(request, stacks::release_tuple).await
    }

    async fn list_stacks(
        &self,
        request: Request<ListStacksRequest>,
    ) -> Result<Response<ListStacksResponse>, Status> {
        self.answer(request, stacks::list_stacks).await
    }
}

/// Does a job on a thread where it keeps nobody waiting.
async fn elsewhere<T: Send + 'static>(job: Result<Job<T>, Fault>) -> Result<T, Fault> {
    let failed =
        |error| Fault::new(Errno::EIO, format!("the daemon failed inside, please report it: {error}"));
    tokio::task::spawn_blocking(job?).await.map_err(failed)?
}

fn every(interval_ms: u32) -> Result<Duration, Fault> {
    let interval_ms = if interval_ms == 0 { INTERVAL_MS_DEFAULT } else { interval_ms };
    if !INTERVAL_MS.contains(&interval_ms) {
        let (least, most) = INTERVAL_MS.into_inner();
        return Err(Fault::invalid(format!("interval_ms is {interval_ms}: it may be {least} to {most}")));
    }
    Ok(Duration::from_millis(interval_ms.into()))
}

/// Sends counters until the client is gone or the controller fails.
async fn tell(
    control: Caller,
    kinds: Kinds,
    every: Duration,
    answers: mpsc::Sender<Result<WatchResponse, Status>>,
) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let counters = control.call(move |controller| controller.counters(kinds)).await;
        let failed = counters.is_err();
        let sent = answers.send(counters.map_err(|fault| status(&fault))).await;
        if failed || sent.is_err() {
            return;
        }
    }
}

fn status(fault: &Fault) -> Status {
    let code = match fault.errno {
        Errno::EINVAL => Code::InvalidArgument,
        Errno::ENOENT | Errno::ENODEV => Code::NotFound,
        Errno::EEXIST => Code::AlreadyExists,
        Errno::EBUSY => Code::FailedPrecondition,
        Errno::EPERM => Code::PermissionDenied,
        Errno::ENOTSUP => Code::Unimplemented,
        Errno::ENOMEM | Errno::ENOSPC => Code::ResourceExhausted,
        _ => Code::Internal,
    };
    Status::new(code, fault.text.as_str())
}
