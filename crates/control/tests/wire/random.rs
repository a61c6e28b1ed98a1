//! Random and damaged bytes on every method of both services: each gets an answer, and nothing panics.

use prost::Message;
use prost_types::FileDescriptorSet;
use tidegate_base::Rng;
use tidegate_control::classes::MODULES;
use tidegate_control::proto::bess::{
    CommandRequest, CreateModuleRequest, CreateModuleResponse, EmptyRequest, Error,
};
use tidegate_control::proto::{DESCRIPTORS, bess};
use tokio::runtime::Builder;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use crate::fake::{Daemon, Fake};

const SEED: u64 = 0x7469_6465;
const ROUNDS: usize = 60;

/// A codec that leaves bytes as they are.
#[derive(Clone, Copy)]
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(buffer, &item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let len = bytes::Buf::remaining(buffer);
        Ok(Some(bytes::Buf::copy_to_bytes(buffer, len).to_vec()))
    }
}

/// Field 1 of every answer.
#[derive(Clone, PartialEq, Message)]
struct AnyAnswer {
    #[prost(message, tag = "1")]
    error: Option<Error>,
}

/// Paths of all unary methods of both services; of a stream, the answer would not end.
fn unary_methods() -> Vec<PathAndQuery> {
    let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap();
    let mut paths = Vec::new();
    for file in &set.file {
        for service in &file.service {
            for method in service.method.iter().filter(|method| !method.server_streaming()) {
                let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                paths.push(path.parse().unwrap());
            }
        }
    }
    assert_eq!(paths.len(), 48 + 10);
    paths
}

async fn call(channel: &Channel, path: &PathAndQuery, bytes: Vec<u8>) -> Result<Vec<u8>, Status> {
    let mut grpc = tonic::client::Grpc::new(channel.clone());
    grpc.ready().await.unwrap();
    grpc.unary(Request::new(bytes), path.clone(), Raw).await.map(|answer| answer.into_inner())
}

/// What may come of any bytes: an answer, or a status that says that they are no message, or no request.
fn sound(path: &PathAndQuery, outcome: Result<Vec<u8>, Status>) {
    match outcome {
        Ok(answer) if path.as_str().starts_with("/bess.pb.") => {
            let error = AnyAnswer::decode(&*answer).unwrap().error.unwrap_or_default();
            assert!(!error.errmsg.contains("failed inside"), "{path}: {}", error.errmsg);
            // What keeps a pipeline from running is told in words, and is no failure of the call.
            let may_say_more = path.as_str().ends_with("/CheckSchedulingConstraints");
            let is_told = error.code == 0 || !error.errmsg.is_empty();
            let is_quiet = error.code != 0 || error.errmsg.is_empty() || may_say_more;
            assert!(is_told && is_quiet, "{path}: {error:?}");
        }
        Ok(_) => {}
        Err(status) => {
            let no_message = status.code() == Code::Internal && status.message().contains("decode");
            let codes =
                [Code::InvalidArgument, Code::NotFound, Code::AlreadyExists, Code::FailedPrecondition];
            assert!(no_message || codes.contains(&status.code()), "{path}: {status:?}");
        }
    }
}

pub(crate) fn noise(rng: &mut Rng, len_max: u64) -> Vec<u8> {
    (0..rng.below(len_max)).map(|_| rng.next_u32() as u8).collect()
}

/// Bytes with the look of a message: keys of small fields, short lengths, now and then noise.
pub(crate) fn plausible(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..rng.below(6) {
        let (field, wire_type) = (1 + rng.below(9) as u8, [0, 1, 2, 2, 2, 5][rng.below(6) as usize]);
        bytes.push(field << 3 | wire_type);
        let body = noise(rng, 12);
        match wire_type {
            0 => bytes.push(rng.next_u32() as u8),
            1 => bytes.extend(rng.next_u64().to_le_bytes()),
            2 => {
                bytes.push(body.len() as u8);
                bytes.extend(body.iter().map(|byte| byte & 0x7f));
            }
            _ => bytes.extend(rng.next_u32().to_le_bytes()),
        }
    }
    bytes
}

#[test]
fn random_bytes_on_every_method_get_an_answer() {
    let daemon = Daemon::start(Fake::default());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let channel =
            Endpoint::from_shared(format!("http://{}", daemon.tcp)).unwrap().connect().await.unwrap();
        let mut rng = Rng::new(SEED);
        for path in unary_methods() {
            for round in 0..ROUNDS {
                let bytes = if round % 2 == 0 { plausible(&mut rng) } else { noise(&mut rng, 64) };
                sound(&path, call(&channel, &path, bytes).await);
            }
        }
    });
    daemon.client().get_version(EmptyRequest {}).unwrap();
}

#[test]
fn damaged_arguments_of_every_class_and_command_get_an_answer() {
    let daemon = Daemon::start(Fake::default());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let channel =
            Endpoint::from_shared(format!("http://{}", daemon.tcp)).unwrap().connect().await.unwrap();
        let mut rng = Rng::new(SEED + 1);
        let create = "/bess.pb.BESSControl/CreateModule".parse().unwrap();
        let command = "/bess.pb.BESSControl/ModuleCommand".parse().unwrap();
        for class in MODULES {
            let mut any = |kind: tidegate_control::Kind| {
                let type_url = format!("type.googleapis.com/{}", kind.full_name());
                let value = if rng.chance(0.5) { plausible(&mut rng) } else { noise(&mut rng, 40) };
                Some(prost_types::Any { type_url, value })
            };
            let mut made = String::new();
            for _ in 0..ROUNDS / 2 {
                let request = CreateModuleRequest {
                    name: String::new(),
                    mclass: class.name.into(),
                    arg: any(class.arg),
                };
                let outcome = call(&channel, &create, request.encode_to_vec()).await;
                if let Some(answer) =
                    outcome.as_ref().ok().and_then(|answer| CreateModuleResponse::decode(&**answer).ok())
                {
                    made = if answer.name.is_empty() { made } else { answer.name };
                }
                sound(&create, outcome);
            }
            for row in class.commands {
                for _ in 0..ROUNDS / 6 {
                    let request =
                        CommandRequest { name: made.clone(), cmd: row.name.into(), arg: any(row.arg) };
                    sound(&command, call(&channel, &command, request.encode_to_vec()).await);
                }
            }
        }
    });
    let modules = daemon.client().list_modules(bess::EmptyRequest {}).unwrap().modules;
    assert!(modules.len() > MODULES.len(), "some of the noise was an argument: {}", modules.len());
}
