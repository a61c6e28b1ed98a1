//! Numbers, texts and bytes: what they say, and how they are written.

use crate::tree::Content;
use std::fmt::Write;

/// Words that mean something where a name could stand.
const RESERVED: [&str; 4] = ["include", "worker", "true", "false"];

/// What a number is that is written so: `64`, `0x1f`, `1_000`, `10M`, `0.5`, `1e9`.
pub(crate) fn number(text: &str) -> Result<Content, String> {
    let digits = text.replace('_', "");
    let (sign, magnitude) = digits.strip_prefix('-').map_or((1, digits.as_str()), |rest| (-1, rest));
    let wrong = || format!("`{text}` is no number");
    if let Some(hex) = magnitude.strip_prefix("0x") {
        let number = u64::from_str_radix(hex, 16).map_err(|_| wrong())?;
        return Ok(Content::Integer(sign * i128::from(number)));
    }
    let (plain, factor) = match magnitude.chars().last() {
        Some('k') => (&magnitude[..magnitude.len() - 1], 1_000),
        Some('M') => (&magnitude[..magnitude.len() - 1], 1_000_000),
        Some('G') => (&magnitude[..magnitude.len() - 1], 1_000_000_000),
        _ => (magnitude, 1),
    };
    if plain.bytes().all(|digit| digit.is_ascii_digit()) {
        let number: i128 = plain.parse().map_err(|_| wrong())?;
        return number.checked_mul(sign * factor).map(Content::Integer).ok_or_else(wrong);
    }
    let number: f64 = plain.parse().map_err(|_| wrong())?;
    let number = number * (sign * factor) as f64;
    // 1.5M is an integer all the same.
    let whole = factor > 1 && number.fract() == 0.0 && number.abs() < (1_u64 << 53) as f64;
    Ok(if whole { Content::Integer(number as i128) } else { Content::Real(number) })
}

/// The text that `quoted`, quotes included, stands for.
pub(crate) fn unquote(quoted: &str) -> Result<String, String> {
    let mut chars = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('0') => text.push('\0'),
            Some(c @ ('"' | '\\')) => text.push(c),
            Some('u') => text.push(code_point(&mut chars)?),
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(format!(
                    "`\\{other}` means nothing: write one of \\n \\t \\r \\0 \\\" \\\\ \\u{{41}}"
                ));
            }
        }
    }
    Ok(text)
}

fn code_point(chars: &mut std::str::Chars<'_>) -> Result<char, String> {
    let wrong = || "a character by its number is written \\u{41}".to_owned();
    if chars.next() != Some('{') {
        return Err(wrong());
    }
    let digits: String = chars.by_ref().take_while(|c| *c != '}').collect();
    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).ok_or_else(wrong)
}

/// The bytes that `x"00 1f"` stands for.
pub(crate) fn bytes(literal: &str) -> Result<Vec<u8>, String> {
    let inner = literal.get(2..literal.len().saturating_sub(1)).unwrap_or_default();
    let digits: Vec<char> = inner.chars().filter(|c| !c.is_whitespace()).collect();
    let wrong = || "bytes are written as pairs of hexadecimal digits: x\"00 1f\"".to_owned();
    if !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let pair = |pair: &[char]| Some((pair[0].to_digit(16)? << 4 | pair[1].to_digit(16)?) as u8);
    digits.chunks_exact(2).map(pair).collect::<Option<Vec<u8>>>().ok_or_else(wrong)
}

/// Whether `text` can be written as a word.
pub(crate) fn is_word(text: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.split('-').all(part)
        && !RESERVED.contains(&text)
}

/// A name or a text as it is written: as a word where that will do.
pub fn quote(text: &str) -> String {
    if is_word(text) { text.to_owned() } else { quote_always(text) }
}

/// `value` as it was typed where it can be read so, else in quotes.
pub(crate) fn guess(value: &str) -> String {
    let is_written = value.starts_with(['"', '[', '{']) || value.starts_with("x\"");
    let is_plain = is_word(value) || matches!(value, "true" | "false") || number(value).is_ok();
    if is_written || is_plain { value.to_owned() } else { quote_always(value) }
}

fn quote_always(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '\0' => quoted.push_str("\\0"),
            // Writing to a String cannot fail.
            c if c.is_control() => write!(quoted, "\\u{{{:x}}}", u32::from(c)).unwrap_or_default(),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Bytes as they are written.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("x\"");
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap_or_default());
    text.push('"');
    text
}
