//! The text form of a pipeline: `.tg` files, read and written.
//!
//! ```text
//!   text --token--> words, signs --grammar--> statements --assemble--> PipelineSpec of tidegate.v1
//!     ^                              |include                              |
//!     +------------------------------- print ------------------------------+
//! ```
//!
//! The language is described in docs/specs/tg.md. Arguments are the protocol's messages, field by field as their
//! descriptors say: a class that the protocol learns needs nothing here.
//!
//! Invariant: no text makes this panic; what [`print()`] writes is read back as the same pipeline. Not here: files (the
//! caller reads what is included) and daemons.
#![forbid(unsafe_code)]

mod argument;
mod assemble;
mod grammar;
mod include;
mod links;
mod literal;
mod print;
mod problem;
pub mod reflect;
mod source;
mod token;
mod traffic;
mod tree;

pub use literal::quote;
pub use print::{Unprintable, print, print_fields};
pub use problem::Mistakes;

use assemble::Assembly;
use include::Gathered;
use problem::Problem;
use prost_types::Any;
use source::{Source, Span};
use std::io;
use tidegate_control::Kind;
use tidegate_control::proto::v1::PipelineSpec;

/// A text that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    /// The pipeline that it describes.
    pub pipeline: PipelineSpec,
    sources: Vec<Source>,
    places: Vec<(String, Span)>,
}

impl Script {
    /// Reads `text`, which is in the file `path`; `read` gives the text of files that are included.
    pub fn parse(
        path: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
    ) -> Result<Script, Mistakes> {
        let source = Source { path: path.to_owned(), text: text.to_owned(), includers: Vec::new() };
        Self::of(source, read, true)
    }

    /// Reads a part of a pipeline, whose ports and classes may be elsewhere.
    pub fn parse_part(text: &str) -> Result<PipelineSpec, Mistakes> {
        let source = Source { path: "arguments".to_owned(), text: text.to_owned(), includers: Vec::new() };
        let mut none = |_: &str| Err(io::ErrorKind::Unsupported.into());
        Ok(Self::of(source, &mut none, false)?.pipeline)
    }

    fn of(source: Source, read: include::Read<'_>, is_whole: bool) -> Result<Script, Mistakes> {
        let mut gathered = Gathered::default();
        gathered.add(source, read);
        let Gathered { sources, statements, mut problems } = gathered;
        if problems.is_empty() {
            // What a statement that could not be read declares would be missed by the others.
            let assembly = Assembly::of(&statements, is_whole);
            problems = assembly.problems;
            if problems.is_empty() {
                return Ok(Script { pipeline: assembly.pipeline, sources, places: assembly.places });
            }
        }
        problems.sort_by_key(|problem| (problem.span.file, problem.span.start));
        Err(Mistakes { sources, problems })
    }

    /// What a daemon found wrong with the pipeline, at the place of what it names.
    pub fn refused(&self, why: &str) -> Mistakes {
        let is_named = |name: &str| {
            let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            why.match_indices(name).any(|(at, _)| {
                let (before, after) = (&why[..at], &why[at + name.len()..]);
                !before.ends_with(word) && !after.starts_with(word)
            })
        };
        let named = self.places.iter().filter(|(name, _)| is_named(name)).max_by_key(|(name, _)| name.len());
        let span = named.map_or(Span { file: usize::MAX, start: 0, end: 0 }, |(_, span)| *span);
        Mistakes { sources: self.sources.clone(), problems: vec![Problem::new(span, why)] }
    }
}

/// The argument that `text` says, such as `size=64, prefetch=true`; `whose` stands in what is reported.
pub fn parse_fields(kind: Kind, whose: &str, text: &str) -> Result<Any, Mistakes> {
    let fields = grammar::fields_alone(&token::tokens(0, text));
    let span = Span { file: 0, start: 0, end: text.len() };
    let any = fields.and_then(|fields| assemble::any(kind, &fields, span));
    any.map_err(|problem| {
        let source = Source { path: whose.to_owned(), text: text.to_owned(), includers: Vec::new() };
        Mistakes { sources: vec![source], problems: vec![problem] }
    })
}

/// Words of a command line, each FIELD=VALUE, as fields: a value that is none as it stands is put in quotes.
pub fn join_words(words: &[String]) -> String {
    let field = |word: &String| match word.split_once('=') {
        Some((name, value)) => format!("{name}={}", literal::guess(value)),
        None => word.clone(),
    };
    words.iter().map(field).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
