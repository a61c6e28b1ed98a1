//! Classic BPF (S. McCanne, V. Jacobson: *The BSD Packet Filter*, 1993; the kernel's networking/filter.rst): programs, checked
//! once and run on frames.
//!
//! ```text
//!   instruction   code 16 | jt 8 | jf 8 | k 32           A: accumulator, X: index, M[0..16]: scratch
//! ```
//! Invariant: a program that was made ends, on any frame: jumps go forward, within it, and its last instruction returns.

use thiserror::Error;

/// The most instructions of a program: what kernels take.
const INSTRUCTION_COUNT_MAX: usize = 4096;
const SCRATCH_COUNT: usize = 16;

const CLASS: u16 = 0x07;
const LD: u16 = 0x00;
const LDX: u16 = 0x01;
const ST: u16 = 0x02;
const STX: u16 = 0x03;
const ALU: u16 = 0x04;
const JMP: u16 = 0x05;
const RET: u16 = 0x06;
const MISC: u16 = 0x07;

const MODE: u16 = 0xe0;
const IMM: u16 = 0x00;
const ABS: u16 = 0x20;
const IND: u16 = 0x40;
const MEM: u16 = 0x60;
const LEN: u16 = 0x80;
const MSH: u16 = 0xa0;

const SIZE: u16 = 0x18;
const WORD: u16 = 0x00;
const HALF: u16 = 0x08;
const BYTE: u16 = 0x10;

/// The operand is X and not k.
const BY_X: u16 = 0x08;
const OPERATION: u16 = 0xf0;
const TXA: u16 = 0x80;
const RETURNS_A: u16 = 0x10;

/// One instruction, as `tcpdump -ddd` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u16,
    /// Instructions that are passed over if the test holds.
    pub jump_true: u8,
    /// And if it does not.
    pub jump_false: u8,
    /// A constant, an offset, or a place in the scratch memory.
    pub k: u32,
}

/// Why instructions are no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// None, or too many.
    #[error("a filter program of {0} instructions: 1 to {INSTRUCTION_COUNT_MAX} will do")]
    Size(usize),
    /// A code that is none.
    #[error("instruction {at} of the filter program has the unknown code {code:#x}")]
    Code {
        /// Which.
        at: usize,
        /// Its code.
        code: u16,
    },
    /// A jump out of the program, a place out of the scratch memory, or a division by zero.
    #[error("instruction {0} of the filter program reaches out of it or divides by zero")]
    Operand(usize),
    /// The last instruction does not return.
    #[error("the filter program does not end with a return")]
    Endless,
}

/// A filter's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Box<[Instruction]>);

impl Program {
    /// Checks instructions.
    pub fn new(instructions: Vec<Instruction>) -> Result<Self, ProgramError> {
        if !(1..=INSTRUCTION_COUNT_MAX).contains(&instructions.len()) {
            return Err(ProgramError::Size(instructions.len()));
        }
        for (at, instruction) in instructions.iter().enumerate() {
            check(at, instruction, instructions.len())?;
        }
        match instructions.last() {
            Some(last) if last.code & CLASS == RET => Ok(Self(instructions.into_boxed_slice())),
            _ => Err(ProgramError::Endless),
        }
    }

    /// What the program returns of `frame`: zero for no match. A load from behind its end returns zero.
    #[inline]
    pub fn run(&self, frame: &[u8]) -> u32 {
        let mut machine = Machine { a: 0, x: 0, scratch: [0; SCRATCH_COUNT], frame };
        let mut at = 0;
        while let Some(instruction) = self.0.get(at) {
            match machine.step(instruction) {
                Some(Next::Skip(count)) => at += 1 + count as usize,
                Some(Next::Return(value)) => return value,
                None => return 0,
            }
        }
        0
    }
}

fn check(at: usize, instruction: &Instruction, count: usize) -> Result<(), ProgramError> {
    let Instruction { code, jump_true, jump_false, k } = *instruction;
    let is_known = match code & CLASS {
        LD => matches!((code & MODE, code & SIZE), (IMM | MEM | LEN, WORD) | (ABS | IND, WORD | HALF | BYTE)),
        LDX => matches!((code & MODE, code & SIZE), (IMM | MEM | LEN, WORD) | (MSH, BYTE)),
        ST | STX => code & !CLASS == 0,
        ALU => code >> 4 <= 0xa,
        JMP => code >> 4 <= 4,
        RET => code & !CLASS & !RETURNS_A == 0,
        _ => code & !CLASS & !TXA == 0,
    };
    if !is_known || code > 0xff {
        return Err(ProgramError::Code { at, code });
    }
    let reach = match (code & CLASS, code & OPERATION) {
        (JMP, 0) => 1 + k as usize,
        (JMP, _) => 1 + usize::from(jump_true.max(jump_false)),
        _ => 0,
    };
    let uses_scratch = matches!(code & CLASS, ST | STX) || (code & CLASS <= LDX && code & MODE == MEM);
    let divides = code & CLASS == ALU && matches!(code & OPERATION, 0x30 | 0x90) && code & BY_X == 0;
    let is_sound =
        reach < count - at && (!uses_scratch || (k as usize) < SCRATCH_COUNT) && (!divides || k != 0);
    if is_sound { Ok(()) } else { Err(ProgramError::Operand(at)) }
}

/// Where it goes on.
enum Next {
    /// Behind so many instructions.
    Skip(u32),
    Return(u32),
}

struct Machine<'a> {
    a: u32,
    x: u32,
    scratch: [u32; SCRATCH_COUNT],
    frame: &'a [u8],
}

impl Machine<'_> {
    #[inline]
    fn step(&mut self, instruction: &Instruction) -> Option<Next> {
        let Instruction { code, k, .. } = *instruction;
        match code & CLASS {
            LD => self.a = self.load(code, k)?,
            LDX => self.x = self.load(code, k)?,
            ST => self.scratch[k as usize % SCRATCH_COUNT] = self.a,
            STX => self.scratch[k as usize % SCRATCH_COUNT] = self.x,
            ALU => self.a = self.compute(code, k)?,
            JMP => return Some(Next::Skip(self.jump(instruction))),
            RET => return Some(Next::Return(if code & RETURNS_A != 0 { self.a } else { k })),
            MISC if code & TXA != 0 => self.a = self.x,
            _ => self.x = self.a,
        }
        Some(Next::Skip(0))
    }

    #[inline]
    fn load(&self, code: u16, k: u32) -> Option<u32> {
        match code & MODE {
            IMM => Some(k),
            ABS => self.read(k, code & SIZE),
            // As the kernel has it: an offset that wraps is behind every frame's end.
            IND => self.read(self.x.checked_add(k)?, code & SIZE),
            MEM => Some(self.scratch[k as usize % SCRATCH_COUNT]),
            LEN => Some(self.frame.len() as u32),
            _ => Some((self.read(k, BYTE)? & 0xf) * 4),
        }
    }

    #[inline]
    fn read(&self, offset: u32, size: u16) -> Option<u32> {
        let rest = self.frame.get(offset as usize..)?;
        match size {
            WORD => rest.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)),
            HALF => rest.first_chunk().map(|bytes| u16::from_be_bytes(*bytes).into()),
            _ => rest.first().copied().map(u32::from),
        }
    }

    #[inline]
    fn compute(&self, code: u16, k: u32) -> Option<u32> {
        let (a, b) = (self.a, if code & BY_X != 0 { self.x } else { k });
        Some(match code >> 4 {
            0x0 => a.wrapping_add(b),
            0x1 => a.wrapping_sub(b),
            0x2 => a.wrapping_mul(b),
            0x3 => a.checked_div(b)?,
            0x4 => a | b,
            0x5 => a & b,
            0x6 => a.checked_shl(b).unwrap_or(0),
            0x7 => a.checked_shr(b).unwrap_or(0),
            0x8 => a.wrapping_neg(),
            0x9 => a.checked_rem(b)?,
            _ => a ^ b,
        })
    }

    #[inline]
    fn jump(&self, instruction: &Instruction) -> u32 {
        let Instruction { code, jump_true, jump_false, k } = *instruction;
        let b = if code & BY_X != 0 { self.x } else { k };
        let holds = match code >> 4 {
            0 => return k,
            1 => self.a == b,
            2 => self.a > b,
            3 => self.a >= b,
            _ => self.a & b != 0,
        };
        u32::from(if holds { jump_true } else { jump_false })
    }
}
