//! Frames that wait in a module while the graph changes: their values go where the new layout has them.

use crate::buffer::Buffer;
use crate::field::{Field, Position};
use crate::queue::{RateLimiter, RateLimiterParams};
use crate::rig::Rig;
use crate::{Impair, ImpairConfig};
use tidegate_base::{Duration, Instant};
use tidegate_pipeline::Module;
use tidegate_pipeline::metadata::{Access, Attribute, Layout, ModuleView, Place, Relocation, Scene, lay_out};

/// The module under test passes on what the first of three writes and the last reads.
fn layout(attributes: &[(&str, u8)]) -> Layout {
    let all = |access| -> Vec<_> {
        attributes
            .iter()
            .map(|(name, size)| Attribute { name: name.to_string().into(), size: *size, access })
            .collect()
    };
    let (written, read) = (all(Access::Write), all(Access::Read));
    let modules = [
        ModuleView { name: "writer", attributes: &written, next: &[1] },
        ModuleView { name: "tested", attributes: &[], next: &[2] },
        ModuleView { name: "reader", attributes: &read, next: &[] },
    ];
    lay_out(&Scene { modules: &modules })
}

/// A change that moves `a`, and where from and to.
fn change() -> (Relocation, usize, usize) {
    let (before, after) = (layout(&[("a", 4)]), layout(&[("long", 16), ("a", 4)]));
    let (Place::At(from), Place::At(to)) = (before.places(2)[0], after.places(2)[1]) else {
        panic!("no room")
    };
    assert_ne!(from, to);
    (after.relocations(&before).swap_remove(1), from.into(), to.into())
}

fn keeps_values(module: impl Module, leaves: impl FnOnce(&mut Rig)) {
    let class = module.class();
    let (relocation, from, to) = change();
    let mut rig = Rig::with_gates(module, 1, 1);
    let mut scratch = [0; 64];
    scratch[from..from + 4].copy_from_slice(b"mine");
    (0..3).for_each(|_| rig.feed_marked(0, &[0; 60], &scratch));
    let early = rig.round_packets(Instant::from_millis(1)).len();
    assert!(early < 3, "{class} kept none");
    rig.relocate(relocation);
    leaves(&mut rig);
    let late = rig.round_packets(Instant::from_millis(10_000));
    assert_eq!(late.len().min(3), 3 - early, "{class} has not sent what it kept");
    for packet in &late[..3 - early] {
        assert_eq!(&packet.scratch[to..to + 4], b"mine", "{class} lost a value");
    }
    rig.retire();
}

#[test]
fn frames_that_wait_keep_their_values() {
    keeps_values(
        Impair::new(ImpairConfig { delay: Duration::from_millis(5), ..ImpairConfig::default() }),
        |_| {},
    );

    let flow = Field { position: Position::Offset(0), size: 4 };
    let mut limiter = RateLimiter::new(&RateLimiterParams::new(flow)).unwrap();
    limiter.set_rate(0, 1000).unwrap();
    keeps_values(limiter, |_| {});

    keeps_values(Buffer::default(), |rig| (3..64).for_each(|_| rig.feed(0, &[&[1; 60]])));
}
