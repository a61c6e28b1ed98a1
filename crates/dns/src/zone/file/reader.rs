//! Entries become records: owners, TTLs, classes and directives (RFC 1035 section 5.1, RFC 2308 section 4).
//!
//! ```text
//!   Source (a file's text, its origin and last owner) --Lexer--> entry --+-> directive: changes what follows
//!          \-- $INCLUDE: another source, with its own                    \-> record --> ZoneBuilder
//! ```
//!
//! Invariant: an included file begins with the origin it is given and changes neither origin nor owner of the
//! file that includes it; `$TTL` and the last TTL run through all of them, as they run through lines.

use std::path::{Path, PathBuf};

use domain::base::iana::Rtype;

use super::error::{Complaint, FileError};
use super::fields::Fields;
use super::lexer::{Lexer, Token, Tokens};
use super::{Limits, generate, rdata, ttl};
use crate::name::{Name, NameBuf};
use crate::zone::{Place, ZoneBuilder, ZoneError};

/// Reads sources into a builder.
pub(super) struct Reader {
    pub(super) builder: ZoneBuilder,
    /// Files by the numbers in [`Place`].
    files: Vec<File>,
    limits: Limits,
    records: u64,
    default_ttl: Option<u32>,
    last_ttl: Option<u32>,
    data: Vec<u8>,
}

struct File {
    /// The path as it was given.
    path: PathBuf,
    /// The same without links and `..`: two paths may lead to one file.
    real: PathBuf,
}

/// A text under reading.
struct Source<'t> {
    text: &'t [u8],
    file: u16,
    /// Files that include each other up to this one, this one last.
    chain: Vec<u16>,
    origin: NameBuf,
    owner: Option<NameBuf>,
}

/// What stands before the data of a record.
struct Head {
    ttl: Option<u32>,
    rtype: Rtype,
}

impl Reader {
    pub(super) fn new(apex: &Name, limits: Limits) -> Self {
        let builder = ZoneBuilder::new(apex);
        Reader {
            builder,
            files: Vec::new(),
            limits,
            records: 0,
            default_ttl: None,
            last_ttl: None,
            data: Vec::new(),
        }
    }

    /// Reads the zone's own file.
    pub(super) fn read_file(&mut self, path: &Path) -> Result<(), FileError> {
        let origin = self.builder.apex().to_owned();
        self.include(path, origin, &[], None)
    }

    /// Reads a text that is no file; it can include none.
    pub(super) fn read_text(&mut self, label: &Path, text: &[u8]) -> Result<(), FileError> {
        let origin = self.builder.apex().to_owned();
        self.files.push(File { path: label.to_owned(), real: label.to_owned() });
        self.read(Source { text, file: 0, chain: vec![0], origin, owner: None })
    }

    /// The files that were read, in the order in which they were met.
    pub(super) fn into_paths(self) -> Vec<PathBuf> {
        self.files.into_iter().map(|file| file.path).collect()
    }

    fn include(
        &mut self,
        path: &Path,
        origin: NameBuf,
        chain: &[u16],
        owner: Option<NameBuf>,
    ) -> Result<(), FileError> {
        let file = self.file_number(path);
        let fail = |what: String| FileError { path: path.to_owned(), line: 0, what };
        let text = std::fs::read(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let chain = [chain, &[file]].concat();
        self.read(Source { text: &text, file, chain, origin, owner })
    }

    fn file_number(&mut self, path: &Path) -> u16 {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let known = self.files.iter().position(|file| file.real == real);
        let file = known.unwrap_or_else(|| {
            self.files.push(File { path: path.to_owned(), real });
            self.files.len() - 1
        });
        u16::try_from(file).unwrap_or(u16::MAX)
    }

    fn read(&mut self, mut source: Source<'_>) -> Result<(), FileError> {
        let mut lexer = Lexer::new(1);
        let mut tokens = Tokens::default();
        while lexer
            .next_entry(source.text, &mut tokens)
            .map_err(|complaint| self.blame(&source, complaint))?
        {
            self.entry(&mut source, &tokens)?;
        }
        Ok(())
    }

    fn entry(&mut self, source: &mut Source<'_>, tokens: &Tokens) -> Result<(), FileError> {
        let first = tokens.list[0];
        let word = &source.text[first.start..first.end];
        if !tokens.indented && !first.quoted && word.first() == Some(&b'$') {
            return self.directive(source, word, &tokens.list);
        }
        let result = self.record(source, source.text, tokens);
        result.map_err(|complaint| self.blame(source, complaint.at(first.line)))
    }

    fn directive(&mut self, source: &mut Source<'_>, word: &[u8], tokens: &[Token]) -> Result<(), FileError> {
        let line = tokens[0].line;
        let origin = source.origin;
        let mut fields = Fields::new(source.text, &tokens[1..], &origin);
        let result = match word.to_ascii_uppercase().as_slice() {
            b"$ORIGIN" => fields.name().and_then(|origin| fields.end().map(|()| source.origin = origin)),
            b"$TTL" => fields.ttl().and_then(|ttl| fields.end().map(|()| self.default_ttl = Some(ttl))),
            b"$GENERATE" => self.generate(source, tokens),
            b"$INCLUDE" => return self.include_entry(source, fields, line),
            _ => {
                let word = String::from_utf8_lossy(word);
                Err(Complaint::new(format!(
                    "{word} is no directive known here ($ORIGIN, $TTL, $INCLUDE, $GENERATE); \
                     begin a name like this with `\\$`"
                )))
            }
        };
        result.map_err(|complaint| self.blame(source, complaint.at(line)))
    }

    fn include_entry(
        &mut self,
        source: &Source<'_>,
        mut fields: Fields<'_>,
        line: u32,
    ) -> Result<(), FileError> {
        let parsed = self.include_fields(source, &mut fields);
        let (path, origin) = parsed.map_err(|complaint| self.blame(source, complaint.at(line)))?;
        self.include(&path, origin, &source.chain, source.owner).map_err(|error| match error.line {
            0 if error.path == path => {
                self.blame(source, Complaint::new(format!("{} {}", path.display(), error.what)).at(line))
            }
            _ => error,
        })
    }

    /// The file's path, taken from the folder of the file that includes it, and its origin.
    fn include_fields(
        &mut self,
        source: &Source<'_>,
        fields: &mut Fields<'_>,
    ) -> Result<(PathBuf, NameBuf), Complaint> {
        let mut path = Vec::new();
        fields.octets(&mut path)?;
        let path = String::from_utf8(path).map_err(|_| Complaint::new("the path is not UTF-8 text"))?;
        let origin = if fields.has_more() { fields.name()? } else { source.origin };
        fields.end()?;
        if self.limits.include_depth == 0 {
            return Err(Complaint::new("$INCLUDE is not allowed here"));
        }
        if source.chain.len() > self.limits.include_depth {
            let depth = self.limits.include_depth;
            return Err(Complaint::new(format!("files include each other more than {depth} deep")));
        }
        let including = self.files.get(usize::from(source.file)).and_then(|file| file.path.parent());
        let path = including.unwrap_or(Path::new("")).join(path);
        let number = self.file_number(&path);
        if source.chain.contains(&number) {
            return Err(Complaint::new(format!(
                "{} includes itself, here or by way of others",
                path.display()
            )));
        }
        Ok((path, origin))
    }

    fn generate(&mut self, source: &mut Source<'_>, tokens: &[Token]) -> Result<(), Complaint> {
        let origin = source.origin;
        let line = tokens[0].line;
        let entry = tokens.get(2..).unwrap_or_default();
        let mut fields = Fields::new(source.text, &tokens[1..], &origin);
        let range = generate::Range::parse(fields.word()?)?;
        fields.skip();
        self.head(&mut fields)?;
        let data_at = entry.len() - fields.left();
        let template = generate::template(source.text, entry, data_at);
        let mut text = Vec::new();
        let mut tokens = Tokens::default();
        for number in range.numbers() {
            text.clear();
            generate::expand(&template, number, &mut text)?;
            if Lexer::new(line).next_entry(&text, &mut tokens)? {
                let made = self.record(source, &text, &tokens);
                made.map_err(|complaint| complaint.within(format_args!("the record made of {number}")))?;
            }
        }
        Ok(())
    }

    fn record(&mut self, source: &mut Source<'_>, text: &[u8], tokens: &Tokens) -> Result<(), Complaint> {
        let origin = source.origin;
        let line = tokens.list[0].line;
        let mut fields = Fields::new(text, &tokens.list, &origin);
        if !tokens.indented {
            source.owner = Some(fields.name()?);
        }
        let owner = source.owner.ok_or_else(|| {
            Complaint::new(
                "the record has no owner: no record stands before this line that begins with white space",
            )
        })?;
        let head = self.head(&mut fields)?;
        let mut data = std::mem::take(&mut self.data);
        let parsed = rdata::parse(head.rtype, &mut fields, &mut data);
        let added = parsed
            .map_err(|complaint| complaint.within(format_args!("{owner} {}", head.rtype)))
            .and_then(|()| self.add(&owner, &head, &data, Place { file: source.file, line }));
        self.data = data;
        added
    }

    fn add(&mut self, owner: &Name, head: &Head, data: &[u8], place: Place) -> Result<(), Complaint> {
        self.records += 1;
        if self.records > self.limits.records {
            return Err(Complaint::new(format!("more than {} records", self.limits.records)));
        }
        let ttl = self.ttl_of(head, data)?;
        self.last_ttl = Some(ttl);
        let added = self.builder.add_from(place, owner, head.rtype, ttl, data);
        added.map_err(|error| Complaint::new(error.to_string()))
    }

    /// The TTL that is given, else that of `$TTL` (RFC 2308 section 4), else the last one (RFC 1035 section
    /// 5.1); an SOA may also be the first to name one.
    fn ttl_of(&self, head: &Head, data: &[u8]) -> Result<u32, Complaint> {
        let minimum =
            data.last_chunk::<4>().filter(|_| head.rtype == Rtype::SOA).map(|ttl| u32::from_be_bytes(*ttl));
        let ttl = head.ttl.or(self.default_ttl).or(self.last_ttl).or(minimum);
        ttl.ok_or_else(|| Complaint::new("the record has no TTL; put `$TTL 3600` before the first record"))
    }

    /// `[TTL] [class] type` or `[class] [TTL] type`.
    fn head(&self, fields: &mut Fields<'_>) -> Result<Head, Complaint> {
        let (mut ttl, mut class) = (None, None);
        while let Some(token) = fields.peek() {
            let word = fields.raw(token);
            if ttl.is_none() && word.first().is_some_and(u8::is_ascii_digit) {
                ttl = Some(ttl::parse(word).ok_or_else(|| no_ttl(word).at(token.line))?);
            } else if class.is_none() && is_class(word) {
                class = Some(check_class(word).map_err(|complaint| complaint.at(token.line))?);
            } else {
                return Ok(Head { ttl, rtype: fields.rtype()? });
            }
            fields.skip();
        }
        Err(Complaint::new("the record ends before its type"))
    }

    fn blame(&self, source: &Source<'_>, complaint: Complaint) -> FileError {
        self.finding(source.file, complaint.line.unwrap_or(0), complaint.what.into_owned())
    }

    /// The file and line of what the builder refuses or wonders about.
    pub(super) fn locate(&self, error: &ZoneError) -> FileError {
        self.finding(error.place.file, error.place.line, error.to_string())
    }

    pub(super) fn finding(&self, file: u16, line: u32, what: String) -> FileError {
        let path = self.files.get(usize::from(file)).map(|file| file.path.clone()).unwrap_or_default();
        FileError { path, line, what }
    }
}

fn no_ttl(word: &[u8]) -> Complaint {
    let word = String::from_utf8_lossy(word);
    Complaint::new(format!("`{word}` is not a TTL; write seconds or a time such as `1h30m`"))
}

impl Fields<'_> {
    /// Takes a time in seconds or with units.
    pub(super) fn ttl(&mut self) -> Result<u32, Complaint> {
        let token = self.token()?;
        ttl::parse(self.raw(token)).ok_or_else(|| no_ttl(self.raw(token)).at(token.line))
    }

    /// Takes a record type: a mnemonic, or `TYPE` and a number (RFC 3597 section 5).
    pub(super) fn rtype(&mut self) -> Result<Rtype, Complaint> {
        let line = self.line();
        let text = self.text()?;
        let known = match text {
            "A" => Some(Rtype::A),
            "AAAA" => Some(Rtype::AAAA),
            "NS" => Some(Rtype::NS),
            _ if text.eq_ignore_ascii_case("NSAP-PTR") => Some(Rtype::NSAPPTR),
            _ => text.parse().ok(),
        };
        let unknown =
            || format!("`{text}` is no record type known here; write TYPE and its number (RFC 3597)");
        known.ok_or_else(|| Complaint::new(unknown()).at(line))
    }
}

fn is_class(word: &[u8]) -> bool {
    let numbered = word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"CLASS"));
    numbered || [&b"IN"[..], b"CH", b"HS", b"CS"].iter().any(|class| word.eq_ignore_ascii_case(class))
}

fn check_class(word: &[u8]) -> Result<(), Complaint> {
    if word.eq_ignore_ascii_case(b"IN") || word.eq_ignore_ascii_case(b"CLASS1") {
        return Ok(());
    }
    let class = String::from_utf8_lossy(word);
    Err(Complaint::new(format!("class {class} cannot be served; zones of class IN only")))
}
