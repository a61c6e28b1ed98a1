//! Prints what a million DNS rules take: `cargo run --release -p tidegate-offload --example million [COUNT]`.
//!
//! The rules are for questions of the form `hNN.eNNNNNN.net`, each with one address. They are made beforehand: the time is the
//! table's.

use std::io::{self, Write};
use std::time::Instant;

use tidegate_offload::lookup::{Image, Verdict};
use tidegate_offload::{Action, Capacity, Condition, GroupId, HeapMemory, PAGE_LEN, Processor, Rule, Table};

fn question(number: usize) -> Vec<u8> {
    let mut question = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in [format!("h{:02}", number % 100), format!("e{:06}", number / 100), "net".to_owned()] {
        question.push(label.len() as u8);
        question.extend(label.as_bytes());
    }
    question.extend([0, 0, 1, 0, 1]);
    question
}

fn rule(question: &[u8]) -> Rule {
    let mut answer = question.to_vec();
    answer[2..12].copy_from_slice(&[0x85, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    answer.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4, 192, 0, 2, 80]);
    Rule {
        conditions: vec![Condition::exact(2, &question[2..12]), Condition::any_case(12, &question[12..])],
        request_len: Some(question.len()),
        action: Action::Answer(vec![
            Processor::Put { at: 0, bytes: answer },
            Processor::Copy { from: 0, len: 2, to: 0 },
            Processor::Copy { from: 12, len: question.len() - 12, to: 12 },
        ]),
        group: GroupId(0),
        expires: None,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse::<usize>())?;
    let questions: Vec<_> = (0..count).map(question).collect();
    let rules: Vec<_> = questions.iter().map(|question| rule(question)).collect();
    let capacity = Capacity::of_rules(count as u32, &rules[0])?;
    let memory = HeapMemory::new(capacity.page_count());
    let mut table = Table::create(memory, capacity, 0x5a)?;

    let start = Instant::now();
    for rule in &rules {
        table.insert(rule)?;
    }
    let loaded = start.elapsed();
    let image = Image::new(table.memory());
    let start = Instant::now();
    let answered = questions.iter().filter(|question| {
        matches!(image.serve(question, tidegate_base::Instant::ZERO), Verdict::Answer { .. })
    });
    let answered = answered.count();
    let asked = start.elapsed();

    let mut out = io::stdout().lock();
    let request_len = rules[0].request_len.unwrap_or(0);
    writeln!(out, "{count} rules for {request_len} bytes: {:.2} s to load", loaded.as_secs_f64())?;
    let bytes = capacity.page_count() * PAGE_LEN;
    writeln!(out, "{:.1} MB, {} bytes a rule", bytes as f64 / 1e6, bytes / count)?;
    writeln!(out, "{answered} answered in Rust, {} ns each", asked.as_nanos() as usize / count)?;
    Ok(())
}
