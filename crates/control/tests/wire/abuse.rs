//! Servers and clients that come, go, die or misbehave: the next client is served as if nothing had been.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::thread;

use crossbeam_channel::bounded;
use tidegate_control::proto::bess::bess_control_client::BessControlClient;
use tidegate_control::proto::bess::{
    CreateModuleRequest, DestroyModuleRequest, EmptyRequest, ImportPluginRequest,
};
use tidegate_control::proto::v1::WatchRequest;
use tidegate_control::{Client, ClientError, Errno, Listen, ListenError, MESSAGE_LEN_MAX, Server, queue};

use crate::fake::{Daemon, Fake, socket_path};

fn module(name: &str, mclass: &str) -> CreateModuleRequest {
    CreateModuleRequest { name: name.into(), mclass: mclass.into(), arg: None }
}

#[test]
fn only_the_loopback_is_listened_on_unless_told() {
    let tcp = Some("0.0.0.0:0".parse().unwrap());
    let listen = Listen { tcp, ..Listen::default() };
    let refused = Server::start(&listen, queue().0).err().unwrap();
    assert!(matches!(refused, ListenError::Remote(_)), "{refused}");
    assert!(Server::start(&Listen { remote_allowed: true, ..listen }, queue().0).is_ok());
    assert_eq!(Listen::default().tcp.unwrap().to_string(), "127.0.0.1:10514");
}

#[test]
fn a_taken_address_is_named() {
    let daemon = Daemon::start(Fake::default());
    let listen = Listen { tcp: Some(daemon.tcp.parse().unwrap()), ..Listen::default() };
    let refused = Server::start(&listen, queue().0).err().unwrap().to_string();
    assert!(refused.contains(&daemon.tcp), "{refused}");
}

#[test]
fn a_socket_that_was_left_behind_is_replaced_and_a_live_one_is_not() {
    let path = socket_path();
    drop(UnixListener::bind(&path).unwrap());
    let listen = Listen { tcp: None, unix: Some(path.clone()), remote_allowed: false };
    let server = Server::start(&listen, queue().0).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let second = Server::start(&listen, queue().0).err().unwrap();
    assert!(matches!(second, ListenError::Unix { .. }), "{second}");
    server.shutdown();
    assert!(!path.exists());
}

#[test]
fn a_file_is_not_taken_for_a_socket() {
    let path = socket_path();
    std::fs::write(&path, "precious").unwrap();
    let listen = Listen { tcp: None, unix: Some(path.clone()), remote_allowed: false };
    assert!(Server::start(&listen, queue().0).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_call_whose_client_dies_is_done_whole() {
    let (entered, has_entered) = bounded(1);
    let (release, released) = bounded(1);
    let daemon = Daemon::start(Fake { hold: Some((entered, released)), ..Fake::default() });
    let address = format!("http://{}", daemon.tcp);
    let dying = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    dying.block_on(async {
        let mut client = BessControlClient::connect(address).await.unwrap();
        tokio::spawn(async move { client.create_module(module("held", "Queue")).await });
        while has_entered.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
    });
    drop(dying);
    release.send(()).unwrap();
    let modules = daemon.client().list_modules(EmptyRequest {}).unwrap().modules;
    assert_eq!(modules.into_iter().map(|module| module.name).collect::<Vec<_>>(), ["held"]);
}

#[test]
fn calls_of_many_clients_come_one_at_a_time() {
    let daemon = Daemon::start(Fake::default());
    let names: Vec<Vec<String>> = thread::scope(|scope| {
        let client = || {
            let mut client = daemon.client();
            let make = |_| client.create_module(module("", "Queue")).unwrap().name;
            (0..50).map(make).collect()
        };
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(client)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let names: BTreeSet<String> = names.into_iter().flatten().collect();
    assert_eq!(names.len(), 200);
    assert!(names.contains("queue0") && names.contains("queue199"));
}

#[test]
fn garbage_and_half_open_connections_hurt_nobody() {
    let daemon = Daemon::start(Fake::default());
    let mut silent = Vec::new();
    for garbage in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff", b"\0"]
    {
        let mut stream = TcpStream::connect(&daemon.tcp).unwrap();
        stream.write_all(garbage).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        silent.push(TcpStream::connect(&daemon.tcp).unwrap());
    }
    assert_eq!(daemon.client().get_version(EmptyRequest {}).unwrap().version, "Tidegate of the tests");
}

#[test]
fn a_controller_that_panics_is_told_of_and_goes_on() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    let outcome = client.destroy_module(DestroyModuleRequest { name: "forbidden".into() });
    let Err(ClientError::Refused(fault)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(fault.errno, Errno::EIO);
    assert!(fault.text.contains("not as it should be"), "{fault}");
    client.get_version(EmptyRequest {}).unwrap();
}

#[test]
fn a_message_over_the_limit_is_refused_by_its_length() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    let outcome = client.import_plugin(ImportPluginRequest { path: "p".repeat(MESSAGE_LEN_MAX + 1) });
    assert!(matches!(outcome, Err(ClientError::Status(_))), "{outcome:?}");
    client.get_version(EmptyRequest {}).unwrap();
    assert_eq!(daemon.shutdown(), [""; 0]);
}

#[test]
fn a_daemon_without_a_control_thread_says_so() {
    let path = socket_path();
    let (caller, calls) = queue();
    let listen = Listen { tcp: None, unix: Some(path.clone()), remote_allowed: false };
    let _server = Server::start(&listen, caller).unwrap();
    drop(calls);
    let mut client = Client::connect(&format!("unix:{}", path.display())).unwrap();
    let outcome = client.get_version(EmptyRequest {});
    assert!(matches!(&outcome, Err(ClientError::Refused(fault)) if fault.errno == Errno::EIO), "{outcome:?}");
}

#[test]
fn where_nobody_listens_the_address_is_named() {
    let path = socket_path();
    let error = Client::connect(&format!("unix:{}", path.display())).err().unwrap().to_string();
    assert!(error.contains(&*path.to_string_lossy()) && error.contains("start one"), "{error}");
}

#[test]
fn a_shutdown_ends_streams_that_are_open() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    let (first, has_come) = bounded(1);
    let watching = thread::spawn(move || {
        client.watch(WatchRequest { interval_ms: 3_600_000, kinds: Vec::new() }, |counters| {
            first.send(counters.timestamp).unwrap();
            true
        })
    });
    assert_eq!(has_come.recv().unwrap(), 2.0);
    daemon.shutdown();
    // Ended or cut off, but not left waiting.
    let _ = watching.join().unwrap();
}
