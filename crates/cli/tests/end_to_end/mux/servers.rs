//! Servers that share the address: in C and in async Rust over stacks of their own, and one of the host's that talks like SSH.

use super::host::{ADDRESS, DEVICE, Host, PATIENCE};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper::{Request, Response, body::Bytes, body::Incoming};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tidegate_net::{Net, TcpListener};
use tidegate_socket::{Grade, Runtime, RuntimeConfig, Wanted};
use tidegate_testbed::Process;

/// Set in processes that are servers: their port, and for the stack its grade, the mux's socket and the page.
const SHELL_PORT: &str = "TIDEGATE_TEST_SHELL_PORT";
const ASYNC_PORT: &str = "TIDEGATE_TEST_ASYNC_PORT";
const ASYNC_GRADE: &str = "TIDEGATE_TEST_ASYNC_GRADE";
const ASYNC_SOCKET: &str = "TIDEGATE_TEST_ASYNC_SOCKET";
const ASYNC_PAGE: &str = "TIDEGATE_TEST_ASYNC_PAGE";

/// The web server of examples/utcp, compiled against the library that cargo built beside this test.
pub(crate) struct Utcp {
    program: PathBuf,
    library: PathBuf,
}

impl Utcp {
    pub(crate) fn build(host: &Host) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let built = env::current_exe().expect("a test knows its own file").with_file_name("libtidegate.so");
        let (program, library) = (host.scratch.join("http"), host.scratch.join("lib"));
        fs::create_dir(&library).expect("writable");
        fs::copy(&built, library.join("libtidegate.so.0"))
            .unwrap_or_else(|error| panic!("{built:?}: {error}"));
        symlink("libtidegate.so.0", library.join("libtidegate.so")).expect("writable");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
        cc.arg(root.join("examples/utcp/http.c")).arg("-I").arg(root.join("crates/capi/include"));
        let compiled = cc.arg("-L").arg(&library).arg("-ltidegate").output().expect("cc (make deps)");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Self { program, library }
    }

    /// It at these places (ADDRESS:PORT, with commas between them), its page there, as that user.
    pub(crate) fn spawn(
        &self,
        host: &Host,
        uid: u32,
        places: &str,
        port: u16,
        page: Option<&Path>,
    ) -> Process {
        let mut command = Command::new(&self.program);
        command.arg(format!("mux:{DEVICE}@{}", host.socket().display()));
        command.args([places, &port.to_string()]).args(page).env("LD_LIBRARY_PATH", &self.library);
        command.uid(uid).gid(uid);
        host.bed.server().spawn(command).expect("it starts")
    }

    /// The same at a port of the shared address, once it serves.
    pub(crate) fn serve(&self, host: &Host, uid: u32, port: u16, page: Option<&Path>) -> Process {
        ready(self.spawn(host, uid, &format!("{ADDRESS}:{port}"), port, page))
    }

    /// What it says that is not given what it asks for.
    pub(crate) fn refused(&self, host: &Host, uid: u32, places: &str, port: u16) -> String {
        let mut process = self.spawn(host, uid, places, port, None);
        let status = process.await_end(PATIENCE).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(status.code(), Some(1), "{}", process.said());
        process.said()
    }
}

fn ready(mut process: Process) -> Process {
    let serves = process.await_text("ready\n", PATIENCE);
    serves.unwrap_or_else(|error| panic!("{error}: {}", process.said()));
    process
}

/// This test's own binary again, as the process that is named.
fn again(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("a test knows its own file"));
    command.args(["--exact", &format!("mux::servers::{name}"), "--nocapture"]);
    command
}

fn say_ready() {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "ready");
    let _ = out.flush();
}

fn at(port: &str) -> SocketAddr {
    format!("{ADDRESS}:{port}").parse().expect("a port")
}

/// A process of that user with hyper over a stack of its own.
pub(crate) fn serve_async(host: &Host, uid: u32, grade: Grade, port: u16, page: &Path) -> Process {
    let mut command = again("async_server");
    command.env(ASYNC_PORT, port.to_string()).env(ASYNC_GRADE, grade.name());
    command.env(ASYNC_SOCKET, host.socket()).env(ASYNC_PAGE, page).uid(uid).gid(uid);
    ready(host.bed.server().spawn(command).expect("this test can be run again"))
}

/// Not a test by itself: the server.
#[test]
fn async_server() {
    let Ok(port) = env::var(ASYNC_PORT) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(serve_page(at(&port)));
}

async fn serve_page(at: SocketAddr) {
    let told = |name: &str| env::var(name).expect("told by the test");
    let grade = Grade::named(&told(ASYNC_GRADE)).expect("a grade");
    let queue = (grade == Grade::Queue).then_some(0);
    let wanted = Wanted { device: DEVICE.to_owned(), grade, queue };
    let page = Bytes::from(fs::read(told(ASYNC_PAGE)).expect("the page"));
    let stack = Runtime::on_mux(&told(ASYNC_SOCKET), &wanted, &[at], RuntimeConfig::default());
    let net = Net::new(stack.unwrap_or_else(|error| panic!("{error}"))).expect("a driver");
    let listener = TcpListener::bind(&net, at).expect("its own port");
    say_ready();
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let page = page.clone();
        let answer = service_fn(move |_: Request<Incoming>| {
            let answer = Response::new(Full::new(page.clone()));
            async move { Ok::<_, Infallible>(answer) }
        });
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
        tokio::spawn(async move {
            // A client that goes away in the middle is no fault of the server.
            let _ = connection.await;
        });
    }
}

/// A process of the host's that answers each byte with its complement, at once.
pub(crate) fn serve_shell(host: &Host, port: u16) -> Process {
    let mut command = again("shell_server");
    command.env(SHELL_PORT, port.to_string());
    ready(host.bed.server().spawn(command).expect("this test can be run again"))
}

/// Not a test by itself: the server.
#[test]
fn shell_server() {
    let Ok(port) = env::var(SHELL_PORT) else { return };
    let listener = std::net::TcpListener::bind(at(&port)).expect("a free port");
    say_ready();
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        stream.set_nodelay(true).expect("a socket option");
        std::thread::spawn(move || {
            let mut buffer = [0; 256];
            while let Ok(len @ 1..) = stream.read(&mut buffer) {
                let answer: Vec<u8> = buffer[..len].iter().map(|byte| !byte).collect();
                if stream.write_all(&answer).is_err() {
                    return;
                }
            }
        });
    }
}
