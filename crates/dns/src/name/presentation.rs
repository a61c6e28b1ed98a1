//! Names as text (RFC 1035 section 5.1): `a\.b.example.`, always absolute.
//!
//! Not the zone file's relative names: where `@` and an origin mean something, the file's reader completes
//! them before it comes here.

use core::fmt::{self, Write as _};
use core::str::FromStr;

use super::buf::Assembly;
use super::{LABEL_LEN_MAX, Name, NameBuf, NameError};

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_char('.');
        }
        for label in self.labels() {
            label.iter().try_for_each(|&octet| write_octet(octet, f))?;
            f.write_char('.')?;
        }
        Ok(())
    }
}

fn write_octet(octet: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match octet {
        b'.' | b'\\' | b'"' | b'(' | b')' | b';' | b'@' | b'$' => write!(f, "\\{}", char::from(octet)),
        b'!'..=b'~' => f.write_char(char::from(octet)),
        _ => write!(f, "\\{octet:03}"),
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Text with or without the last dot; `.` is the root.
impl FromStr for NameBuf {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let mut name = Assembly::new();
        let mut rest = if text == "." { &[] } else { text.as_bytes() };
        if text.is_empty() {
            return Err(NameError::EmptyLabel);
        }
        while !rest.is_empty() {
            rest = push_label(rest, &mut name)?;
        }
        name.finish_with(Name::ROOT)
    }
}

/// Moves the label before the next dot from `text` to `name`, and gives what is behind the dot.
fn push_label<'a>(mut text: &'a [u8], name: &mut Assembly) -> Result<&'a [u8], NameError> {
    let mut label = [0; 1 + LABEL_LEN_MAX];
    let mut len = 0;
    loop {
        let octet = match text {
            [] | [b'.', ..] => break,
            [b'\\', escape @ ..] => unescape(escape, &mut text)?,
            [octet, rest @ ..] => {
                text = rest;
                *octet
            }
        };
        len += 1;
        *label.get_mut(len).ok_or(NameError::LabelTooLong)? = octet;
    }
    if len == 0 {
        return Err(NameError::EmptyLabel);
    }
    label[0] = len as u8;
    name.push(&label[..=len])?;
    Ok(text.get(1..).unwrap_or_default())
}

/// `\DDD` is the octet of that decimal number, `\X` is X (RFC 1035 section 5.1).
fn unescape<'a>(escape: &'a [u8], rest: &mut &'a [u8]) -> Result<u8, NameError> {
    let digit = |d: u8| u16::from(d - b'0');
    match escape {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', behind @ ..] => {
            *rest = behind;
            u8::try_from(digit(*a) * 100 + digit(*b) * 10 + digit(*c)).map_err(|_| NameError::BadEscape)
        }
        [b'0'..=b'9', ..] | [] => Err(NameError::BadEscape),
        [octet, behind @ ..] => {
            *rest = behind;
            Ok(*octet)
        }
    }
}
