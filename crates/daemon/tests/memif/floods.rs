//! A stack that sends as much as it can, beside a neighbour whose requests are all answered.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidegate_bpf::Rate;
use tidegate_control::proto::bess;
use tidegate_mux::registry::Grade;
use tidegate_testbed::Side;

use crate::frames::datagram;
use crate::world::{End, World, drops, udp};

const FLOODED: u16 = 6000;
/// What must have been asked and sent before it is over.
const REQUEST_COUNT: u64 = 100;
const FLOOD_COUNT: u64 = 20_000;

/// Ends the flood, also when a request fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asks a neighbour while a stack of that grade floods, whose slot is looked at while it is still attached.
fn flood_beside(world: &World, grade: Grade, ask: impl Fn(), look: impl FnOnce(u32)) {
    // Somebody takes the flood, so that nobody is told of it by ICMP.
    let bound = world.bed.client().run(|| UdpSocket::bind((Side::Client.ipv4(), FLOODED)));
    let _sink = bound.expect("root enters namespaces").expect("a free port");
    let mut attachment = world.attach(grade);
    let mut end = End::open(&mut attachment);
    attachment.bind(udp(5000)).expect("free");
    let (ends, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let frames = vec![datagram(5000, FLOODED, &[7; 1000]); 32];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                sent.fetch_add(end.send(&frames) as u64, Ordering::Relaxed);
            }
        });
        let over = Over(&ends);
        let mut asked = 0;
        while asked < REQUEST_COUNT || sent.load(Ordering::Relaxed) < FLOOD_COUNT {
            ask();
            asked += 1;
        }
        drop(over);
        eprintln!(
            "{grade}: {asked} requests were answered beside {} frames of a flood",
            sent.load(Ordering::Relaxed)
        );
    });
    look(attachment.place().slot);
}

#[test]
fn a_flood_over_memif_leaves_a_neighbours_requests_alone() {
    let world = World::new();
    let neighbour = world.echo(Grade::Memif, 7001, "neighbour");
    flood_beside(
        &world,
        Grade::Memif,
        || world.await_answer(7001, "neighbour"),
        |slot| {
            // It has no rate: what there is no room for waits in its own ring.
            let counted = world.counted(slot);
            assert!(counted.from_packets > 0, "{counted:?}");
            assert_eq!(counted.from_drops, []);
        },
    );
    assert_eq!(world.counted(neighbour.slot()).from_drops, []);
}

#[test]
fn a_flood_over_memif_leaves_a_services_requests_alone() {
    let world = World::new();
    world.serve("web", 80, None);
    flood_beside(&world, Grade::Memif, || assert_eq!(world.page(80), "web"), |_| {});
}

/// 20 Mbit/s: 2,500 frames a second of the flood's.
const RATE: Rate = Rate::of_bits(20_000_000);

#[test]
fn a_rate_holds_back_a_flood_over_memif() {
    let world = World::made(Some(RATE), 1);
    let neighbour = world.echo(Grade::Memif, 7001, "neighbour");
    flood_beside(
        &world,
        Grade::Memif,
        || world.await_answer(7001, "neighbour"),
        |slot| {
            assert!(drops(&world.counted(slot), "over_rate") > 0);
        },
    );
    assert_eq!(world.counted(neighbour.slot()).from_drops, []);
}

#[test]
fn a_rate_holds_back_a_flood_over_veth() {
    let world = World::made(Some(RATE), 1);
    let neighbour = world.echo(Grade::Veth, 7001, "neighbour");
    flood_beside(
        &world,
        Grade::Veth,
        || world.await_answer(7001, "neighbour"),
        |slot| {
            assert!(drops(&world.counted(slot), "over_rate") > 0);
        },
    );
    assert_eq!(world.counted(neighbour.slot()).from_drops, []);
}

#[test]
fn stacks_may_be_weighed_by_classes() {
    let world = World::new();
    let stacks = [world.echo(Grade::Memif, 7001, "light"), world.echo(Grade::Memif, 7002, "heavy")];
    let mut client = world.controller();
    let wid = client.list_workers(bess::EmptyRequest {}).expect("a list").workers_status[0].wid;
    let class = bess::TrafficClass {
        name: "stacks".into(),
        policy: "weighted_fair".into(),
        resource: "bit".into(),
        wid,
        ..Default::default()
    };
    client.add_tc(bess::AddTcRequest { class: Some(class) }).expect("a class");
    for (stack, share) in stacks.iter().zip([1, 9]) {
        let leaf = bess::TrafficClass {
            leaf_module_name: format!("server0/stack{}/check", stack.slot()),
            parent: "stacks".into(),
            arg: Some(bess::traffic_class::Arg::Share(share)),
            ..Default::default()
        };
        client.update_tc_parent(bess::UpdateTcParentRequest { class: Some(leaf) }).expect("a place in it");
    }
    flood_beside(&world, Grade::Memif, || world.await_answer(7001, "light"), |_| {});
    world.await_answer(7002, "heavy");
    let used = client.get_tc_stats(bess::GetTcStatsRequest { name: "stacks".into() }).expect("it is there");
    assert!(used.packets > 0 && used.bits > 0, "{used:?}");
}
