//! No way out of a directory.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// `base/root` to serve from and `base/secret` beside it, removed with it.
struct Site(PathBuf);

impl Site {
    fn new() -> Site {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("tidegate-beneath-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let base = std::env::temp_dir().canonicalize().unwrap().join(name);
        fs::create_dir_all(base.join("root/sub")).unwrap();
        fs::write(base.join("secret"), "secret").unwrap();
        fs::write(base.join("root/page"), "page").unwrap();
        Site(base)
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        Directory::new(self.0.join("root"))?.open(path)?.read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn links_that_stay_inside_are_followed() {
    let site = Site::new();
    symlink("../page", site.0.join("root/sub/relative")).unwrap();
    symlink(site.0.join("root/page"), site.0.join("root/sub/absolute")).unwrap();
    for path in ["page", "sub/relative", "sub/absolute", "sub/../page"] {
        assert_eq!(site.read(path).unwrap(), "page", "{path}");
    }
}

#[test]
fn nothing_leads_outside() {
    let site = Site::new();
    symlink("../../secret", site.0.join("root/sub/relative")).unwrap();
    symlink(site.0.join("secret"), site.0.join("root/absolute")).unwrap();
    symlink("..", site.0.join("root/up")).unwrap();
    for path in ["../secret", "sub/relative", "absolute", "up/secret", "/etc/passwd", "sub/../../secret"] {
        assert!(site.read(path).is_err(), "{path}");
    }
}

#[test]
fn a_name_with_a_nul_is_an_error() {
    assert_eq!(Site::new().read("page\0").unwrap_err().kind(), io::ErrorKind::InvalidInput);
}
