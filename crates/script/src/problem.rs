//! What is wrong with a text, where, and what to write instead.

use crate::source::{Source, Span};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub(crate) span: Span,
    /// What is wrong, in a line.
    pub(crate) text: String,
    /// What to write instead.
    pub(crate) help: Option<String>,
    /// Another place that has to do with it, and what is there.
    pub(crate) other: Option<Box<(Span, String)>>,
}

impl Problem {
    pub(crate) fn new(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into(), help: None, other: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    pub(crate) fn see(self, other: Span, label: impl Into<String>) -> Self {
        Self { other: Some(Box::new((other, label.into()))), ..self }
    }
}

/// All that is wrong with a text. Shown, each comes with its file, line and column, the line itself with a caret under
/// what is meant, and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistakes {
    pub(crate) sources: Vec<Source>,
    pub(crate) problems: Vec<Problem>,
}

impl Mistakes {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.problems.len()
    }

    /// The first one in one line: `FILE:LINE:COLUMN: what is wrong: what to write instead`.
    pub fn line(&self) -> String {
        let Some(first) = self.problems.first() else { return String::new() };
        let place = self.sources.get(first.span.file).map(|source| {
            let before = source.text.get(..first.span.start).unwrap_or(&source.text);
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = before.matches('\n').count() + 1;
            format!("{}:{line}:{}: ", source.path, before[line_start..].chars().count() + 1)
        });
        let help = first.help.as_ref().map(|help| format!(": {help}"));
        format!("{}{}{}", place.unwrap_or_default(), first.text, help.unwrap_or_default())
    }

    fn report(&self, problem: &Problem) -> String {
        let mut group = Group::with_title(Level::ERROR.primary_title(problem.text.as_str()));
        let mut marks = vec![(problem.span, AnnotationKind::Primary.span(self.range(problem.span)))];
        if let Some((span, label)) = problem.other.as_deref() {
            marks.push((*span, AnnotationKind::Context.span(self.range(*span)).label(label.as_str())));
        }
        for (file, source) in self.sources.iter().enumerate() {
            let here: Vec<_> =
                marks.iter().filter(|(span, _)| span.file == file).map(|(_, mark)| mark.clone()).collect();
            if !here.is_empty() {
                let snippet = Snippet::source(source.text.as_str()).path(source.path.as_str());
                group = group.element(snippet.annotations(here));
            }
        }
        let includers = self.sources.get(problem.span.file).map(|source| source.includers.as_slice());
        if let Some([.., includer]) = includers {
            group = group.element(Level::NOTE.message(format!("included by {includer}")));
        }
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        Renderer::plain().decor_style(DecorStyle::Ascii).render(&[group])
    }

    /// The part of its text that a span means.
    fn range(&self, span: Span) -> Range<usize> {
        let len = self.sources.get(span.file).map_or(0, |source| source.text.len());
        span.start.min(len)..span.end.min(len)
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reports: Vec<String> = self.problems.iter().map(|problem| self.report(problem)).collect();
        f.write_str(&reports.join("\n\n"))
    }
}

impl std::error::Error for Mistakes {}
