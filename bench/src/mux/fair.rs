//! One stack floods, its neighbours send at a rate of their own: what they keep of it, as the wire counts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tidegate_bpf::{LoadOptions, ModeChoice, Rate, Steering, Tuple, XdpProgram};
use tidegate_sys::cpu;
use tidegate_sys::netlink::{Netlink, VethEnd};

use super::rig::{Rig, Stack};

/// The flooding one and seven others.
const STACK_COUNT: u32 = 8;
const FLOODING: u32 = 0;
/// Frames a second of each neighbour, of the shortest length.
const NEIGHBOUR_PER_S: u64 = 5_000;
const FRAME_LEN: usize = 64;
/// What a flood is held to in the last row: 100,000 frames a second.
const HELD: Rate = Rate { bytes_per_s: 100_000 * FRAME_LEN as u64, burst_bytes: 64 * FRAME_LEN as u32 };

/// Frames that arrived on the wire a second.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Rates {
    flood_per_s: f64,
    /// Of what the neighbours sent, from 0 to 1: all of them together, and the worst.
    neighbours: f64,
    worst: f64,
}

/// The three rows.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Share {
    alone: Rates,
    beside_flood: Rates,
    beside_held_flood: Rates,
}

pub(super) fn measure(span: Duration) -> anyhow::Result<Share> {
    let mut rig = Rig::new(STACK_COUNT)?;
    rig.load_stacks(FRAME_LEN);
    let counter = Counter::on(&rig)?;
    let alone = run(&mut rig, &counter, false, span)?;
    let beside_flood = run(&mut rig, &counter, true, span)?;
    rig.program.set_rate(FLOODING, Some(HELD))?;
    let beside_held_flood = run(&mut rig, &counter, true, span)?;
    Ok(Share { alone, beside_flood, beside_held_flood })
}

/// Counts what comes out on the wire by its sender: a demux like the NIC's, whose stacks are all behind one device that
/// drops everything.
struct Counter {
    program: XdpProgram,
    _attachment: tidegate_bpf::Attachment,
}

impl Counter {
    fn on(rig: &Rig) -> anyhow::Result<Self> {
        let (far, wire) = (&rig.cable.far, &rig.cable.wire);
        let program = XdpProgram::load(&LoadOptions::default())?;
        let mut netlink = Netlink::open_in(far)?;
        netlink.create_veth(VethEnd::new("sink"), VethEnd::new("drain"))?;
        let (sink, drain) = (netlink.link("sink")?.ifindex, netlink.link("drain")?.ifindex);
        let attachment = far.run(|| -> anyhow::Result<_> {
            program.feed(drain)?;
            for slot in 0..STACK_COUNT {
                let tuple = Tuple::tcp(super::rig::STATION_ADDRESS.into(), super::rig::port_of(slot));
                program.register(tuple, Steering::Device { slot })?;
                program.set_device(slot, sink)?;
            }
            Ok(program.attach(wire.ifindex, ModeChoice::DriverOnly)?)
        })??;
        netlink.set_up(drain, true)?;
        netlink.set_up(sink, true)?;
        Ok(Self { program, _attachment: attachment })
    }

    fn arrived(&self) -> anyhow::Result<Vec<u64>> {
        (0..STACK_COUNT).map(|slot| Ok(self.program.stack_counters(slot)?.to_frames)).collect()
    }
}

/// The flood has a processor, and its neighbours the other.
fn run(rig: &mut Rig, counter: &Counter, with_flood: bool, span: Duration) -> anyhow::Result<Rates> {
    let before = counter.arrived()?;
    let stop = AtomicBool::new(false);
    let (flooding, neighbours) = rig.stacks.split_at_mut(1);
    let sent = thread::scope(|scope| {
        let flood = scope.spawn(|| if with_flood { flood(&mut flooding[0], &stop) } else { Ok(()) });
        let sent = pace(neighbours, span);
        stop.store(true, Ordering::Relaxed);
        flood.join().map_err(|_| anyhow::anyhow!("the flood panicked"))??;
        sent
    })?;
    let arrived: Vec<u64> =
        counter.arrived()?.iter().zip(before).map(|(after, before)| after - before).collect();
    let of_sent = |frames: u64| frames as f64 / sent as f64;
    Ok(Rates {
        flood_per_s: arrived[0] as f64 / span.as_secs_f64(),
        neighbours: of_sent(arrived[1..].iter().sum::<u64>()) / neighbours_count(),
        worst: of_sent(arrived[1..].iter().copied().min().unwrap_or_default()),
    })
}

fn neighbours_count() -> f64 {
    f64::from(STACK_COUNT - 1)
}

fn flood(stack: &mut Stack, stop: &AtomicBool) -> anyhow::Result<()> {
    cpu::pin_current_thread(0)?;
    while !stop.load(Ordering::Relaxed) {
        stack.sender.send()?;
    }
    Ok(())
}

/// Sends at the neighbours' rate, a frame from each in turn; how many from each.
fn pace(stacks: &mut [Stack], span: Duration) -> anyhow::Result<u64> {
    cpu::pin_current_thread(1)?;
    let (start, mut sent) = (Instant::now(), 0);
    while start.elapsed() < span {
        let due = start.elapsed().as_nanos() as u64 * NEIGHBOUR_PER_S / 1_000_000_000;
        if sent < due {
            stacks.iter_mut().try_for_each(|stack| stack.sender.send_some(1))?;
            sent += 1;
        } else {
            thread::sleep(Duration::from_micros(50));
        }
    }
    Ok(sent)
}

impl Share {
    pub(super) fn sentence(&self) -> String {
        let mut text = format!(
            "{} neighbours of {NEIGHBOUR_PER_S} frames/s each beside a stack that floods:\n\n",
            STACK_COUNT - 1
        );
        text += "| flood | arrives of it, kframes/s | of the neighbours' frames | of the worst one's |\n|---|---|---|---|\n";
        let rows = [
            ("none", self.alone),
            ("as much as it can", self.beside_flood),
            ("held to 100 kframes/s", self.beside_held_flood),
        ];
        for (what, Rates { flood_per_s, neighbours, worst }) in rows {
            text += &format!(
                "| {what} | {:.0} | {:.2} % | {:.2} % |\n",
                flood_per_s / 1e3,
                neighbours * 100.0,
                worst * 100.0
            );
        }
        text
    }
}
