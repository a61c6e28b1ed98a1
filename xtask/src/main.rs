//! `cargo run -p tidegate-xtask -- CHORE`: what a maintainer wants to see of the repository.
//!
//! It prints and changes nothing. The rules that a commit must keep are tests, not chores.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::bail;
use tidegate_xtask::{EdgeKind, Graph, root, sources};

const USAGE: &str = "usage: xtask edges | lines | functions
  edges       the arrows between the crates, for graphviz's dot
  lines       production lines a file, longest first
  functions   lines a function, longest first, and the median";

fn main() -> ExitCode {
    match run(std::env::args().nth(1).as_deref(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(chore: Option<&str>, out: &mut impl Write) -> anyhow::Result<()> {
    match chore {
        Some("edges") => write_edges(out),
        Some("lines") => write_lines(out),
        Some("functions") => write_functions(out),
        _ => bail!(USAGE),
    }
}

fn write_edges(out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "digraph tidegate {{")?;
    for edge in Graph::load(&root())?.inner(EdgeKind::Normal) {
        writeln!(out, "    {} -> {};", edge.from, edge.to)?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

fn write_lines(out: &mut impl Write) -> anyhow::Result<()> {
    let mut files = sources(&root())?;
    files.sort_by_key(|file| std::cmp::Reverse(file.production_lines()));
    for file in files.iter().filter(|file| !file.is_test()) {
        writeln!(out, "{:5} {}", file.production_lines(), file.path.display())?;
    }
    Ok(())
}

fn write_functions(out: &mut impl Write) -> anyhow::Result<()> {
    let files = sources(&root())?;
    let mut functions: Vec<_> = files
        .iter()
        .flat_map(|file| file.functions().map(move |(name, len)| (len, name, &file.path)))
        .collect();
    functions.sort_by_key(|(len, ..)| std::cmp::Reverse(*len));
    let median = functions.get(functions.len() / 2).map_or(0, |(len, ..)| *len);
    writeln!(out, "{} functions, median {median} lines", functions.len())?;
    for (len, name, path) in functions.iter().take(20) {
        writeln!(out, "{len:5} {} {name}", path.display())?;
    }
    Ok(())
}
