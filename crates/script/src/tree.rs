//! A text as statements: what was written, with nothing looked up yet.

use crate::source::Span;

/// A name, as a word or in quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Statement {
    /// `include "common.tg"`
    Include(Name),
    /// `worker 0(core=1)`
    Worker(Index, Arguments),
    /// `routes.add(prefix="10.0.0.0", prefix_len=8, gate=1)`
    Command(Name, Name, Arguments),
    /// `src::Source() -> [1]m[2] -> Sink()`, or one element alone.
    Chain(Vec<Element>),
}

/// A number of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Index {
    pub(crate) number: u64,
    pub(crate) span: Span,
}

/// A module in a chain, with its gates.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Element {
    pub(crate) igate: Option<Index>,
    pub(crate) node: Node,
    pub(crate) ogate: Option<Index>,
}

/// What a chain's element names or makes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Node {
    /// What is made elsewhere.
    Named(Name),
    /// A module, a port or a traffic class.
    Made(Made),
}

/// `q::Queue(size=64)`, or without a name `Sink()`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Made {
    pub(crate) name: Option<Name>,
    pub(crate) class: Name,
    pub(crate) arguments: Arguments,
}

/// What stands between brackets.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Arguments {
    pub(crate) fields: Vec<Field>,
    pub(crate) span: Span,
}

/// `size=64`
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Field {
    pub(crate) name: Name,
    pub(crate) value: Value,
}

/// What a field is to be.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Value {
    pub(crate) content: Content,
    pub(crate) span: Span,
}

/// A value's content.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Content {
    Integer(i128),
    Real(f64),
    Word(String),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Record(Vec<Field>),
}

impl Content {
    /// What it is called.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Content::Integer(_) => "an integer",
            Content::Real(_) => "a real number",
            Content::Word(_) => "a word",
            Content::Text(_) => "a text",
            Content::Bytes(_) => "bytes",
            Content::List(_) => "a list",
            Content::Record(_) => "a record",
        }
    }
}

impl Element {
    pub(crate) fn span(&self) -> Span {
        match &self.node {
            Node::Named(name) => name.span,
            Node::Made(made) => made.name.as_ref().unwrap_or(&made.class).span,
        }
    }
}
