//! The fields of one entry, read one after the other: numbers, names, strings, and runs of digits.
//!
//! What it is not: a list of types; those are in [`super::rdata`]. The invariant: every complaint carries the
//! line of the token it is about.

use std::str::FromStr;

use super::error::Complaint;
use super::lexer::{Octet, Token, Unescape};
use crate::name::{LABEL_LEN_MAX, NAME_LEN_MAX, Name, NameBuf};

/// A cursor over the tokens of an entry.
pub(super) struct Fields<'t> {
    text: &'t [u8],
    tokens: &'t [Token],
    at: usize,
    origin: &'t Name,
}

impl<'t> Fields<'t> {
    pub(super) fn new(text: &'t [u8], tokens: &'t [Token], origin: &'t Name) -> Self {
        Fields { text, tokens, at: 0, origin }
    }

    /// The next token, if there is one.
    pub(super) fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    /// The token's bytes as they stand in the file.
    pub(super) fn raw(&self, token: Token) -> &'t [u8] {
        &self.text[token.start..token.end]
    }

    pub(super) fn has_more(&self) -> bool {
        self.at < self.tokens.len()
    }

    /// The line of the token at hand, or of the last.
    pub(super) fn line(&self) -> u32 {
        self.peek().or(self.tokens.last().copied()).map_or(0, |token| token.line)
    }

    /// How many tokens are left.
    pub(super) fn left(&self) -> usize {
        self.tokens.len().saturating_sub(self.at)
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// Takes the next token.
    pub(super) fn token(&mut self) -> Result<Token, Complaint> {
        let token = self.peek().ok_or_else(|| Complaint::new(MISSING).at(self.line()))?;
        self.at += 1;
        Ok(token)
    }

    /// Takes the next token's bytes, escapes and all.
    pub(super) fn word(&mut self) -> Result<&'t [u8], Complaint> {
        self.token().map(|token| self.raw(token))
    }

    /// Takes the next token as text without escapes.
    pub(super) fn text(&mut self) -> Result<&'t str, Complaint> {
        let token = self.token()?;
        let text = std::str::from_utf8(self.raw(token)).ok().filter(|text| text.is_ascii());
        text.ok_or_else(|| Complaint::new("only ASCII characters can stand here").at(token.line))
    }

    /// Nothing is left.
    pub(super) fn end(&self) -> Result<(), Complaint> {
        match self.peek() {
            None => Ok(()),
            Some(token) => {
                let extra = String::from_utf8_lossy(self.raw(token));
                Err(Complaint::new(format!(
                    "`{extra}` is more than the record can take; remove it, or put `;` before a comment"
                ))
                .at(token.line))
            }
        }
    }

    /// Takes a value that its type reads from text.
    pub(super) fn parse<T: FromStr>(&mut self, wanted: &str) -> Result<T, Complaint> {
        let line = self.line();
        let text = self.text()?;
        text.parse().map_err(|_| Complaint::new(format!("`{text}` is not {wanted}")).at(line))
    }

    /// Takes an unsigned decimal number.
    pub(super) fn number<T: FromStr>(&mut self, bits: u32) -> Result<T, Complaint> {
        let wanted = || format!("a number from 0 to {}", u64::MAX >> (64 - bits));
        match self.peek() {
            Some(token) if self.raw(token).first() == Some(&b'+') => {
                Err(Complaint::new(format!("`+` begins no number; write {}", wanted())).at(token.line))
            }
            _ => self.parse(&wanted()),
        }
    }

    /// Takes a name; a relative one is completed with the origin.
    pub(super) fn name(&mut self) -> Result<NameBuf, Complaint> {
        let token = self.token()?;
        self.name_of(token).map_err(|complaint| complaint.at(token.line))
    }

    fn name_of(&self, token: Token) -> Result<NameBuf, Complaint> {
        parse_name(self.raw(token), self.origin).map_err(|complaint| {
            complaint.within(format_args!("`{}`", String::from_utf8_lossy(self.raw(token))))
        })
    }

    /// Takes a token and undoes its escapes.
    pub(super) fn octets(&mut self, out: &mut Vec<u8>) -> Result<(), Complaint> {
        let token = self.token()?;
        for octet in Unescape::new(self.raw(token)) {
            out.push(octet.map_err(|complaint| complaint.at(token.line))?.byte);
        }
        Ok(())
    }

    /// Takes a character string: a length and that many bytes (RFC 1035 section 3.3).
    pub(super) fn string(&mut self, out: &mut Vec<u8>) -> Result<(), Complaint> {
        let (line, start) = (self.line(), out.len());
        out.push(0);
        self.octets(out)?;
        let len = u8::try_from(out.len() - start - 1)
            .map_err(|_| Complaint::new("the string is longer than 255 bytes; split it in two").at(line))?;
        out[start] = len;
        Ok(())
    }

    /// Takes all that is left as one run of digits that may be split anywhere: four bits a digit.
    pub(super) fn hex(&mut self, out: &mut Vec<u8>) -> Result<(), Complaint> {
        let line = self.line();
        let mut high = None;
        while self.has_more() {
            for byte in self.word()? {
                let digit =
                    hex_digit(*byte).ok_or_else(|| Complaint::new("not a hexadecimal digit").at(line))?;
                match high.take() {
                    None => high = Some(digit),
                    Some(high) => out.push(high << 4 | digit),
                }
            }
        }
        match high {
            None => Ok(()),
            Some(_) => Err(Complaint::new("an odd number of hexadecimal digits").at(line)),
        }
    }

    /// As [`Fields::hex`], of one token.
    pub(super) fn hex_word(&mut self, out: &mut Vec<u8>) -> Result<(), Complaint> {
        let token = self.token()?;
        Fields::new(self.text, &[token], self.origin).hex(out)
    }

    /// Takes all that is left as base 64 that may be split anywhere (RFC 4648 section 4).
    pub(super) fn base64(&mut self, out: &mut Vec<u8>) -> Result<(), Complaint> {
        let line = self.line();
        let mut decoder = Base64::default();
        while self.has_more() {
            let word = self.word()?;
            word.iter()
                .try_for_each(|byte| decoder.push(*byte, out))
                .map_err(|complaint| complaint.at(line))?;
        }
        decoder.finish().map_err(|complaint| complaint.at(line))
    }

    /// As [`Fields::base64`], of one token.
    pub(super) fn base64_word(&mut self, out: &mut Vec<u8>) -> Result<(), Complaint> {
        let token = self.token()?;
        Fields::new(self.text, &[token], self.origin).base64(out)
    }
}

const MISSING: &str = "the record ends too early; a field is missing";

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// A name as a zone file writes it: `@` is the origin, and what does not end with a dot is below it.
pub(super) fn parse_name(text: &[u8], origin: &Name) -> Result<NameBuf, Complaint> {
    match text {
        b"@" => return Ok(origin.to_owned()),
        b"." => return Ok(NameBuf::new()),
        b"" => return Err(Complaint::new("an empty name; `@` stands for the origin")),
        _ => {}
    }
    let mut name = Labels { wire: [0; NAME_LEN_MAX], len: 1, label_at: 0 };
    for octet in Unescape::new(text) {
        name.push(octet?)?;
    }
    name.finish(origin)
}

/// A name in the making: the label at hand begins at `label_at`, where its length will stand.
struct Labels {
    wire: [u8; NAME_LEN_MAX],
    len: usize,
    label_at: usize,
}

impl Labels {
    fn push(&mut self, octet: Octet) -> Result<(), Complaint> {
        if octet == (Octet { byte: b'.', escaped: false }) {
            self.end_label()?;
            self.label_at = self.len;
        } else if let Some(place) = self.wire.get_mut(self.len) {
            *place = octet.byte;
        }
        self.len += 1;
        Ok(())
    }

    fn end_label(&mut self) -> Result<(), Complaint> {
        let len = self.len - self.label_at - 1;
        if len == 0 {
            return Err(Complaint::new("two dots in a row, or a dot before the first label"));
        }
        if len > LABEL_LEN_MAX {
            return Err(Complaint::new("a label is longer than 63 bytes"));
        }
        *self.wire.get_mut(self.label_at).ok_or_else(too_long)? = len as u8;
        Ok(())
    }

    fn finish(mut self, origin: &Name) -> Result<NameBuf, Complaint> {
        let tail = if self.len == self.label_at + 1 {
            self.len -= 1;
            Name::ROOT
        } else {
            self.end_label()?;
            origin
        };
        let end = self.len + tail.wire_len();
        self.wire.get_mut(self.len..end).ok_or_else(too_long)?.copy_from_slice(tail.as_wire());
        let name = Name::from_wire(&self.wire[..end]).map_err(|error| Complaint::new(error.to_string()))?;
        Ok(name.to_owned())
    }
}

fn too_long() -> Complaint {
    Complaint::new("the name is longer than 255 bytes")
}

/// Base 64 that comes in pieces.
#[derive(Default)]
struct Base64 {
    bits: u32,
    digits: u8,
    padding: u8,
}

impl Base64 {
    fn push(&mut self, byte: u8, out: &mut Vec<u8>) -> Result<(), Complaint> {
        if byte == b'=' {
            self.padding += 1;
            return Ok(());
        }
        let digit = base64_digit(byte).filter(|_| self.padding == 0);
        self.bits = self.bits << 6 | digit.ok_or_else(|| Complaint::new("not a digit of base 64"))?;
        self.digits = (self.digits + 1) % 4;
        if self.digits != 1 {
            let left = 6 - 2 * ((self.digits + 3) % 4);
            out.push((self.bits >> left) as u8);
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Complaint> {
        match (self.digits, self.padding) {
            (0, 0) | (2, 2) | (3, 1) => Ok(()),
            _ => Err(Complaint::new("base 64 that is cut short; its digits come in fours")),
        }
    }
}

/// A whole text of base 64.
pub(super) fn base64_of(text: &[u8], out: &mut Vec<u8>) -> Result<(), Complaint> {
    let mut decoder = Base64::default();
    text.iter().try_for_each(|byte| decoder.push(*byte, out))?;
    decoder.finish()
}

fn base64_digit(byte: u8) -> Option<u32> {
    Some(
        match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        }
        .into(),
    )
}
