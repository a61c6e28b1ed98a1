//! A zone file's bytes cut into entries, and entries into tokens (RFC 1035 section 5.1).
//!
//! An entry is what a line feed outside parentheses ends. A token keeps its escapes: only who knows whether it
//! is a name, a string or a number can undo them. Comments and parentheses are gone.

use super::error::Complaint;

/// A piece of an entry, as offsets into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) line: u32,
    /// It stood in quotes, which are not part of it.
    pub(super) quoted: bool,
    /// Nothing stands between it and the token before, as in `key="value"`.
    pub(super) glued: bool,
}

/// Reads entries one after the other.
pub(super) struct Lexer {
    at: usize,
    line: u32,
}

/// One entry's tokens.
#[derive(Default)]
pub(super) struct Tokens {
    pub(super) list: Vec<Token>,
    /// The entry begins with white space: its owner is the one before.
    pub(super) indented: bool,
}

impl Lexer {
    /// At the start of a text whose first line has this number.
    pub(super) fn new(first_line: u32) -> Self {
        Lexer { at: 0, line: first_line }
    }

    /// Reads the next entry that is not empty into `tokens`; false at the end of the text.
    pub(super) fn next_entry(&mut self, text: &[u8], tokens: &mut Tokens) -> Result<bool, Complaint> {
        while self.at < text.len() {
            tokens.list.clear();
            tokens.indented = matches!(text[self.at], b' ' | b'\t');
            self.entry(text, tokens)?;
            if !tokens.list.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn entry(&mut self, text: &[u8], tokens: &mut Tokens) -> Result<(), Complaint> {
        let mut open_line = None;
        let mut token_end = usize::MAX;
        while let Some(&byte) = text.get(self.at) {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.line += 1;
                    if open_line.is_none() {
                        return Ok(());
                    }
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b';' => self.skip_comment(text),
                b'(' if open_line.is_some() => {
                    return Err(self.complain("`(` inside `(`; close the first one before"));
                }
                b'(' => {
                    open_line = Some(self.line);
                    self.at += 1;
                }
                b')' if open_line.is_none() => return Err(self.complain("`)` without `(` before it")),
                b')' => {
                    open_line = None;
                    self.at += 1;
                }
                _ => {
                    let glued = self.at == token_end;
                    let token = self.token(text, glued)?;
                    token_end = self.at;
                    tokens.list.push(token);
                }
            }
        }
        match open_line {
            Some(line) => Err(Complaint::new("`(` that is not closed before the end of the file").at(line)),
            None => Ok(()),
        }
    }

    fn skip_comment(&mut self, text: &[u8]) {
        let rest = &text[self.at..];
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    fn token(&mut self, text: &[u8], glued: bool) -> Result<Token, Complaint> {
        if text[self.at] == b'"' {
            return self.quoted(text, glued);
        }
        let start = self.at;
        while let Some(&byte) = text.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'(' | b')' | b'"' => break,
                b'\\' => self.escape(text)?,
                _ => self.at += 1,
            }
        }
        Ok(Token { start, end: self.at, line: self.line, quoted: false, glued })
    }

    fn quoted(&mut self, text: &[u8], glued: bool) -> Result<Token, Complaint> {
        self.at += 1;
        let start = self.at;
        while let Some(&byte) = text.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(Token { start, end: self.at - 1, line: self.line, quoted: true, glued });
                }
                b'\n' => break,
                b'\\' => self.escape(text)?,
                _ => self.at += 1,
            }
        }
        Err(self.complain("`\"` that is not closed on its line"))
    }

    /// Steps over `\` and the byte behind it; the digits of `\DDD` need no care here.
    fn escape(&mut self, text: &[u8]) -> Result<(), Complaint> {
        match text.get(self.at + 1) {
            None | Some(b'\n') => Err(self.complain("`\\` with nothing behind it on its line")),
            Some(_) => {
                self.at += 2;
                Ok(())
            }
        }
    }

    fn complain(&self, what: &'static str) -> Complaint {
        Complaint::new(what).at(self.line)
    }
}

/// The bytes that a token's text stands for, escapes undone (RFC 1035 section 5.1).
pub(super) struct Unescape<'t> {
    text: &'t [u8],
}

/// A byte of a token, and whether it was escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Octet {
    pub(super) byte: u8,
    pub(super) escaped: bool,
}

impl<'t> Unescape<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Unescape { text }
    }

    fn escape(&mut self) -> Result<Octet, Complaint> {
        let byte = match self.text {
            digits if digits.first().is_some_and(u8::is_ascii_digit) => {
                let (digits, rest) = digits.split_first_chunk::<3>().ok_or_else(bad_escape)?;
                self.text = rest;
                decimal(digits).ok_or_else(bad_escape)?
            }
            [byte, rest @ ..] => {
                self.text = rest;
                *byte
            }
            [] => return Err(bad_escape()),
        };
        Ok(Octet { byte, escaped: true })
    }
}

impl Iterator for Unescape<'_> {
    type Item = Result<Octet, Complaint>;

    fn next(&mut self) -> Option<Self::Item> {
        let (byte, rest) = self.text.split_first()?;
        self.text = rest;
        match byte {
            b'\\' => Some(self.escape()),
            byte => Some(Ok(Octet { byte: *byte, escaped: false })),
        }
    }
}

fn decimal(digits: &[u8; 3]) -> Option<u8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u16::from(byte - b'0'));
    u8::try_from(digit(digits[0])? * 100 + digit(digits[1])? * 10 + digit(digits[2])?).ok()
}

fn bad_escape() -> Complaint {
    Complaint::new("`\\` wants one character or three digits up to 255 behind it")
}
