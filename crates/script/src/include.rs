//! A text with all that it includes, as one list of statements.

use crate::grammar;
use crate::problem::Problem;
use crate::source::{Source, Span};
use crate::token;
use crate::tree::{Name, Statement};
use std::io;
use std::path::Path;

/// Files within files.
const DEPTH_MAX: usize = 16;
/// Files altogether.
const FILES_MAX: usize = 256;

/// How a file that is included is read.
pub(crate) type Read<'r> = &'r mut dyn FnMut(&str) -> io::Result<String>;

/// What was gathered from a file and those that it includes.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) sources: Vec<Source>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) problems: Vec<Problem>,
}

impl Gathered {
    /// Adds a text, whose includes are read by `read`.
    pub(crate) fn add(&mut self, source: Source, read: Read<'_>) {
        let file = self.sources.len();
        self.sources.push(source.clone());
        let (statements, problems) = grammar::statements(&token::tokens(file, &source.text));
        self.problems.extend(problems);
        for statement in statements {
            match statement {
                Statement::Include(path) => match self.open(&source, &path, read) {
                    Ok(included) => self.add(included, read),
                    Err(problem) => self.problems.push(problem),
                },
                other => self.statements.push(other),
            }
        }
    }

    fn open(&self, from: &Source, path: &Name, read: Read<'_>) -> Result<Source, Problem> {
        let beside = Path::new(&from.path).parent().unwrap_or(Path::new(""));
        let target = beside.join(&path.text).to_string_lossy().into_owned();
        let includers: Vec<String> = from.includers.iter().chain([&from.path]).cloned().collect();
        let fail = |span: Span, text: String| Err(Problem::new(span, text));
        if includers.contains(&target) {
            return fail(path.span, format!("{target} includes itself"));
        }
        if includers.len() > DEPTH_MAX || self.sources.len() >= FILES_MAX {
            let text = format!("too many files: {DEPTH_MAX} within each other, {FILES_MAX} altogether");
            return fail(path.span, text);
        }
        match read(&target) {
            Ok(text) => Ok(Source { path: target, text, includers }),
            Err(error) => fail(path.span, format!("could not read {target}: {error}")),
        }
    }
}
