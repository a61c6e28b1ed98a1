//! The grammar: tokens become statements. docs/specs/tg.md has it in one piece.
//!
//! A statement that is wrong is reported once, and reading goes on behind its end.

use crate::literal;
use crate::problem::Problem;
use crate::source::Span;
use crate::token::{Kind, Token};
use crate::tree::{Arguments, Content, Element, Field, Index, Made, Name, Node, Statement, Value};
use winnow::Parser;
use winnow::combinator::{opt, preceded, repeat, terminated};
use winnow::error::{ErrMode, ParserError};
use winnow::stream::{Stream, TokenSlice};
use winnow::token::{any, one_of};

type Tokens<'t, 's> = TokenSlice<'t, Token<'s>>;
type Parsed<T> = Result<T, ErrMode<Problem>>;

/// Brackets within brackets.
const DEPTH_MAX: usize = 32;

impl ParserError<Tokens<'_, '_>> for Problem {
    type Inner = Self;

    fn from_input(input: &Tokens<'_, '_>) -> Self {
        unexpected(input, "something else")
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

/// All statements, and all that is wrong.
pub(crate) fn statements(tokens: &[Token<'_>]) -> (Vec<Statement>, Vec<Problem>) {
    let mut input = Tokens::new(tokens);
    let mut statements = Vec::new();
    let mut problems = Vec::new();
    while skip_ends(&mut input) {
        match terminated(statement, end).parse_next(&mut input) {
            Ok(statement) => statements.push(statement),
            Err(error) => {
                problems.extend(error.into_inner());
                while any::<_, ErrMode<Problem>>.parse_next(&mut input).is_ok_and(|token| !token.ends()) {}
            }
        }
    }
    (statements, problems)
}

/// Fields alone, as they stand between brackets.
pub(crate) fn fields_alone(tokens: &[Token<'_>]) -> Result<Vec<Field>, Problem> {
    let mut input = Tokens::new(tokens);
    let read = |input: &mut Tokens<'_, '_>| {
        let fields = listed(input, Kind::Line, |input| field(input, 0))?;
        if input.is_empty() { Ok(fields) } else { cut(unexpected(input, "`,`")) }
    };
    read(&mut input).map_err(|error: ErrMode<Problem>| {
        let span = tokens[tokens.len() - 1].span;
        error.into_inner().unwrap_or_else(|_| Problem::new(span, "the arguments end too early"))
    })
}

/// Whether there is more behind ends of lines.
fn skip_ends(input: &mut Tokens<'_, '_>) -> bool {
    while input.first().is_some_and(Token::ends) {
        input.next_token();
    }
    !input.is_empty()
}

fn kind(kind: Kind) -> impl Fn(&Token<'_>) -> bool + Clone {
    move |token| token.kind == kind
}

/// The next token, if it is of that kind.
fn token<'t, 's: 't>(wanted: Kind) -> impl Parser<Tokens<'t, 's>, Token<'s>, ErrMode<Problem>> {
    one_of(kind(wanted)).map(|token: &Token<'s>| *token)
}

/// The next token, which must be of that kind.
fn needed<'s>(input: &mut Tokens<'_, 's>, wanted: Kind, what: &str) -> Parsed<Token<'s>> {
    match input.first() {
        Some(token) if token.kind == wanted => {
            let token = *token;
            input.next_token();
            Ok(token)
        }
        _ => cut(unexpected(input, what)),
    }
}

fn next_is(input: &Tokens<'_, '_>, wanted: Kind) -> bool {
    input.first().is_some_and(|token| token.kind == wanted)
}

fn cut<T>(problem: Problem) -> Parsed<T> {
    Err(ErrMode::Cut(problem))
}

fn unexpected(input: &Tokens<'_, '_>, wanted: &str) -> Problem {
    let Some(token) = input.first().or_else(|| input.previous_tokens().next()) else {
        return Problem::new(Span { file: 0, start: 0, end: 0 }, format!("{wanted} was expected"));
    };
    let found = match token.kind {
        Kind::Word => format!("`{}`", token.text),
        Kind::Unknown => format!("`{}`, which means nothing", token.text.escape_debug()),
        Kind::Line if token.text.is_empty() => "the end of the text".to_owned(),
        kind => kind.to_string(),
    };
    let problem = Problem::new(token.span, format!("{wanted} was expected, not {found}"));
    match token.kind {
        Kind::OpenText => problem.help("put a `\"` at the end of the text, on the same line"),
        Kind::Colon => {
            problem.help("a gate is written in brackets: a[1] -> [0]b; a module is made by a::Class()")
        }
        _ => problem,
    }
}

fn end(input: &mut Tokens<'_, '_>) -> Parsed<()> {
    if input.first().is_none_or(Token::ends) {
        input.next_token();
        return Ok(());
    }
    let problem = unexpected(input, "the end of the statement");
    let is_next = input.first().is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Text));
    match problem.help {
        None if is_next => {
            cut(Problem { help: None, ..problem }
                .help("put `->` between modules, and `;` between statements"))
        }
        _ => cut(problem),
    }
}

fn statement(input: &mut Tokens<'_, '_>) -> Parsed<Statement> {
    let ahead = |at: usize| input.get(at).map(|token| token.kind);
    let first = input.first().map(|token| (token.kind, token.text));
    match (first, ahead(1)) {
        (Some((Kind::Word, "include")), Some(Kind::Text)) => {
            input.next_token();
            name(input, "the path of a file in quotes").map(Statement::Include)
        }
        (Some((Kind::Word, "worker")), Some(Kind::Number)) => worker(input),
        (Some((Kind::Word | Kind::Text, _)), Some(Kind::Dot)) => command(input),
        _ => chain(input),
    }
}

fn worker(input: &mut Tokens<'_, '_>) -> Parsed<Statement> {
    input.next_token();
    let number = index(input, "the number of a worker")?;
    let here = Arguments { fields: Vec::new(), span: number.span };
    let arguments = if next_is(input, Kind::Open) { arguments(input)? } else { here };
    Ok(Statement::Worker(number, arguments))
}

fn command(input: &mut Tokens<'_, '_>) -> Parsed<Statement> {
    let owner = name(input, "a module")?;
    needed(input, Kind::Dot, "`.`")?;
    let command = name(input, "a command")?;
    Ok(Statement::Command(owner, command, arguments(input)?))
}

fn chain(input: &mut Tokens<'_, '_>) -> Parsed<Statement> {
    let first = element(input)?;
    let rest: Vec<Element> = repeat(0.., preceded(token(Kind::Arrow), element)).parse_next(input)?;
    Ok(Statement::Chain(std::iter::once(first).chain(rest).collect()))
}

fn element(input: &mut Tokens<'_, '_>) -> Parsed<Element> {
    let igate = opt(gate).parse_next(input)?;
    let node = node(input)?;
    let ogate = opt(gate).parse_next(input)?;
    Ok(Element { igate, node, ogate })
}

/// `[1]`
fn gate(input: &mut Tokens<'_, '_>) -> Parsed<Index> {
    token(Kind::OpenSquare).parse_next(input)?;
    let gate = index(input, "the number of a gate")?;
    needed(input, Kind::CloseSquare, "`]`")?;
    Ok(gate)
}

fn index(input: &mut Tokens<'_, '_>, what: &str) -> Parsed<Index> {
    let token = needed(input, Kind::Number, what)?;
    let number = literal::number(token.text).ok().and_then(|content| match content {
        Content::Integer(number) => u64::try_from(number).ok(),
        _ => None,
    });
    match number {
        Some(number) => Ok(Index { number, span: token.span }),
        None => cut(Problem::new(token.span, format!("`{}` is not {what}", token.text))
            .help("write 0, 1, 2 and so on")),
    }
}

fn node(input: &mut Tokens<'_, '_>) -> Parsed<Node> {
    let first = name(input, "a module")?;
    if opt(token(Kind::DoubleColon)).parse_next(input)?.is_some() {
        let class = name(input, "a class")?;
        if !next_is(input, Kind::Open) {
            let problem = unexpected(input, "`(`");
            return cut(problem.help(format!("write {}::{}()", literal::quote(&first.text), class.text)));
        }
        return Ok(Node::Made(Made { name: Some(first), class, arguments: arguments(input)? }));
    }
    if next_is(input, Kind::Open) {
        return Ok(Node::Made(Made { name: None, class: first, arguments: arguments(input)? }));
    }
    Ok(Node::Named(first))
}

fn name(input: &mut Tokens<'_, '_>, what: &str) -> Parsed<Name> {
    let token = match input.first() {
        Some(token) if matches!(token.kind, Kind::Word | Kind::Text) => *token,
        _ => return cut(unexpected(input, what)),
    };
    input.next_token();
    let text =
        if token.kind == Kind::Word { Ok(token.text.to_owned()) } else { literal::unquote(token.text) };
    match text {
        Ok(text) => Ok(Name { text, span: token.span }),
        Err(wrong) => cut(Problem::new(token.span, wrong)),
    }
}

fn arguments(input: &mut Tokens<'_, '_>) -> Parsed<Arguments> {
    let open = needed(input, Kind::Open, "`(`")?;
    let fields = bracketed(input, open, Kind::Close, |input| field(input, 0))?;
    let last = input.previous_tokens().next().map_or(open.span, |token| token.span);
    Ok(Arguments { fields, span: open.span.to(last) })
}

/// What `item` reads, separated by commas, up to and with `close`.
fn bracketed<'t, 's, T>(
    input: &mut Tokens<'t, 's>,
    open: Token<'_>,
    close: Kind,
    item: impl FnMut(&mut Tokens<'t, 's>) -> Parsed<T>,
) -> Parsed<Vec<T>> {
    let items = listed(input, close, item)?;
    if opt(token(close)).parse_next(input)?.is_some() {
        return Ok(items);
    }
    let wanted = if items.is_empty() { close.to_string() } else { format!("`,` or {close}") };
    cut(unexpected(input, &wanted).see(open.span, "opened here"))
}

/// What `item` reads, separated by commas; one may stand before the close.
fn listed<'t, 's, T>(
    input: &mut Tokens<'t, 's>,
    close: Kind,
    mut item: impl FnMut(&mut Tokens<'t, 's>) -> Parsed<T>,
) -> Parsed<Vec<T>> {
    let mut items = Vec::new();
    while !input.is_empty() && !next_is(input, close) {
        items.push(item(input)?);
        if opt(token(Kind::Comma)).parse_next(input)?.is_none() {
            break;
        }
    }
    if close == Kind::Line {
        opt(token(close)).parse_next(input)?;
    }
    Ok(items)
}

fn field(input: &mut Tokens<'_, '_>, depth: usize) -> Parsed<Field> {
    let name = match input.first() {
        Some(token) if token.kind == Kind::Number => {
            let name = Name { text: token.text.to_owned(), span: token.span };
            input.next_token();
            name
        }
        _ => name(input, "the name of a field")?,
    };
    if !next_is(input, Kind::Equals) {
        return cut(unexpected(input, "`=`").help("arguments are given by name: size=64"));
    }
    input.next_token();
    Ok(Field { name, value: value(input, depth)? })
}

fn value(input: &mut Tokens<'_, '_>, depth: usize) -> Parsed<Value> {
    let Some(first) = input.first().copied() else { return cut(unexpected(input, "a value")) };
    if depth > DEPTH_MAX {
        return cut(Problem::new(first.span, format!("more than {DEPTH_MAX} brackets within brackets")));
    }
    let content = match first.kind {
        Kind::Word => Ok(Content::Word(first.text.to_owned())),
        Kind::Number => literal::number(first.text),
        Kind::Text => literal::unquote(first.text).map(Content::Text),
        Kind::Bytes => literal::bytes(first.text).map(Content::Bytes),
        Kind::OpenSquare => return list(input, depth),
        Kind::OpenBrace => return record(input, depth),
        _ => return cut(unexpected(input, "a value")),
    };
    input.next_token();
    match content {
        Ok(content) => Ok(Value { content, span: first.span }),
        Err(wrong) => cut(Problem::new(first.span, wrong)),
    }
}

fn list(input: &mut Tokens<'_, '_>, depth: usize) -> Parsed<Value> {
    let open = needed(input, Kind::OpenSquare, "`[`")?;
    let items = bracketed(input, open, Kind::CloseSquare, |input| value(input, depth + 1))?;
    let last = input.previous_tokens().next().map_or(open.span, |token| token.span);
    Ok(Value { content: Content::List(items), span: open.span.to(last) })
}

fn record(input: &mut Tokens<'_, '_>, depth: usize) -> Parsed<Value> {
    let open = needed(input, Kind::OpenBrace, "`{`")?;
    let fields = bracketed(input, open, Kind::CloseBrace, |input| field(input, depth + 1))?;
    let last = input.previous_tokens().next().map_or(open.span, |token| token.span);
    Ok(Value { content: Content::Record(fields), span: open.span.to(last) })
}
