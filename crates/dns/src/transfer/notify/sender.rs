//! The thread that tells secondaries, over the host's own UDP.
//!
//! It sleeps on its channel while nothing is pending, and on its sockets while something is.

use super::notifier::Heard;
use super::{MESSAGE_LEN_MAX, Notifier};
use crate::name::NameBuf;
use crate::transfer::clock::Clock;
use crate::transfer::relations::Remote;
use crossbeam_channel::{Receiver, Sender, TryRecvError};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// How long it listens at a time while something is pending.
const LISTEN_SLICE: Duration = Duration::from_millis(50);

/// A zone that changed, and whom to tell.
pub(crate) struct Change {
    pub(crate) apex: NameBuf,
    pub(crate) targets: Vec<Remote>,
}

/// Starts the thread. It ends when every sender is gone.
pub(crate) fn start(clock: Clock, seed: u64) -> std::io::Result<Sender<Change>> {
    let (sender, changes) = crossbeam_channel::unbounded();
    let sockets = Sockets::open()?;
    let thread = std::thread::Builder::new().name("notify".to_owned());
    thread.spawn(move || run(&changes, &sockets, &clock, Notifier::new(seed)))?;
    Ok(sender)
}

fn run(changes: &Receiver<Change>, sockets: &Sockets, clock: &Clock, mut notifier: Notifier) {
    while take_changes(changes, clock, &mut notifier) {
        let mut message = [0; MESSAGE_LEN_MAX];
        while let Some((to, datagram)) = notifier.poll(clock.now(), clock.unix_s(), &mut message) {
            sockets.send(to, datagram);
        }
        sockets.listen(|from, datagram| {
            if notifier.on_datagram(from, datagram, clock.unix_s()) == Heard::Stray {
                tracing::debug!("a stray datagram from {from} where answers to NOTIFY are awaited");
            }
        });
    }
}

/// Takes all changes that there are; waits for one if there is nothing else to do. False: no more will come.
fn take_changes(changes: &Receiver<Change>, clock: &Clock, notifier: &mut Notifier) -> bool {
    if notifier.next_deadline().is_none() {
        match changes.recv() {
            Ok(change) => notifier.on_change(clock.now(), &change.apex, &change.targets),
            Err(_) => return false,
        }
    }
    loop {
        match changes.try_recv() {
            Ok(change) => notifier.on_change(clock.now(), &change.apex, &change.targets),
            Err(TryRecvError::Empty) => return true,
            Err(TryRecvError::Disconnected) => return false,
        }
    }
}

/// One socket a family; a host may lack one.
struct Sockets {
    v4: Option<UdpSocket>,
    v6: Option<UdpSocket>,
}

impl Sockets {
    fn open() -> std::io::Result<Self> {
        let open = |at: SocketAddr| {
            let socket = UdpSocket::bind(at)?;
            socket.set_nonblocking(true)?;
            Ok::<_, std::io::Error>(socket)
        };
        let v4 = open((Ipv4Addr::UNSPECIFIED, 0).into());
        let v6 = open((Ipv6Addr::UNSPECIFIED, 0).into()).ok();
        match v6 {
            None => Ok(Self { v4: Some(v4?), v6: None }),
            Some(v6) => Ok(Self { v4: v4.ok(), v6: Some(v6) }),
        }
    }

    fn each(&self) -> impl Iterator<Item = &UdpSocket> {
        self.v4.iter().chain(&self.v6)
    }

    fn send(&self, to: SocketAddr, datagram: &[u8]) {
        let socket = if to.is_ipv4() { &self.v4 } else { &self.v6 };
        // What is not sent is sent again like what is not answered.
        let sent = socket.as_ref().map(|socket| socket.send_to(datagram, to));
        if let Some(Err(error)) = sent {
            tracing::debug!("could not send NOTIFY to {to}: {error}");
        }
    }

    /// Hands over what has arrived, then sleeps a little.
    fn listen(&self, mut take: impl FnMut(SocketAddr, &[u8])) {
        let mut buffer = [0; 4096];
        for socket in self.each() {
            loop {
                match socket.recv_from(&mut buffer) {
                    Ok((len, from)) => take(from, &buffer[..len]),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // A refused port says that nobody listened to an earlier one: that is tried again.
                    Err(_) => {}
                }
            }
        }
        std::thread::sleep(LISTEN_SLICE);
    }
}
