//! A client that sends the bytes it is told to and keeps the bytes it gets.
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tidegate_base::Sum;
use tidegate_packet::Pool;
use tidegate_stack::{Closed, Conn, ConnId, FetchError, Payload, Service};

/// One connection as its client sees it.
#[derive(Default)]
pub(crate) struct Exchange {
    pub(crate) received: Vec<u8>,
    pub(crate) is_eof: bool,
    pub(crate) closed: Option<Closed>,
    pub(crate) wants_hold: bool,
    pub(crate) wants_close: bool,
    to_send: Vec<Arc<[u8]>>,
    held: u32,
}

#[derive(Default)]
pub(crate) struct Client {
    exchanges: HashMap<ConnId, Exchange>,
}

impl Client {
    pub(crate) fn exchange(&mut self, id: ConnId) -> &mut Exchange {
        self.exchanges.entry(id).or_default()
    }

    pub(crate) fn queue(&mut self, id: ConnId, bytes: &[u8]) {
        self.exchange(id).to_send.push(bytes.into());
    }

    fn act(&mut self, conn: &mut Conn<'_, Self>) {
        let exchange = self.exchanges.entry(conn.id()).or_default();
        exchange.to_send.drain(..).for_each(|bytes| conn.write(bytes));
        if !exchange.wants_hold {
            conn.take(std::mem::take(&mut exchange.held));
        }
        if exchange.wants_close {
            conn.close();
        }
    }
}

impl Service for Client {
    type Response = Arc<[u8]>;
    type State = ();

    fn on_accept(&mut self, _: SocketAddr, _: SocketAddr) -> bool {
        false
    }

    fn on_open(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn);
    }

    fn on_wake(&mut self, conn: &mut Conn<'_, Self>) {
        self.act(conn);
    }

    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, data: &[u8]) {
        let exchange = self.exchanges.entry(conn.id()).or_default();
        exchange.received.extend_from_slice(data);
        if exchange.wants_hold {
            exchange.held += data.len() as u32;
            conn.hold(data.len() as u32);
        }
    }

    fn on_eof(&mut self, conn: &mut Conn<'_, Self>) {
        self.exchange(conn.id()).is_eof = true;
    }

    fn on_closed(&mut self, id: ConnId, (): (), why: Closed) {
        self.exchange(id).closed = Some(why);
    }

    fn response_len(bytes: &Arc<[u8]>) -> u64 {
        bytes.len() as u64
    }

    fn segment_len(bytes: &Arc<[u8]>, offset: u64, max: usize) -> usize {
        max.min(bytes.len() - offset as usize)
    }

    fn fetch(
        &mut self,
        bytes: &Arc<[u8]>,
        offset: u64,
        len: usize,
        pool: &mut Pool,
    ) -> Result<Payload, FetchError> {
        let mut frame = pool.alloc().ok_or(FetchError::NoFrame)?;
        let part = &bytes[offset as usize..offset as usize + len];
        assert!(frame.extend(part));
        Ok(Payload { frame, sum: Sum::of(part) })
    }
}
