//! The services of one host as one service: a web server, a name server, or both.
//!
//! ```text
//!   connection --on_open: whose port?--> State::Web --as_part--> Site
//!                                   \--> State::Dns --as_part--> NameServer
//!   datagrams  --whose port?--> NameServer, or nobody's: refused
//! ```
//! Invariant: a connection's state and its responses are of the service whose port it came to, from its
//! opening to its end.

use crate::kind::{Endpoint, Kind};
use std::net::SocketAddr;
use tidegate_base::Instant;
use tidegate_dns::NameServer;
use tidegate_packet::{Frame, Pool};
use tidegate_stack::{Closed, Conn, ConnId, Datagram, FetchError, Payload, Reply, Service};
use tidegate_web::Site;

/// One worker's services.
pub struct Services {
    endpoints: Vec<Endpoint>,
    web: Option<Site>,
    dns: Option<NameServer>,
}

/// What a connection sends.
pub enum Response {
    /// A file.
    Web(<Site as Service>::Response),
    /// An answer over TCP.
    Dns(<NameServer as Service>::Response),
}

/// What is remembered of a connection.
#[derive(Default)]
pub enum State {
    /// It is not open yet.
    #[default]
    Unopened,
    /// It is the web server's.
    Web(<Site as Service>::State),
    /// It is the name server's.
    Dns(<NameServer as Service>::State),
}

impl State {
    /// What is remembered at the opening of a connection to a service of that kind.
    fn at_opening(kind: Option<Kind>) -> Self {
        match kind {
            None => Self::Unopened,
            Some(Kind::Web) => Self::Web(Default::default()),
            Some(Kind::Dns) => Self::Dns(Default::default()),
        }
    }

    fn web(&mut self) -> Option<&mut <Site as Service>::State> {
        if let Self::Web(state) = self { Some(state) } else { None }
    }

    fn dns(&mut self) -> Option<&mut <NameServer as Service>::State> {
        if let Self::Dns(state) = self { Some(state) } else { None }
    }
}

const _: () = assert!(size_of::<Response>() <= 32, "a connection holds two of these in place");
const _: () = assert!(size_of::<State>() <= 24, "an idle connection keeps one of these");

impl Services {
    /// Those that are there, found at `endpoints`.
    pub(crate) fn new(endpoints: Vec<Endpoint>, web: Option<Site>, dns: Option<NameServer>) -> Self {
        Self { endpoints, web, dns }
    }

    /// The web server, if there is one.
    pub const fn web(&self) -> Option<&Site> {
        self.web.as_ref()
    }

    /// The same, to change.
    pub const fn web_mut(&mut self) -> Option<&mut Site> {
        self.web.as_mut()
    }

    /// The name server, if there is one.
    pub const fn dns_mut(&mut self) -> Option<&mut NameServer> {
        self.dns.as_mut()
    }

    /// Whose port that is.
    fn kind_at(&self, local: SocketAddr) -> Option<Kind> {
        self.endpoints.iter().find(|endpoint| endpoint.address == local).map(|endpoint| endpoint.kind)
    }

    /// Whether a datagram is for the name server.
    fn is_dns(&self, datagram: &Datagram) -> bool {
        let is_own = |endpoint: &Endpoint| {
            endpoint.address.port() == datagram.local_port() && endpoint.address == datagram.local()
        };
        self.endpoints.iter().any(|endpoint| endpoint.kind == Kind::Dns && is_own(endpoint))
    }

    /// Has the service act whose connection it is.
    #[inline]
    fn act(
        &mut self,
        conn: &mut Conn<'_, Self>,
        on_web: impl FnOnce(&mut Site, &mut Conn<'_, Site>),
        on_dns: impl FnOnce(&mut NameServer, &mut Conn<'_, NameServer>),
    ) {
        match conn.state() {
            State::Unopened => {}
            State::Web(_) => {
                if let Some(site) = &mut self.web {
                    conn.as_part(State::web, Response::Web, |conn| on_web(site, conn));
                }
            }
            State::Dns(_) => {
                if let Some(server) = &mut self.dns {
                    conn.as_part(State::dns, Response::Dns, |conn| on_dns(server, conn));
                }
            }
        }
    }
}

impl Service for Services {
    type Response = Response;
    type State = State;

    fn on_accept(&mut self, peer: SocketAddr, local: SocketAddr) -> bool {
        match self.kind_at(local) {
            Some(Kind::Web) => self.web.as_mut().is_some_and(|site| site.on_accept(peer, local)),
            Some(Kind::Dns) => self.dns.as_mut().is_some_and(|server| server.on_accept(peer, local)),
            None => false,
        }
    }

    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        *conn.state() = State::at_opening(self.kind_at(conn.local()));
        self.act(conn, Site::on_open, NameServer::on_open);
    }

    #[inline]
    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        self.act(conn, |site, conn| site.on_recv(conn, data), |server, conn| server.on_recv(conn, data));
    }

    fn on_eof(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_eof, NameServer::on_eof);
    }

    fn on_sent(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_sent, NameServer::on_sent);
    }

    fn on_acked(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_acked, NameServer::on_acked);
    }

    fn on_timer(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_timer, NameServer::on_timer);
    }

    fn on_wake(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn, Site::on_wake, NameServer::on_wake);
    }

    fn on_closed(&mut self, id: ConnId, state: State, why: Closed) {
        match (state, &mut self.web, &mut self.dns) {
            (State::Web(state), Some(site), _) => site.on_closed(id, state, why),
            (State::Dns(state), _, Some(server)) => server.on_closed(id, state, why),
            _ => {}
        }
    }

    fn poll_wake(&mut self, now: Instant) -> Option<ConnId> {
        let of_web = self.web.as_mut().and_then(|site| site.poll_wake(now));
        of_web.or_else(|| self.dns.as_mut()?.poll_wake(now))
    }

    #[inline]
    fn response_len(response: &Response) -> u64 {
        match response {
            Response::Web(response) => Site::response_len(response),
            Response::Dns(response) => NameServer::response_len(response),
        }
    }

    #[inline]
    fn segment_len(response: &Response, offset: u64, max: usize) -> usize {
        match response {
            Response::Web(response) => Site::segment_len(response, offset, max),
            Response::Dns(response) => NameServer::segment_len(response, offset, max),
        }
    }

    #[inline]
    fn bulk_len(response: &Response, offset: u64, max: usize) -> usize {
        match response {
            Response::Web(response) => Site::bulk_len(response, offset, max),
            Response::Dns(_) => 0,
        }
    }

    fn fetch_bulk(
        &mut self,
        response: &Response,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Frame, FetchError> {
        match (response, &mut self.web) {
            (Response::Web(response), Some(site)) => site.fetch_bulk(response, offset, len, pool),
            _ => Err(FetchError::Gone),
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
        match (response, &mut self.web, &mut self.dns) {
            (Response::Web(response), Some(site), _) => site.fetch(response, offset, len, pool),
            (Response::Dns(response), _, Some(server)) => server.fetch(response, offset, len, pool),
            _ => Err(FetchError::Gone),
        }
    }

    /// The name server's own come first, so that it is handed all of them at once.
    fn on_datagrams(&mut self, now: Instant, burst: &mut [Datagram], pool: &mut Pool) {
        let own_count = gather_first(burst, |datagram| self.is_dns(datagram));
        let (own, strangers) = burst.split_at_mut(own_count);
        match &mut self.dns {
            Some(server) => server.on_datagrams(now, own, pool),
            None => own.iter_mut().for_each(|datagram| datagram.reply = Reply::Refuse),
        }
        strangers.iter_mut().for_each(|datagram| datagram.reply = Reply::Refuse);
    }

    fn retire(&mut self, pool: &mut Pool) {
        self.web.iter_mut().for_each(|site| site.retire(pool));
        self.dns.iter_mut().for_each(|server| server.retire(pool));
    }
}

/// Puts those that are `wanted` before all others, in their order; returns how many they are.
fn gather_first<T>(items: &mut [T], wanted: impl Fn(&T) -> bool) -> usize {
    let mut count = 0;
    for at in 0..items.len() {
        if wanted(&items[at]) {
            items.swap(count, at);
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_keeps_its_order() {
        let mut items = [1, 12, 3, 14, 5, 16];
        assert_eq!(gather_first(&mut items, |item| *item > 10), 3);
        assert_eq!(items[..3], [12, 14, 16]);
        assert_eq!(gather_first(&mut items, |_| true), 6);
        assert_eq!(gather_first::<u8>(&mut [], |_| true), 0);
    }
}
