//! The async face over the mux: hyper, as curl and wrk see it, with a stack of either grade.

use super::host::{ADDRESS, Host, stranger};
use super::servers::serve_async;
use crate::scene::run;
use crate::site::noise;
use tidegate_socket::Grade;

fn hyper_serves(host: &Host, uid: u32, grade: Grade) {
    let text: String = noise(1, 30_000).iter().map(|byte| char::from(b'a' + byte % 26)).collect();
    let page = host.scratch.write("page.html", &text).expect("writable");
    let server = serve_async(host, uid, grade, 9001, &page);
    host.await_owner(9001, &server);
    assert!(host.ask(9001) == text, "another page");
    let url = format!("http://{ADDRESS}:9001/");
    let wrk = run(host.bed.client().netns(), "wrk", &["-t1", "-c16", "-d1s", "--timeout", "20s", &url]);
    assert!(
        wrk.contains("requests in") && !wrk.contains("Socket errors") && !wrk.contains("Non-2xx"),
        "{wrk}"
    );
    let stats = host.say(&["mux", "stats"]);
    assert!(stats.contains(grade.name()) && stats.contains(&uid.to_string()), "{stats}");
    server.kill();
    host.await_that("the port is not the host's again", || host.stack_of(9001).is_none());
    assert!(host.ask(9001).contains("Failed to connect"), "nobody serves");
}

#[test]
fn hyper_serves_behind_a_veth_of_its_own_without_rights() {
    let host = Host::new();
    let _daemon = host.start_daemon();
    hyper_serves(&host, stranger(), Grade::Veth);
}

#[test]
fn hyper_serves_on_a_queue_of_its_own() {
    let host = Host::new();
    let _daemon = host.start_daemon();
    hyper_serves(&host, 0, Grade::Queue);
}
