//! Clients that people use, on the embedded default, over IPv4 and IPv6.

use crate::scene::{self, lone_machine};
use crate::service::{Service, tempfile};
use crate::site::Site;
use tidegate_sys::netns::Netns;

const URLS: [&str; 2] = ["http://10.77.0.2/", "http://[fd77::2]/"];

fn served(check: impl FnOnce(&Netns, &Site)) {
    let (machine, site) = (lone_machine(), Site::new());
    site.write_noise("noise.bin", 300_000);
    let service = Service::start(&machine, &["--root", site.root()]);
    check(&machine, &site);
    assert!(service.terminate().success());
}

#[test]
fn curl_and_wget_get_the_bytes() {
    served(|machine, site| {
        let got = tempfile("got");
        let out = got.to_str().expect("a path in ASCII");
        let expected = std::fs::read(site.path().join("noise.bin")).expect("just written");
        for url in URLS.map(|url| format!("{url}noise.bin")) {
            scene::run(machine, "curl", &["-gsSf", "--max-time", "10", "-o", out, &url]);
            assert!(std::fs::read(&got).expect("curl wrote it") == expected, "curl {url}");
            scene::run(machine, "wget", &["-q", "--tries=1", "--timeout=10", "-O", out, &url]);
            assert!(std::fs::read(&got).expect("wget wrote it") == expected, "wget {url}");
        }
        let _ = std::fs::remove_file(&got);
    });
}

#[test]
fn python_keeps_a_connection_and_asks_for_ranges() {
    const SCRIPT: &str = r#"
import http.client, sys
for host in ("10.77.0.2", "fd77::2"):
    c = http.client.HTTPConnection(host, 80, timeout=10)
    sock = None
    for i in range(50):
        c.request("GET", "/noise.bin", headers={"Range": f"bytes={i * 1000}-{i * 1000 + 999}"})
        r = c.getresponse()
        assert r.status == 206 and len(r.read()) == 1000, r.status
        assert sock in (None, c.sock), "a new connection"
        sock = c.sock
    c.request("HEAD", "/")
    r = c.getresponse()
    assert r.status == 200 and r.read() == b"", r.status
"#;
    served(|machine, _| drop(scene::run(machine, "python3", &["-c", SCRIPT])));
}

#[test]
fn load_generators_see_no_error() {
    served(|machine, _| {
        for url in URLS {
            let wrk = scene::run(machine, "wrk", &["-t1", "-c32", "-d1s", url]);
            assert!(wrk.contains("requests in") && !wrk.contains("Socket errors"), "{wrk}");
            assert!(!wrk.contains("Non-2xx"), "{wrk}");
            let ab = scene::run(machine, "ab", &["-q", "-k", "-n", "2000", "-c", "16", url]);
            assert!(ab.lines().any(|l| l.starts_with("Failed requests:") && l.ends_with(" 0")), "{ab}");
            let ab = scene::run(machine, "ab", &["-q", "-n", "1000", "-c", "16", url]);
            assert!(ab.lines().any(|l| l.starts_with("Complete requests:") && l.ends_with("1000")), "{ab}");
            // Of an IPv6 URL h2load makes a Host without brackets, which no server may take (RFC 9112
            // section 3.2): so it is told where to connect apart from the name.
            let to = url.trim_start_matches("http://").trim_end_matches('/');
            let to = format!("--connect-to={to}:80");
            let args = ["--h1", "-n", "2000", "-c", "16", &to, "http://tide/"];
            let h2load = scene::run(machine, "h2load", &args);
            assert!(h2load.contains("2000 succeeded, 0 failed"), "{h2load}");
        }
    });
}

#[test]
fn a_browser_opens_the_site() {
    let Some(browser) = browser() else { return };
    served(|machine, site| {
        site.write("app.js", b"document.title += ' table';");
        site.write("page.html", b"<!doctype html><title>Tide</title><script src=/app.js></script>");
        let profile = tempfile("profile");
        let flags =
            ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=5000"];
        for url in URLS.map(|url| format!("{url}page.html")) {
            let data = format!("--user-data-dir={}", profile.display());
            let dom = scene::run(machine, browser, &[&flags[..], &[&data, &url]].concat());
            assert!(dom.contains("<title>Tide table</title>"), "{url}: {dom}");
        }
        let _ = std::fs::remove_dir_all(&profile);
    });
}

/// A browser without a window. Where there is none, that is said; on CI there must be one.
pub(crate) fn browser() -> Option<&'static str> {
    let found = ["chromium-headless-shell", "chromium"].into_iter().find(|name| is_installed(name));
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "no Chromium: make deps installs it");
        eprintln!("not run: no Chromium (make deps installs it)");
    }
    found
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).exists())
}
