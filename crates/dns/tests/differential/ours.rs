//! Our side: the answering engine behind a plain UDP socket.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidegate_dns::answer::{Policy, answer};
use tidegate_dns::message::{Opt, Query, Refusal, Writer};
use tidegate_dns::name::NameBuf;
use tidegate_dns::zone::{Catalog, file};
use tidegate_testbed::{DnsPeers, ZoneFile};

/// What the peers call themselves, so that CHAOS and NSID can be compared.
pub(crate) fn policy() -> Policy {
    Policy { version: Some(DnsPeers::VERSION.into()), identity: Some(DnsPeers::IDENTITY.into()) }
}

/// The zones as we read them.
pub(crate) fn catalog(zones: &[ZoneFile]) -> Catalog {
    zones.iter().fold(Catalog::new(), |catalog, ZoneFile { apex, path }| {
        let apex: NameBuf = apex.parse().unwrap();
        let loaded = file::read(path, &apex).unwrap_or_else(|error| panic!("{error}"));
        catalog.with(Arc::new(loaded.zone))
    })
}

/// Answers until told to stop.
pub(crate) fn serve(socket: &UdpSocket, catalog: &Catalog, stop: &AtomicBool) {
    let policy = policy();
    let (mut query, mut out) = ([0; 65535], [0; 65535]);
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    while !stop.load(Ordering::Relaxed) {
        let Ok((len, peer)) = socket.recv_from(&mut query) else { continue };
        if let Some(len) = respond(catalog, &policy, &query[..len], &mut out) {
            socket.send_to(&out[..len], peer).unwrap();
        }
    }
}

/// The answer to a datagram, if it gets one.
pub(crate) fn respond(catalog: &Catalog, policy: &Policy, message: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut name = NameBuf::new();
    match Query::parse(message, &mut name) {
        Ok(query) => {
            let limit = query.udp_len_max(DnsPeers::UDP_PAYLOAD_MAX.into());
            let mut writer = Writer::answering(&query, out, limit)?;
            if let Some(edns) = &query.edns {
                let mut opt = Opt::new(DnsPeers::UDP_PAYLOAD_MAX, edns.dnssec_ok);
                opt.nsid = edns.wants_nsid.then_some(DnsPeers::IDENTITY.as_bytes());
                writer.set_opt(opt).ok()?;
            }
            answer(catalog, &query, policy, &mut writer);
            Some(writer.finish())
        }
        Err(Refusal::Reply(reply)) => reply.emit(DnsPeers::UDP_PAYLOAD_MAX, out),
        Err(Refusal::Silence(_)) => None,
    }
}
