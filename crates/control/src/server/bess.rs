//! `bess.pb.BESSControl`: every method goes to the control thread, and a fault goes back as field 1.

use tonic::{Request, Response, Status};

use crate::methods::{Answer, for_each_method};
use crate::proto::bess::{self, bess_control_server::BessControl};
use crate::{Caller, Controller, Fault, calls};

/// The service.
pub(super) struct Bess {
    control: Caller,
}

impl Bess {
    pub(super) fn new(control: Caller) -> Self {
        Self { control }
    }

    /// What the control thread makes of it: always an answer, for the gRPC status stays OK.
    async fn answer<Q, A>(
        &self,
        request: Request<Q>,
        method: fn(&mut dyn Controller, Q) -> Result<A, Fault>,
    ) -> Result<Response<A>, Status>
    where
        Q: Send + 'static,
        A: Answer + Send + 'static,
    {
        let request = request.into_inner();
        let outcome = self.control.call(move |controller| method(controller, request)).await;
        Ok(Response::new(outcome.unwrap_or_else(|fault| A::failed(fault.record()))))
    }
}

macro_rules! serve {
    ($($name:ident($request:ident) -> $answer:ident;)*) => {
        #[tonic::async_trait]
        impl BessControl for Bess {
            $(async fn $name(
                &self,
                request: Request<bess::$request>,
            ) -> Result<Response<bess::$answer>, Status> {
                self.answer(request, calls::$name).await
            })*
        }
    };
}

for_each_method!(serve);
