//! What is wrong with a configuration, in one line that says where and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigFault {
    /// The file, if it came from one.
    pub file: Option<PathBuf>,
    /// Line and column, from one.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what to do about it.
    pub message: String,
}

impl ConfigFault {
    /// A fault of a setting, wherever it came from.
    pub fn new(message: impl Into<String>) -> Self {
        Self { file: None, place: None, message: message.into() }
    }

    /// The same, of a file.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    pub(crate) fn of_toml(error: &toml::de::Error, text: &str) -> Self {
        let place = error.span().map(|span| place_of(text, span.start));
        Self { file: None, place, message: explain(error.message()) }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
        }
        match self.place {
            Some((line, column)) => write!(f, "{line}:{column}: ")?,
            None if self.file.is_some() => f.write_str(" ")?,
            None => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigFault {}

fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |lf| lf + 1);
    (line, before[line_start..].chars().count() + 1)
}

/// The parser's words on one line, with a guess where a name is unknown.
fn explain(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next().filter(|_| is_unknown);
    match unknown.and_then(|unknown| nearest(unknown, names)) {
        Some(name) => format!("{message}: did you mean `{name}`?"),
        None => message,
    }
}

/// Of `names`, the one that whoever typed `unknown` may have meant.
pub fn nearest<'n>(unknown: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let names = names.into_iter().map(|name| (edit_distance(unknown, name), name));
    let (distance, name) = names.min()?;
    // With every letter changed it is another name.
    (distance <= 1 + unknown.len() / 3 && distance < unknown.chars().count()).then_some(name)
}

/// How many letters to change, add or leave out.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.chars().enumerate() {
            let changed = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[row.len() - 1]
}
