//! Peers that lie: in messages, in the rings, and while they are being read. Seeded; a crash or a lost chunk is the failure.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use tidegate_base::Rng;
use tidegate_sys::event::EventFd;
use tidegate_sys::local_socket::{Listener, connect};
use tidegate_sys::seqpacket::Channel;
use tidegate_sys::shared_memory::SharedMemory;

use super::message::{AddRing, Hello, Init, Message, RING_TO_SERVER, VERSION};
use super::ring::{Ring, ring_len};
use super::session::Session;
use super::tests::{address, configs, open, pool, send, take, until, until_connected};
use super::*;

const LOG2: u8 = 4;
const MEMORY_LEN: usize = 64 * 1024;

fn init() -> Init {
    Init { version: VERSION, id: 0, mode: 0, secret: [0; 24], name: "hostile".into() }
}

fn ring_at(flags: u16, at: usize) -> AddRing {
    AddRing { flags, index: 0, region: 0, offset: at as u32, log2: LOG2, private_len: 0 }
}

fn copy(fd: &impl AsFd) -> OwnedFd {
    fd.as_fd().try_clone_to_owned().unwrap()
}

/// A client of the test's own: what it sends is up to the test, up to which of its steps it tells the truth.
struct Client {
    session_stop: EventFd,
    memory: Arc<SharedMemory>,
    events: [EventFd; 2],
}

impl Client {
    fn new() -> Client {
        let memory = Arc::new(SharedMemory::create("tidegate-hostile", MEMORY_LEN).unwrap());
        let rings = [0, ring_len(LOG2)].map(|at| Ring::new(&memory, at, LOG2).unwrap());
        rings.iter().for_each(Ring::initialise);
        Client {
            session_stop: EventFd::new().unwrap(),
            memory,
            events: [EventFd::new().unwrap(), EventFd::new().unwrap()],
        }
    }

    fn session(&self, address: &str) -> Session<'_> {
        let mut channel = None;
        // The server may be busy with the one before.
        until("the server takes nobody", || {
            channel = connect(address).ok();
            channel.is_some()
        });
        Session { channel: channel.unwrap(), stop: &self.session_stop }
    }

    /// The truthful conversation; the socket, or what the server said against it.
    fn connect(&self, address: &str, init: Init, rings: [AddRing; 2]) -> Result<Session<'_>, String> {
        let session = self.session(address);
        let said = |end: session::SessionEnd| end.to_string();
        session.receive().map_err(said)?;
        session.send(&Message::Init(init)).unwrap();
        session.expect_ack().map_err(said)?;
        let region = Message::AddRegion { index: 0, size: MEMORY_LEN as u64 };
        session.send_with(&region, &*self.memory).unwrap();
        session.expect_ack().map_err(said)?;
        for (ring, event) in rings.into_iter().zip(&self.events) {
            session.send_with(&Message::AddRing(ring), event).unwrap();
            session.expect_ack().map_err(said)?;
        }
        session.send(&Message::Connect { name: "if".into() }).unwrap();
        match session.receive().map_err(said)?.0 {
            Message::Connected { .. } => Ok(session),
            other => Err(other.name().into()),
        }
    }
}

fn good_rings() -> [AddRing; 2] {
    [ring_at(RING_TO_SERVER, 0), ring_at(0, ring_len(LOG2))]
}

#[test]
fn a_server_says_what_is_wrong() {
    let (config, _) = configs(&address());
    let _server = open(&config);
    let refused = |init: Init, rings| {
        let client = Client::new();
        let said = client.connect(&config.socket, init, rings).err().unwrap();
        said.strip_prefix("the peer ended the link: ").unwrap_or(&said).to_owned()
    };
    let said = refused(Init { version: 0x0100, ..init() }, good_rings());
    assert!(said.contains("0x0100"), "{said}");
    let said = refused(Init { mode: 1, ..init() }, good_rings());
    assert!(said.contains("only Ethernet"), "{said}");
    let [good, to_client] = good_rings();
    for (ring, text) in [
        (AddRing { region: 1, ..good }, "its region was not added"),
        (AddRing { index: 1, ..good }, "numbered in order"),
        (AddRing { log2: 15, ..good }, "more than 16384 slots"),
        (AddRing { log2: 255, ..good }, "more than 16384 slots"),
        (AddRing { offset: 4, ..good }, "multiple of 8"),
        (AddRing { offset: u32::MAX - 7, ..good }, "end inside its region"),
        (AddRing { offset: MEMORY_LEN as u32 - 8, ..good }, "end inside its region"),
        // Zeros, and no ring.
        (AddRing { offset: 32 * 1024, ..good }, "cookie"),
        (AddRing { flags: 0, ..good }, "numbered in order"),
    ] {
        let said = refused(init(), [ring, to_client]);
        assert!(said.contains(text), "{ring:?}: {said}");
    }
}

#[test]
fn a_client_says_what_is_wrong_with_a_server() {
    let (_, config) = configs(&address());
    let stop = EventFd::new().unwrap();
    let listener = Listener::bind(&config.socket).unwrap();
    let client = open(&config);
    let answer = |message: &Message, text: &str| {
        until("no client", || {
            let Some(channel) = listener.try_accept().unwrap() else { return false };
            let session = Session { channel, stop: &stop };
            session.send(message).unwrap();
            // It either goes on or goes away.
            let _ = session.receive();
            true
        });
        until(text, || client.status().last_error.is_some_and(|said| said.contains(text)));
    };
    let hello = Hello {
        name: "old".into(),
        version_min: 0x0100,
        version_max: 0x0101,
        region_max: 0,
        to_client_max: 0,
        to_server_max: 0,
        ring_log2_max: 10,
    };
    answer(&Message::Hello(hello), "0x0100 to 0x0101");
    answer(&Message::Ack, "\"ack\" where \"hello\"");
}

/// A number as likely near an edge as anywhere.
fn nasty(random: &mut Rng) -> u64 {
    match random.next_u64() % 6 {
        0 => random.next_u64() % 8,
        1 => u64::MAX - random.next_u64() % 8,
        2 => random.next_u64() % (MEMORY_LEN as u64 + 16),
        3 => MEMORY_LEN as u64 - 8 + random.next_u64() % 16,
        4 => 1 << (random.next_u64() % 64),
        _ => random.next_u64(),
    }
}

/// Writes into rings and buffers as nobody should.
fn scribble(memory: &SharedMemory, random: &mut Rng) {
    for _ in 0..1 + random.next_u64() % 8 {
        // Mostly heads, tails and descriptors of the two rings.
        let at = (random.next_u64() as usize % (2 * ring_len(LOG2) / 8)) * 8;
        memory.store_u64(at, nasty(random) | nasty(random) << 32);
        let index_at = [6, 64, ring_len(LOG2) + 6, ring_len(LOG2) + 64];
        let at = index_at[random.next_u64() as usize % index_at.len()];
        memory.store_u16(at, nasty(random) as u16, std::sync::atomic::Ordering::Relaxed);
        // Small steps let through what wild ones do not.
        if random.next_u64().is_multiple_of(2) {
            let old = memory.load_u16(at, std::sync::atomic::Ordering::Relaxed);
            memory.store_u16(
                at,
                old.wrapping_add(random.next_u64() as u16 % 20),
                std::sync::atomic::Ordering::Relaxed,
            );
        }
    }
}

/// Has a port send and receive while its memory is scribbled on, by turns and by another thread at the same time.
fn survives(port: &mut MemifPort, memory: &Arc<SharedMemory>, seed: u64) {
    let mut pool = pool(64);
    let mut random = Rng::new(seed);
    let frame = [0x55; 1500];
    let mut turn = |random: &mut Rng| {
        let len = 1 + random.next_u64() as usize % frame.len();
        send(port, &mut pool, &[&frame[..len], &frame[..60]]);
        take(port, &mut pool);
        assert_eq!(pool.free_count(), 64);
    };
    for _ in 0..3_000 {
        scribble(memory, &mut random);
        turn(&mut random);
    }
    let (theirs, done) = (Arc::clone(memory), Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let is_done = Arc::clone(&done);
    let scribbler = std::thread::spawn(move || {
        let mut random = Rng::new(seed + 1);
        while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
            scribble(&theirs, &mut random);
        }
    });
    for _ in 0..3_000 {
        turn(&mut random);
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    scribbler.join().unwrap();
}

#[test]
fn a_server_survives_a_client_that_scribbles() {
    let (config, _) = configs(&address());
    let mut server = open(&config);
    for seed in 0..4 {
        let client = Client::new();
        until("the last one is not gone", || server.status().peer.is_none());
        let session = client.connect(&config.socket, init(), good_rings()).unwrap();
        until_connected(&mut pool(1), &mut [&mut server]);
        survives(&mut server, &client.memory, seed);
        drop(session);
        until("the server did not notice", || {
            take(&mut server, &mut pool(1));
            !server.is_connected()
        });
    }
    assert_serves(&config, &mut server);
}

/// An honest client is served as ever.
fn assert_serves(config: &MemifConfig, server: &mut MemifPort) {
    let mut pool = pool(16);
    let mut client = open(&MemifConfig { role: MemifRole::Client, ..config.clone() });
    until_connected(&mut pool, &mut [&mut client, server]);
    assert_eq!(send(&mut client, &mut pool, &[b"honest"]), 1);
    assert_eq!(take(server, &mut pool), [b"honest"]);
}

/// The server's part of the conversation, for one client: its memory.
fn serve_one(listener: &Listener<Channel>, stop: &EventFd) -> (Channel, Arc<SharedMemory>) {
    let mut accepted = None;
    until("no client", || {
        accepted = listener.try_accept().unwrap();
        accepted.is_some()
    });
    let session = Session { channel: accepted.unwrap(), stop };
    let hello = Hello {
        name: "hostile".into(),
        version_min: VERSION,
        version_max: VERSION,
        region_max: 0,
        to_client_max: 0,
        to_server_max: 0,
        ring_log2_max: LOG2,
    };
    session.send(&Message::Hello(hello)).unwrap();
    let mut memory = None;
    loop {
        match session.receive().unwrap() {
            (Message::AddRegion { size, .. }, Some(fd)) => {
                memory = Some(SharedMemory::open(fd, size as usize).unwrap());
            }
            (Message::Connect { name }, _) => {
                session.send(&Message::Connected { name }).unwrap();
                return (session.channel, Arc::new(memory.unwrap()));
            }
            _ => {}
        }
        session.send(&Message::Ack).unwrap();
    }
}

#[test]
fn a_client_survives_a_server_that_scribbles() {
    let (_, config) = configs(&address());
    let stop = EventFd::new().unwrap();
    let listener = Listener::bind(&config.socket).unwrap();
    let mut client = open(&config);
    for seed in 10..13 {
        let (channel, memory) = serve_one(&listener, &stop);
        until_connected(&mut pool(1), &mut [&mut client]);
        survives(&mut client, &memory, seed);
        drop(channel);
    }
}

#[test]
fn a_server_survives_random_conversations() {
    let (config, _) = configs(&address());
    let mut server = open(&config);
    let mut random = Rng::new(42);
    for _ in 0..300 {
        let client = Client::new();
        let session = client.session(&config.socket);
        for _ in 0..1 + random.next_u64() % 8 {
            let message = random_message(&mut random).emit();
            let fds = [copy(&*client.memory), copy(&client.events[0]), copy(&session.channel)];
            // The server may have hung up already.
            let _ = match random.next_u64() % 8 {
                0 => session.channel.try_send(&message[..random.next_u64() as usize % 128]),
                1 => session.channel.try_send(&[0xAA; 200]),
                2 => session.channel.try_send(&message),
                n => session.channel.try_send_with(&message, fds[n as usize % 3].as_fd()),
            };
        }
    }
    until("the last one is not gone", || {
        take(&mut server, &mut pool(1));
        !server.is_connected() && server.status().peer.is_none()
    });
    assert_serves(&config, &mut server);
}

fn random_message(random: &mut Rng) -> Message {
    let mut number = |most: u64| {
        if random.next_u64().is_multiple_of(4) { nasty(random) } else { random.next_u64() % most }
    };
    match number(5) {
        0 => Message::Init(Init { mode: number(2) as u8, ..init() }),
        1 => Message::AddRegion { index: number(2) as u16, size: number(MEMORY_LEN as u64 + 2) },
        2 => Message::AddRing(AddRing {
            flags: number(2) as u16,
            index: number(2) as u16,
            region: number(2) as u16,
            offset: (number(2) as u32).wrapping_mul(ring_len(LOG2) as u32),
            log2: number(5) as u8,
            private_len: 0,
        }),
        3 => Message::Connect { name: "x".into() },
        4 => Message::Ack,
        _ => Message::Init(init()),
    }
}
