//! File name patterns: `*` and `?` within a segment, `**` as a segment for any number of segments.
//!
//! A pattern without a slash is held against the last segment, any other against the whole name.
//! Matching takes time in the product of the lengths, never exponential: a star is retried from one
//! remembered place.

use serde::Deserialize;

/// A pattern.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Glob {
    segments: Vec<Vec<u8>>,
    is_anchored: bool,
}

impl TryFrom<String> for Glob {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let pattern = text.strip_prefix('/').unwrap_or(&text);
        if pattern.is_empty() {
            return Err("a pattern that is empty matches nothing: use \"**\" for every file".to_owned());
        }
        let segments = pattern.split('/').map(|segment| segment.as_bytes().to_vec()).collect();
        Ok(Self { segments, is_anchored: text.contains('/') || text == "**" })
    }
}

impl Glob {
    /// Whether a document's name, segments joined by `/`, fits.
    pub fn is_match(&self, name: &[u8]) -> bool {
        let mut segments: Vec<&[u8]> = name.split(|&b| b == b'/').collect();
        if !self.is_anchored {
            segments.drain(..segments.len() - 1);
        }
        fits(&self.segments, &segments, |p| p == b"**", |p, n| is_segment_match(p, n))
    }
}

fn is_segment_match(pattern: &[u8], segment: &[u8]) -> bool {
    fits(pattern, segment, |&p| p == b'*', |&p, &n| p == b'?' || p == n)
}

/// Whether a pattern of items, of which some are stars, covers all of `name`.
fn fits<P, N>(
    pattern: &[P],
    name: &[N],
    is_star: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &N) -> bool,
) -> bool {
    let (mut p, mut n) = (0, 0);
    // Behind the last star, and how far that star reaches.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p).is_some_and(&is_star) {
            p += 1;
            star = Some((p, n));
        } else if pattern.get(p).is_some_and(|item| is_one(item, &name[n])) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((after, reach)) = &mut star {
            *reach += 1;
            (p, n) = (*after, *reach);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn patterns() {
        let cases = [
            ("*.css", "a.css", true),
            ("*.css", "x/y/a.css", true),
            ("*.css", "a.css.map", false),
            ("/*.css", "a.css", true),
            ("/*.css", "x/a.css", false),
            ("x/*.css", "x/a.css", true),
            ("x/*.css", "x/y/a.css", false),
            ("x/**", "x/y/a.css", true),
            ("x/**", "y/a.css", false),
            ("x/**/a.css", "x/a.css", true),
            ("x/**/a.css", "x/y/z/a.css", true),
            ("x/**/a.css", "x/ya.css", false),
            ("**", "anything/at.all", true),
            ("**/b/*.js", "a/b/b/c.js", true),
            ("a?c", "abc", true),
            ("x/a?c", "x/a/c", false),
            ("*a*b*c", "xaxbxc", true),
            ("*a*b*c", "xaxbx", false),
            ("a", "a", true),
            ("a", "ab", false),
        ];
        for (pattern, name, want) in cases {
            let glob = Glob::try_from(pattern.to_owned()).unwrap();
            assert_eq!(glob.is_match(name.as_bytes()), want, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_do_not_explode() {
        let glob = Glob::try_from("*a".repeat(30) + "b").unwrap();
        assert!(!glob.is_match(&[b'a'; 3000]));
    }
}
