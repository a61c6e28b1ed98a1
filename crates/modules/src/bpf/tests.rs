//! Programs that tcpdump made (`tcpdump -ddd -y EN10MB EXPRESSION`), and hostile ones.
use super::*;
use crate::rig::{Rig, hostile_frames, ipv4_frame, survives};
use tidegate_base::Rng;

fn program(listing: &str) -> Program {
    let instruction = |line: &str| {
        let mut words = line.split_whitespace().map(|word| word.parse::<u32>().unwrap());
        let mut next = || words.next().unwrap();
        Instruction { code: next() as u16, jump_true: next() as u8, jump_false: next() as u8, k: next() }
    };
    Program::new(listing.trim().lines().map(instruction).collect()).unwrap()
}

/// `tcp dst port 2222`, over IPv4 and IPv6, not for later fragments.
const TCP_TO_2222: &str = "
    40 0 0 12
    21 0 4 34525
    48 0 0 20
    21 0 11 6
    40 0 0 56
    21 8 9 2222
    21 0 8 2048
    48 0 0 23
    21 0 6 6
    40 0 0 20
    69 4 0 8191
    177 0 0 14
    72 0 0 16
    21 0 1 2222
    6 0 0 262144
    6 0 0 0";

fn filter(priority: i64, listing: &str, gate: u64) -> BpfFilter {
    BpfFilter { priority, expression: listing.to_owned(), program: program(listing), gate }
}

#[test]
fn frames_leave_where_the_first_filter_says_that_matches() {
    let all = "6 0 0 1";
    let long = "128 0 0 0\n53 0 1 100\n6 0 0 1\n6 0 0 0";
    let filters = vec![filter(1, all, 3), filter(2, TCP_TO_2222, 1), filter(9, long, 2)];
    let mut rig = Rig::new(Bpf::new(filters).unwrap());
    let tcp = ipv4_frame(6, b"text");
    let long_tcp = ipv4_frame(6, &[0; 100]);
    let udp = ipv4_frame(17, b"text");
    let gates = |rig: &mut Rig, frames: &[&Vec<u8>]| {
        let frames: Vec<_> = frames.iter().map(|frame| frame.to_vec()).collect();
        let mut gates: Vec<_> = rig.pass(&frames).into_iter().map(|(gate, data)| (data, gate)).collect();
        gates.sort_by_key(|(data, _)| frames.iter().position(|frame| frame == data));
        gates.into_iter().map(|(_, gate)| gate).collect::<Vec<_>>()
    };
    assert_eq!(gates(&mut rig, &[&tcp, &long_tcp, &udp]), [1, 2, 3]);
    assert!(rig.module::<Bpf>().remove(1, all, 3));
    assert!(!rig.module::<Bpf>().remove(1, all, 3));
    assert_eq!(gates(&mut rig, &[&udp]), [0]);
    rig.module::<Bpf>().clear();
    assert_eq!(gates(&mut rig, &[&tcp]), [0]);
    assert_eq!(rig.counter("filters"), 0);
    assert!(Bpf::new(vec![filter(0, all, 8192)]).is_err());
}

#[test]
fn programs_that_are_none_are_refused() {
    let of = |instructions: &[(u16, u8, u8, u32)]| {
        let instruction = |&(code, jump_true, jump_false, k): &(u16, u8, u8, u32)| Instruction {
            code,
            jump_true,
            jump_false,
            k,
        };
        Program::new(instructions.iter().map(instruction).collect()).unwrap_err()
    };
    assert_eq!(of(&[]), ProgramError::Size(0));
    assert_eq!(of(&[(0x28, 0, 0, 12)]), ProgramError::Endless);
    assert_eq!(of(&[(0x15, 0, 1, 0), (6, 0, 0, 0)]), ProgramError::Operand(0));
    assert_eq!(of(&[(0x05, 0, 0, u32::MAX), (6, 0, 0, 0)]), ProgramError::Operand(0));
    assert_eq!(of(&[(0x60, 0, 0, 16), (6, 0, 0, 0)]), ProgramError::Operand(0));
    assert_eq!(of(&[(0x34, 0, 0, 0), (6, 0, 0, 0)]), ProgramError::Operand(0));
    assert_eq!(of(&[(0xffff, 0, 0, 0), (6, 0, 0, 0)]), ProgramError::Code { at: 0, code: 0xffff });
}

#[test]
fn random_programs_are_refused_or_end() {
    let mut rng = Rng::new(7);
    let frames = hostile_frames(1, 20);
    let mut sound_count = 0;
    for _ in 0..20_000 {
        let mut instructions: Vec<Instruction> = (0..rng.below(12))
            .map(|_| Instruction {
                code: rng.below(0x100) as u16,
                jump_true: rng.below(4) as u8,
                jump_false: rng.below(4) as u8,
                k: if rng.chance(0.7) { rng.below(40) as u32 } else { rng.next_u32() },
            })
            .collect();
        instructions.push(Instruction { code: 0x16, jump_true: 0, jump_false: 0, k: 0 });
        if let Ok(program) = Program::new(instructions) {
            sound_count += 1;
            frames.iter().for_each(|frame| _ = program.run(frame));
        }
    }
    assert!(sound_count > 1000, "{sound_count}");
    survives(Bpf::new(vec![filter(0, TCP_TO_2222, 1)]).unwrap(), 0);
}
