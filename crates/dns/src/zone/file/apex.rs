//! Which zone a file is of, where nobody says: the owner of the SOA record that it begins with.
//!
//! A name is believed only if the file gives it in full. What is relative to nothing could be any zone.

use std::path::Path;

use super::error::{Complaint, FileError};
use super::fields::parse_name;
use super::lexer::{Lexer, Token, Tokens};
use crate::name::{Name, NameBuf};

/// The name of the zone in the file at `path`.
pub fn apex(path: &Path) -> Result<NameBuf, FileError> {
    let error = |line, what| FileError { path: path.to_owned(), line, what };
    let text = std::fs::read(path).map_err(|e| error(0, format!("cannot be read: {e}")))?;
    find(&text).map_err(|complaint| error(complaint.line.unwrap_or(0), complaint.what.into_owned()))
}

fn find(text: &[u8]) -> Result<NameBuf, Complaint> {
    let (mut lexer, mut tokens, mut origin) = (Lexer::new(1), Tokens::default(), None);
    while lexer.next_entry(text, &mut tokens)? {
        let words: Vec<&[u8]> = tokens.list.iter().map(|token| word(text, *token)).collect();
        let line = tokens.list[0].line;
        match *words {
            [directive, name, ..] if directive.eq_ignore_ascii_case(b"$ORIGIN") => {
                origin = Some(in_full(name, origin.as_deref()).map_err(|complaint| complaint.at(line))?);
            }
            [directive, ..] if directive.eq_ignore_ascii_case(b"$TTL") => {}
            [owner, ref rest @ ..]
                if !tokens.indented && rest.iter().any(|w| w.eq_ignore_ascii_case(b"SOA")) =>
            {
                return in_full(owner, origin.as_deref()).map_err(|complaint| complaint.at(line));
            }
            _ => return Err(unnamed().at(line)),
        }
    }
    Err(unnamed())
}

fn word(text: &[u8], token: Token) -> &[u8] {
    &text[token.start..token.end]
}

fn in_full(name: &[u8], origin: Option<&Name>) -> Result<NameBuf, Complaint> {
    let is_absolute = name.ends_with(b".") && !name.ends_with(b"\\.");
    match origin {
        None if !is_absolute => Err(unnamed()),
        origin => parse_name(name, origin.unwrap_or(Name::ROOT)),
    }
}

fn unnamed() -> Complaint {
    Complaint::new(
        "the file does not say which zone it is; name the zone, or begin the file with $ORIGIN, the zone's name \
         and a dot, and then its SOA",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<String, String> {
        find(text.as_bytes()).map(|name| name.to_string()).map_err(|complaint| complaint.what.into_owned())
    }

    #[test]
    fn the_owner_of_the_first_soa_is_the_zone() {
        let soa = "SOA ns1 root 1 2 3 4 5";
        for text in [
            format!("example.org. 3600 IN {soa}\n"),
            format!("; a zone\n$ORIGIN example.org.\n$TTL 1h\n@ IN {soa}\n"),
            format!("$ORIGIN org.\n$ORIGIN example\n@ {soa}"),
            format!("$ORIGIN org.\nexample ( IN\n {soa} )\n"),
        ] {
            assert_eq!(
                found(&text).as_deref().map(|name| name.trim_end_matches('.')),
                Ok("example.org"),
                "{text}"
            );
        }
        assert_eq!(found(&format!(". {soa}")).as_deref(), Ok("."));
    }

    #[test]
    fn a_name_that_is_not_in_full_is_not_guessed() {
        for text in
            ["@ SOA a b 1 2 3 4 5", "example SOA a b 1 2 3 4 5", "$ORIGIN example\n", "a. A 192.0.2.1", ""]
        {
            assert!(found(text).is_err_and(|what| what.contains("which zone")), "{text}");
        }
    }
}
