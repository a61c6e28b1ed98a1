//! The tunnel by the kernel's own vxlan device.

use std::process::Command;

use anyhow::ensure;
use tidegate_testbed::{End, Testbed};

use super::tunnel::{INNER, INNER_MTU, TUNNEL_ID, inner_address};

/// Puts a vxlan device on each end of the cable.
pub(super) fn set_up(bed: &Testbed, has_offloads: bool) -> anyhow::Result<()> {
    for (host, end, peer) in [(1, bed.client(), bed.server()), (2, bed.server(), bed.client())] {
        // Without a checksum of its UDP, as RFC 7348 section 5 would have it, and as Tidegate sends it.
        let device = format!(
            "link add {INNER} mtu {INNER_MTU} type vxlan id {TUNNEL_ID} local {} remote {} dstport 4789 dev {} noudpcsum",
            end.ipv4(),
            peer.ipv4(),
            end.device()
        );
        command(end, "ip", &device)?;
        command(end, "ip", &format!("addr add {}/24 dev {INNER}", inner_address(host)))?;
        command(end, "ip", &format!("link set {INNER} up"))?;
        if !has_offloads {
            command(end, "ethtool", &format!("-K {INNER} tso off gso off gro off"))?;
            // What arrives is not put together on the way to the tunnel either.
            command(end, "ethtool", &format!("-K {} rx-udp-gro-forwarding off", end.device()))?;
        }
    }
    Ok(())
}

fn command(end: &End, program: &str, arguments: &str) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace());
    let output = end.output(command)?;
    ensure!(
        output.status.success(),
        "{program} {arguments}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
