//! The services of one host as one service: a web server, a name server, or both.
//!
//! ```text
//!   connection --on_open: whose port?--> State::Web --as_part--> Site
//!   datagrams --whose port?--> ...
//! ```
//! Invariant: a connection's state and its responses are of the service whose port it came to, from its
//! opening to its end.

use crate::kind::{Endpoint, Kind};
use std::net::SocketAddr;
use tidegate_base::Instant;
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, FetchError, Payload, Service};
use tidegate_web::Site;

/// One worker's services.
pub(crate) struct Services {
    endpoints: Vec<Endpoint>,
    web: Option<Site>,
}

/// What a connection sends.
pub(crate) enum Response {
    Web(<Site as Service>::Response),
}

/// What is remembered of a connection.
#[derive(Default)]
pub(crate) enum State {
    /// It is not open yet.
    #[default]
    Unopened,
    Web(<Site as Service>::State),
}

impl State {
    fn web(&mut self) -> Option<&mut <Site as Service>::State> {
        match self {
            Self::Web(state) => Some(state),
            Self::Unopened => None,
        }
    }
}

const _: () = assert!(size_of::<Response>() <= 32, "a connection holds two of these in place");
const _: () = assert!(size_of::<State>() <= 16, "an idle connection keeps one of these");

impl Services {
    /// Those that are there, found at `endpoints`.
    pub(crate) fn new(endpoints: Vec<Endpoint>, web: Option<Site>) -> Self {
        Self { endpoints, web }
    }

    /// The web server, if there is one.
    pub(crate) const fn web(&self) -> Option<&Site> {
        self.web.as_ref()
    }

    /// The same, to change.
    pub(crate) const fn web_mut(&mut self) -> Option<&mut Site> {
        self.web.as_mut()
    }

    /// Whose port that is.
    fn kind_at(&self, local: SocketAddr) -> Option<Kind> {
        self.endpoints.iter().find(|endpoint| endpoint.address == local).map(|endpoint| endpoint.kind)
    }

    /// Has the service act whose connection it is.
    #[inline]
    fn act(&mut self, conn: &mut Conn<'_, Self>, on_web: impl FnOnce(&mut Site, &mut Conn<'_, Site>)) {
        if let Some(site) = &mut self.web {
            conn.as_part(State::web, Response::Web, |conn| on_web(site, conn));
        }
    }
}

impl Service for Services {
    type Response = Response;
    type State = State;

    fn on_accept(&mut self, peer: SocketAddr, local: SocketAddr) -> bool {
        match (self.kind_at(local), &mut self.web) {
            (Some(Kind::Web), Some(site)) => site.on_accept(peer, local),
            _ => false,
        }
    }

    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        if self.kind_at(conn.local()) == Some(Kind::Web) {
            *conn.state() = State::Web(Default::default());
        }
        self.act(conn, Site::on_open);
    }

    #[inline]
    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        self.act(conn, |site, conn| site.on_recv(conn, data));
    }

    fn on_eof(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_eof);
    }

    fn on_acked(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_acked);
    }

    fn on_sent(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_sent);
    }

    fn on_timer(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_timer);
    }

    fn on_wake(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_wake);
    }

    fn on_closed(&mut self, id: ConnId, state: State, why: Closed) {
        if let (State::Web(state), Some(site)) = (state, &mut self.web) {
            site.on_closed(id, state, why);
        }
    }

    fn poll_wake(&mut self, now: Instant) -> Option<ConnId> {
        self.web.as_mut()?.poll_wake(now)
    }

    #[inline]
    fn response_len(response: &Response) -> u64 {
        match response {
            Response::Web(response) => Site::response_len(response),
        }
    }

    #[inline]
    fn segment_len(response: &Response, offset: u64, max: usize) -> usize {
        match response {
            Response::Web(response) => Site::segment_len(response, offset, max),
        }
    }

    #[inline]
    fn fetch(
        &mut self,
        response: &Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        match (response, &mut self.web) {
            (Response::Web(response), Some(site)) => site.fetch(response, offset, len, pool),
            _ => Err(FetchError::Gone),
        }
    }
}
