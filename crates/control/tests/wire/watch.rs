//! `Watch`: any bytes as its request, readers that do not read, readers that go without a word. What they cost is bounded.

use std::time::Duration;

use prost::Message;
use tidegate_base::Rng;
use tidegate_control::MESSAGE_LEN_MAX;
use tidegate_control::proto::bess::EmptyRequest;
use tidegate_control::proto::v1::control_client::ControlClient;
use tidegate_control::proto::v1::{WatchRequest, WatchResponse};
use tokio::runtime::{Builder, Runtime};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Streaming};

use crate::fake::{Daemon, Fake};
use crate::random::{Raw, noise, plausible};

const SEED: u64 = 0x7761_7463;
/// Watches that one connection may have.
const STREAMS_MAX: usize = 32;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn channel(daemon: &Daemon) -> Channel {
    Endpoint::from_shared(format!("http://{}", daemon.tcp)).unwrap().connect().await.unwrap()
}

/// A watch as often as may be.
async fn watch(channel: &Channel) -> Streaming<WatchResponse> {
    let mut client = ControlClient::new(channel.clone()).max_decoding_message_size(MESSAGE_LEN_MAX);
    let request = WatchRequest { interval_ms: 100, kinds: Vec::new() };
    client.watch(request).await.unwrap().into_inner()
}

/// How often the controller was asked for counters so far.
fn asked(daemon: &Daemon) -> usize {
    daemon.log.lock().unwrap().iter().filter(|line| line.starts_with("counters")).count()
}

#[test]
fn random_requests_get_counters_or_a_reason() {
    let daemon = Daemon::start(Fake::default());
    let (mut told, mut refused) = (0, 0);
    runtime().block_on(async {
        let channel = channel(&daemon).await;
        let path: tonic::codegen::http::uri::PathAndQuery = "/tidegate.v1.Control/Watch".parse().unwrap();
        let mut rng = Rng::new(SEED);
        for round in 0..300 {
            let bytes = match round % 3 {
                0 => plausible(&mut rng),
                1 => noise(&mut rng, 64),
                _ => WatchRequest {
                    interval_ms: [0, 50, 100, 3_600_000, 3_600_001, u32::MAX][rng.below(6) as usize],
                    kinds: (0..rng.below(5)).map(|_| rng.below(7) as i32 - 1).collect(),
                }
                .encode_to_vec(),
            };
            let mut grpc = tonic::client::Grpc::new(channel.clone());
            grpc.ready().await.unwrap();
            match grpc.server_streaming(Request::new(bytes), path.clone(), Raw).await {
                Ok(answers) => {
                    let first = answers.into_inner().message().await.unwrap().unwrap();
                    assert_eq!(WatchResponse::decode(&*first).unwrap().timestamp, 2.0);
                    told += 1;
                }
                Err(status) => {
                    let is_damaged = status.code() == Code::Internal && status.message().contains("decode");
                    assert!(is_damaged || status.code() == Code::InvalidArgument, "{status:?}");
                    refused += 1;
                }
            }
        }
    });
    assert!(told > 20 && refused > 20, "{told} {refused}");
    daemon.client().get_version(EmptyRequest {}).unwrap();
}

/// Answers of a MiB: what fits between the two ends is a few of them a stream, however long nobody reads.
#[test]
fn readers_that_do_not_read_are_asked_for_nothing_more() {
    const READERS: usize = 4;
    /// The client's window, the server's buffer, one answer that waits, one that is being made.
    const IN_BETWEEN: usize = 8;
    let daemon = Daemon::start(Fake { counters_len: 1 << 20, ..Fake::default() });
    runtime().block_on(async {
        let mut streams = Vec::new();
        for _ in 0..READERS {
            // A connection each, whose window is its own.
            let channel = channel(&daemon).await;
            streams.push(watch(&channel).await);
        }
        // Thirty times as often as they may be told.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let count = asked(&daemon);
        assert!((READERS..=READERS * IN_BETWEEN).contains(&count), "{count} answers were made");
        let still = asked(&daemon);
        // Others are served meanwhile, and one that reads again is told again.
        let reader = &mut streams[0];
        for _ in 0..2 * IN_BETWEEN {
            assert_eq!(reader.message().await.unwrap().unwrap().modules[0].module.len(), 1 << 20);
        }
        assert!(asked(&daemon) > still);
    });
}

#[test]
fn readers_that_are_gone_are_forgotten() {
    const READERS: usize = 20;
    const ANSWERS: usize = 10;
    let daemon = Daemon::start(Fake::default());
    for _ in 0..READERS {
        let dying = runtime();
        dying.block_on(async {
            let mut stream = watch(&channel(&daemon).await).await;
            stream.message().await.unwrap().unwrap();
            std::mem::forget(stream);
        });
    }
    let before = asked(&daemon);
    runtime().block_on(async {
        let mut stream = watch(&channel(&daemon).await).await;
        for _ in 0..ANSWERS {
            stream.message().await.unwrap().unwrap();
        }
    });
    // Each of the dead may have been told once more.
    let count = asked(&daemon) - before;
    assert!(count <= ANSWERS + 1 + READERS, "{count} answers were made for one reader of {ANSWERS}");
}

#[test]
fn a_connection_has_so_many_streams_and_no_more() {
    let daemon = Daemon::start(Fake::default());
    runtime().block_on(async {
        let channel = channel(&daemon).await;
        let mut streams = Vec::new();
        for _ in 0..STREAMS_MAX {
            let mut stream = watch(&channel).await;
            stream.message().await.unwrap().unwrap();
            streams.push(stream);
        }
        let one_more = tokio::time::timeout(Duration::from_millis(300), watch(&channel)).await;
        assert!(one_more.is_err(), "it has to wait for one of the others to end");
        streams.pop();
        watch(&channel).await.message().await.unwrap().unwrap();
    });
    daemon.client().get_version(EmptyRequest {}).unwrap();
}
