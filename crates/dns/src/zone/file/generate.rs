//! `$GENERATE START-STOP[/STEP] OWNER [TTL] [CLASS] TYPE DATA`: one record a number, as BIND has it.
//!
//! `$` stands for the number, `${OFFSET,WIDTH,BASE}` for the number plus an offset, padded with zeros and
//! written in a base (d, o, x, X, or n and N: hexadecimal digits backwards with dots between); `$$` is a
//! dollar sign, and so is `\$`.

use super::error::Complaint;
use super::lexer::Token;

/// The numbers to go through, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    start: u32,
    stop: u32,
    step: u32,
}

impl Range {
    pub(super) fn parse(text: &[u8]) -> Result<Self, Complaint> {
        let wrong = || {
            let text = String::from_utf8_lossy(text);
            Complaint::new(format!("`{text}` is not a range; write START-STOP or START-STOP/STEP"))
        };
        let text = std::str::from_utf8(text).map_err(|_| wrong())?;
        let (ends, step) = text.split_once('/').unwrap_or((text, "1"));
        let (start, stop) = ends.split_once('-').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number <= i32::MAX as u32);
        let range = (number(start), number(stop), number(step));
        match range {
            (Some(start), Some(stop), Some(step)) if start <= stop && step > 0 => {
                Ok(Range { start, stop, step })
            }
            _ => Err(wrong()),
        }
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = u32> {
        (self.start..=self.stop).step_by(self.step as usize)
    }
}

/// The text that each number makes an entry of: the tokens behind the range as they stood. Data that is one
/// token in quotes is the text between them.
pub(super) fn template(text: &[u8], tokens: &[Token], data_at: usize) -> Vec<u8> {
    let mut template = Vec::new();
    let bare = tokens.len() == data_at + 1;
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && !token.glued {
            template.push(b' ');
        }
        let raw = &text[token.start..token.end];
        match token.quoted {
            true if bare && at == data_at => unquote(raw, &mut template),
            true => template.extend([b"\"", raw, b"\""].concat()),
            false => template.extend(raw),
        }
    }
    template
}

fn unquote(raw: &[u8], out: &mut Vec<u8>) {
    for byte in raw {
        if *byte == b'"' && out.last() == Some(&b'\\') {
            out.pop();
        }
        out.push(*byte);
    }
}

/// Writes `template` with the number put in.
pub(super) fn expand(template: &[u8], number: u32, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let mut rest = template;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, behind.first()) {
            (b'\\', Some(escaped)) => {
                out.extend([b'\\', *escaped]);
                rest = &behind[1..];
            }
            (b'$', Some(b'$')) => {
                out.extend(b"\\$");
                rest = &behind[1..];
            }
            (b'$', Some(b'{')) => rest = modified(&behind[1..], number, out)?,
            (b'$', _) => out.extend(number.to_string().bytes()),
            (byte, _) => out.push(*byte),
        }
    }
    Ok(())
}

/// Writes the number as the modifier up to `}` wants it; what is behind the modifier.
fn modified<'t>(text: &'t [u8], number: u32, out: &mut Vec<u8>) -> Result<&'t [u8], Complaint> {
    let wrong = || {
        Complaint::new("`${` wants OFFSET[,WIDTH[,BASE]] and `}` behind it; the base is d, o, x, X, n or N")
    };
    let end = text.iter().position(|byte| *byte == b'}').ok_or_else(wrong)?;
    let modifier = std::str::from_utf8(&text[..end]).map_err(|_| wrong())?;
    let mut parts = modifier.split(',');
    let offset: i32 = parts.next().and_then(|offset| offset.parse().ok()).ok_or_else(wrong)?;
    let width: usize = parts.next().map_or(Ok(0), str::parse).map_err(|_| wrong())?;
    let base = parts.next().unwrap_or("d");
    if parts.next().is_some() || width > WIDTH_MAX {
        return Err(wrong());
    }
    let value = i64::from(number) + i64::from(offset);
    let written = match base {
        "d" => format!("{value:0width$}"),
        "o" => format!("{:0width$o}", value as u32),
        "x" => format!("{:0width$x}", value as u32),
        "X" => format!("{:0width$X}", value as u32),
        "n" => nibbles(&format!("{:x}", value as u32), width),
        "N" => nibbles(&format!("{:X}", value as u32), width),
        _ => return Err(wrong()),
    };
    out.extend(written.bytes());
    Ok(&text[end + 1..])
}

/// More digits than a name has room for.
const WIDTH_MAX: usize = 255;

/// Digits backwards with a dot between two; the width counts dots too.
fn nibbles(digits: &str, width: usize) -> String {
    let mut written = String::new();
    for digit in digits.chars().rev() {
        if !written.is_empty() {
            written.push('.');
        }
        written.push(digit);
    }
    while written.len() < width {
        written.push(if written.len() % 2 == 1 { '.' } else { '0' });
    }
    written
}
