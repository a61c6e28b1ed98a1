//! Prints what the offload costs a frame in the XDP program alone: `cargo run -p tidegate-offload --example test_run`. Needs root.
//!
//! The kernel runs the program over one frame again and again (BPF_PROG_TEST_RUN) and states the mean, here the least of several
//! rounds. So that a reply is a request again, both its ends are services and the reply says what the request did; the rule and
//! its table's words are in the processor's caches. The figures of a build without optimisation are as good: no Rust is timed.

use std::io::{self, Write};
use std::time::Duration;

use tidegate_base::Sum;
use tidegate_bpf::{LoadOptions, XdpProgram};
use tidegate_offload::{Action, Capacity, Condition, GroupId, Processor, Rule, Table};
use tidegate_wire::MacAddr;

const REPEAT_COUNT: u32 = 300_000;
const ROUND_COUNT: usize = 5;
const ENDS: [[u8; 4]; 2] = [[192, 0, 2, 1], [192, 0, 2, 2]];
const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn question(number: u32) -> Vec<u8> {
    let name = format!("\x08{number:08x}\x07example\x03net\0");
    [&[0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], name.as_bytes(), &[0, 1, 0, 1]].concat()
}

/// Answers a question with itself, its ID and name copied: as much work as an answer of that length.
fn rule(question: &[u8]) -> Rule {
    Rule {
        conditions: vec![Condition::exact(2, &question[2..12]), Condition::any_case(12, &question[12..])],
        request_len: Some(question.len()),
        action: Action::Answer(vec![
            Processor::Put { at: 0, bytes: question.to_vec() },
            Processor::Copy { from: 0, len: 2, to: 0 },
            Processor::Copy { from: 12, len: question.len() - 16, to: 12 },
        ]),
        group: GroupId(0),
        expires: None,
    }
}

fn frame(payload: &[u8]) -> Vec<u8> {
    let udp_len = (8 + payload.len()) as u16;
    let mut udp: Vec<u8> = [53, 53, udp_len, 0].into_iter().flat_map(u16::to_be_bytes).collect();
    udp.extend(payload);
    let addresses = Sum::of(ENDS.as_flattened());
    let check = (addresses + Sum::of_u16(17) + Sum::of_u16(udp_len) + Sum::of(&udp)).finish_udp();
    udp[6..8].copy_from_slice(&check.to_be_bytes());
    let mut ip = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0];
    ip[2..4].copy_from_slice(&(20 + udp_len).to_be_bytes());
    ip.extend(ENDS.as_flattened());
    let check = Sum::of(&ip).finish();
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    [&MAC.0[..], &MAC.0, &[0x08, 0x00], &ip, &udp].concat()
}

fn print(program: &XdpProgram, what: &str, frame: &[u8]) -> io::Result<()> {
    let mut least = Duration::MAX;
    let mut action = None;
    for _ in 0..ROUND_COUNT {
        let run = program.test_run(frame, REPEAT_COUNT)?;
        least = least.min(run.duration);
        action = Some(run.action);
    }
    writeln!(io::stdout(), "{what:44} {:>5} ns  {action:?}", least.as_nanos())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = XdpProgram::load(&LoadOptions::default())?;
    let (hot, cold) = (frame(&question(0)), frame(&question(u32::MAX)));
    print(&program, "nothing is offloaded", &hot)?;
    program.answer_as(MAC, 1500)?;
    print(&program, "offload on, no service at this address", &hot)?;
    for address in ENDS {
        program.serve((address, 53).into(), 0)?;
    }
    for count in [1, 1_000, 100_000, 1_000_000] {
        let capacity = Capacity::of_rules(count, &rule(&question(0)))?;
        let mut table = Table::create(program.offload_table(0, capacity.page_count())?, capacity, 0x5a)?;
        for number in 0..count {
            table.insert(&rule(&question(number)))?;
        }
        program.set_table(table.memory())?;
        print(&program, &format!("{count} rules, one answers"), &hot)?;
        print(&program, &format!("{count} rules, none matches"), &cold)?;
    }
    Ok(())
}
