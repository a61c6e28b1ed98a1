//! Words, numbers and signs. Where a line's end means nothing, it is taken away here.
//!
//! A line's end means nothing between brackets, after `->` and before it; elsewhere it ends a statement, as `;` does.

use crate::source::Span;
use logos::Logos;
use std::fmt;

/// What a token is.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r]+")]
#[logos(skip(r"(#|//)[^\n]*", allow_greedy = true))]
pub(crate) enum Kind {
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*")]
    Word,
    #[regex(r"-?[0-9][0-9A-Za-z_]*(\.[0-9][0-9A-Za-z_]*)?([eE][+-][0-9]+)?")]
    Number,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Text,
    #[regex(r#""([^"\\\n]|\\[^\n])*"#, priority = 1)]
    OpenText,
    #[regex(r#"x"[^"\n]*""#, priority = 10)]
    #[regex(r#"x"[0-9A-Fa-f \t\r\n]*""#, priority = 11)]
    Bytes,
    #[token("->")]
    Arrow,
    #[token("::")]
    DoubleColon,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token(",")]
    Comma,
    #[token("=")]
    Equals,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token("[")]
    OpenSquare,
    #[token("]")]
    CloseSquare,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    /// A line's end.
    #[token("\n")]
    Line,
    #[token(";")]
    Semicolon,
    /// A sign that means nothing.
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Word => "a name",
            Kind::Number => "a number",
            Kind::Text | Kind::OpenText => "a text in quotes",
            Kind::Bytes => "bytes",
            Kind::Arrow => "`->`",
            Kind::DoubleColon => "`::`",
            Kind::Colon => "`:`",
            Kind::Dot => "`.`",
            Kind::Comma => "`,`",
            Kind::Equals => "`=`",
            Kind::Open => "`(`",
            Kind::Close => "`)`",
            Kind::OpenSquare => "`[`",
            Kind::CloseSquare => "`]`",
            Kind::OpenBrace => "`{`",
            Kind::CloseBrace => "`}`",
            Kind::Line => "the end of the line",
            Kind::Semicolon => "`;`",
            Kind::Unknown => "a sign that means nothing here",
        })
    }
}

/// A token and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'s> {
    pub(crate) kind: Kind,
    pub(crate) text: &'s str,
    pub(crate) span: Span,
}

impl Token<'_> {
    /// Whether a statement ends with it.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.kind, Kind::Line | Kind::Semicolon)
    }
}

/// The tokens of a text, with the line ends that mean something; the last one always is a line's end.
pub(crate) fn tokens(file: usize, text: &str) -> Vec<Token<'_>> {
    let mut lexer = Kind::lexer(text);
    let mut all = Vec::new();
    while let Some(kind) = lexer.next() {
        let range = lexer.span();
        let span = Span { file, start: range.start, end: range.end };
        all.push(Token { kind: kind.unwrap_or(Kind::Unknown), text: lexer.slice(), span });
    }
    let end = text.len();
    all.push(Token { kind: Kind::Line, text: "", span: Span { file, start: end, end } });
    without_idle_lines(all)
}

fn without_idle_lines(all: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut depth = 0_usize;
    let mut kept: Vec<Token<'_>> = Vec::with_capacity(all.len());
    let last = all.len() - 1;
    for (at, token) in all.into_iter().enumerate() {
        match token.kind {
            Kind::Open | Kind::OpenSquare | Kind::OpenBrace => depth += 1,
            Kind::Close | Kind::CloseSquare | Kind::CloseBrace => depth = depth.saturating_sub(1),
            Kind::Line if at < last && depth > 0 => continue,
            Kind::Line if at < last && kept.last().is_some_and(|before| before.kind == Kind::Arrow) => {
                continue;
            }
            Kind::Arrow => {
                while kept.last().is_some_and(|before| before.kind == Kind::Line) {
                    kept.pop();
                }
            }
            _ => {}
        }
        kept.push(token);
    }
    kept
}
