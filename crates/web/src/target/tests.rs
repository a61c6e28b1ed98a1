//! Paths and the names they come to, against a model on `std::path`.

use super::*;
use proptest::prelude::*;
use std::path::{Component, Path, PathBuf};

fn name(path: &str) -> Result<(String, bool), u16> {
    DocumentName::parse(path.as_bytes())
        .map(|n| (String::from_utf8_lossy(&n.bytes).into_owned(), n.is_directory))
        .map_err(Status::code)
}

#[test]
fn paths() {
    let cases = [
        ("/", Ok(("", true))),
        ("//", Ok(("", true))),
        ("/a", Ok(("a", false))),
        ("/a/", Ok(("a", true))),
        ("/a//b", Ok(("a/b", false))),
        ("//a", Ok(("a", false))),
        ("/a/./b", Ok(("a/b", false))),
        ("/a/../b", Ok(("b", false))),
        ("/a/..", Ok(("", true))),
        ("/a/.", Ok(("a", true))),
        ("/..", Ok(("", true))),
        ("/../../etc/passwd", Ok(("etc/passwd", false))),
        ("/%2e%2e/etc", Ok(("etc", false))),
        ("/a/%2E%2e/b", Ok(("b", false))),
        ("/.%2e/b", Ok(("b", false))),
        ("/%252e%252e/b", Ok(("%2e%2e/b", false))),
        ("/...", Ok(("...", false))),
        ("/a%20b", Ok(("a b", false))),
        ("/%41", Ok(("A", false))),
        ("/a\\..\\b", Ok(("a\\..\\b", false))),
        ("/a%5c..%5cb", Ok(("a\\..\\b", false))),
        ("/a%2fb", Err(404)),
        ("/..%2f..%2fetc", Err(404)),
        ("/a%00b", Err(400)),
        ("/a%", Err(400)),
        ("/a%4", Err(400)),
        ("/a%zz", Err(400)),
        ("/a%+1", Err(400)),
        ("/a%0d%0ab", Ok(("a\r\nb", false))),
    ];
    for (path, want) in cases {
        assert_eq!(name(path), want.map(|(n, d)| (n.to_owned(), d)), "{path:?}");
    }
}

#[test]
fn a_name_need_not_be_text() {
    let parsed = DocumentName::parse(b"/%ff%fe").unwrap();
    assert_eq!(*parsed.bytes, [0xff, 0xfe]);
}

#[test]
fn plain_names_are_borrowed() {
    for path in ["/", "/a/b.html", "/a/b/"] {
        assert!(matches!(DocumentName::parse(path.as_bytes()).unwrap().bytes, Cow::Borrowed(_)), "{path}");
    }
}

#[test]
fn hidden_names() {
    let hidden = |path: &str| DocumentName::parse(path.as_bytes()).unwrap().is_hidden();
    assert!(hidden("/.git/config"));
    assert!(hidden("/a/.htaccess"));
    assert!(hidden("/a/%2ehtaccess"));
    assert!(!hidden("/.well-known/acme"));
    assert!(!hidden("/a.b/c."));
    assert!(!hidden("/"));
}

#[test]
fn locations_name_this_host_and_end_no_line() {
    let of = |path: &str| {
        let name = DocumentName::parse(path.as_bytes()).unwrap();
        String::from_utf8(directory_location(&name.bytes, b"")).unwrap()
    };
    assert_eq!(of("//evil.example/a"), "/evil.example/a/");
    assert_eq!(of("/a%0d%0aSet-Cookie:x"), "/a%0D%0ASet-Cookie:x/");
    assert_eq!(of("/a%20\"b%ff"), "/a%20%22b%FF/");
    assert_eq!(of("/\\evil.example"), "/%5Cevil.example/");
}

/// The same path by `std::path`, clamped at the root.
fn model(decoded: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let mut at = PathBuf::new();
    for component in Path::new(std::ffi::OsStr::from_bytes(decoded)).components() {
        match component {
            Component::Normal(segment) => at.push(segment),
            Component::ParentDir => drop(at.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    at
}

fn encoded(bytes: &[u8], every: usize) -> Vec<u8> {
    let mut path = vec![b'/'];
    for (at, &b) in bytes.iter().enumerate() {
        if b == b'%' || (b != b'/' && at % every == 0) {
            path.extend(format!("%{b:02x}").bytes());
        } else {
            path.push(b);
        }
    }
    path
}

proptest! {
    #[test]
    fn agrees_with_the_file_system(
        bytes in prop::collection::vec(prop::sample::select(b"./.%a\\\xff b".to_vec()), 0..24),
        every in 1_usize..6,
    ) {
        use std::os::unix::ffi::OsStrExt;
        let path = encoded(&bytes, every);
        let name = DocumentName::parse(&path).unwrap();
        let want = model(&bytes);
        prop_assert_eq!(&*name.bytes, want.as_os_str().as_bytes());
    }

    #[test]
    fn never_leaves_the_root(path in prop::collection::vec(any::<u8>(), 0..60)) {
        let path = [b"/".as_slice(), &path].concat();
        let Ok(name) = DocumentName::parse(&path) else { return Ok(()) };
        prop_assert!(!name.bytes.starts_with(b"/") && !name.bytes.ends_with(b"/"));
        if !name.bytes.is_empty() {
            for segment in name.bytes.split(|&b| b == b'/') {
                prop_assert!(!matches!(segment, b"" | b"." | b".."));
                prop_assert!(!segment.contains(&0) || path.contains(&0));
            }
        }
    }

    #[test]
    fn a_location_leads_back_to_the_name(path in prop::collection::vec(1_u8.., 0..30)) {
        let path = [b"/".as_slice(), &path].concat();
        let Ok(name) = DocumentName::parse(&path) else { return Ok(()) };
        let location = directory_location(&name.bytes, b"");
        if !name.bytes.is_empty() {
            let again = DocumentName::parse(&location).unwrap();
            prop_assert_eq!(again.bytes, name.bytes);
        }
    }
}
