//! What is answered to which request: the page's files, the state, or a refusal. Nothing that changes anything.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode, Uri};
use tidegate_control::Caller;
use tokio::sync::Mutex;

use crate::scene::Scene;
use crate::state::{Seen, State};

/// The port that a URL need not name.
const PORT_DEFAULT: u16 = 80;

/// What the browser may do with the page: run and show what came with it, ask here for more, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The files of the page: path, kind, content.
const FILES: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../page/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../page/page.js")),
    ("/graph.js", "text/javascript; charset=utf-8", include_str!("../page/graph.js")),
    ("/tables.js", "text/javascript; charset=utf-8", include_str!("../page/tables.js")),
    ("/rates.js", "text/javascript; charset=utf-8", include_str!("../page/rates.js")),
];

type Answer = Response<Full<Bytes>>;

/// The page and the daemon that it shows.
pub(crate) struct Site {
    address: SocketAddr,
    daemon: Caller,
    /// The last drawing: a graph that is as it was is not laid out again.
    scene: Mutex<Scene>,
}

impl Site {
    pub(crate) fn new(address: SocketAddr, daemon: Caller) -> Self {
        Self { address, daemon, scene: Mutex::default() }
    }

    pub(crate) async fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Answer {
        if !self.is_meant(uri, headers) {
            let text = format!("This page is at http://{}/ and goes by no other name.\n", self.address);
            return plain(StatusCode::MISDIRECTED_REQUEST, text);
        }
        if method != Method::GET && method != Method::HEAD {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "This page only shows.\n".to_owned());
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        if uri.path() == "/state.json" {
            return self.state().await;
        }
        match FILES.iter().find(|(path, ..)| *path == uri.path()) {
            Some((_, kind, content)) => answer(StatusCode::OK, kind, Bytes::from_static(content.as_bytes())),
            None => plain(StatusCode::NOT_FOUND, "The page is at /\n".to_owned()),
        }
    }

    async fn state(&self) -> Answer {
        let seen = match self.daemon.call(Seen::of).await {
            Ok(seen) => seen,
            Err(fault) => return plain(StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", fault.text)),
        };
        let mut scene = self.scene.lock().await;
        scene.draw(&seen.pipeline);
        match serde_json::to_vec(&State::new(&seen, &scene)) {
            Ok(text) => answer(StatusCode::OK, "application/json", text.into()),
            Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        }
    }

    /// Whether the request names this server by its address or as localhost, and not by a name that somebody let lead here.
    fn is_meant(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let is_ours = |host: &str| names(self.address).iter().any(|name| name.eq_ignore_ascii_case(host));
        host.to_str().is_ok_and(is_ours) && uri.authority().is_none_or(|named| is_ours(named.as_str()))
    }
}

/// What a URL may call a server at this address.
fn names(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut names = vec![address.to_string(), format!("localhost:{port}")];
    if port == PORT_DEFAULT {
        names.extend([address.to_string().trim_end_matches(":80").to_owned(), "localhost".to_owned()]);
    }
    names
}

fn plain(status: StatusCode, text: String) -> Answer {
    answer(status, "text/plain; charset=utf-8", text.into())
}

fn answer(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::queue;

    fn asked(method: Method, uri: &str, hosts: &[&str]) -> StatusCode {
        let (caller, _) = queue();
        let site = Site::new("127.0.0.1:8080".parse().unwrap(), caller);
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().unwrap());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(site.answer(&method, &uri.parse().unwrap(), &headers)).status()
    }

    #[test]
    fn other_names_for_this_machine_are_refused() {
        for hosts in
            [&["evil.example:8080"][..], &["127.0.0.1"], &[], &["127.0.0.1:8080", "x"], &["localhost"]]
        {
            assert_eq!(asked(Method::GET, "/", hosts), StatusCode::MISDIRECTED_REQUEST, "{hosts:?}");
        }
        let proxied = asked(Method::GET, "http://evil.example/", &["127.0.0.1:8080"]);
        assert_eq!(proxied, StatusCode::MISDIRECTED_REQUEST);
        for host in ["127.0.0.1:8080", "LOCALHOST:8080"] {
            assert_eq!(asked(Method::GET, "/", &[host]), StatusCode::OK);
        }
    }

    #[test]
    fn nothing_is_asked_but_to_be_shown() {
        let here = &["127.0.0.1:8080"];
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            assert_eq!(asked(method, "/state.json", here), StatusCode::METHOD_NOT_ALLOWED);
        }
        assert_eq!(asked(Method::GET, "/../etc/passwd", here), StatusCode::NOT_FOUND);
        assert_eq!(asked(Method::HEAD, "/page.js", here), StatusCode::OK);
    }

    #[test]
    fn daemon_that_is_gone_is_said_so() {
        assert_eq!(asked(Method::GET, "/state.json", &["127.0.0.1:8080"]), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn port_80_need_not_be_named() {
        assert!(names("[::1]:80".parse().unwrap()).contains(&"[::1]".to_owned()));
    }
}
