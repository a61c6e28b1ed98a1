//! Mistakes: one line that names what is wrong and what to type, and exit status 2.

use crate::scene::{lone_machine, output};
use crate::service::{TIDEGATE, tempfile};
use crate::site::Site;

fn complaint(args: &[&str]) -> String {
    let output = output(&lone_machine(), TIDEGATE, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{args:?}: {said}");
    assert!(said.starts_with("tidegate: "), "{args:?}: {said}");
    said
}

#[test]
fn flags() {
    let site = Site::new();
    let root = site.root();
    for (args, named) in [
        (&["web"][..], "root"),
        (&["web", "--root", "/absent"], "/absent"),
        (&["web", "--root", root, "--dev", "absent0", "--listen", "10.0.0.1:80"], "there are lo"),
        (&["web", "--root", root, "--listen", "192.0.2.1:80"], "add --dev"),
        (&["web", "--root", root, "--name", "eth7"], "tidegate0"),
        (&["web", "--root", root, "--impair", "los=1%"], "loss=1%"),
        (&["web", "--root", root, "--user", "no-such-user"], "no-such-user"),
        (&["web", "--root", root, "--zero-copy", "on"], "--zero-copy auto"),
        (&["web", "--rot", root], "--root"),
        (&["serve"], "--config"),
        (&["dns"], "name a zone file"),
        (&["dns", "--zone", "/absent.zone"], "/absent.zone"),
        (&["dns", "--zone", "a..b=/etc/passwd"], "no domain name"),
        (&["dns", "--zone", "example.org=/etc/passwd"], "/etc/passwd:1: "),
        (&["dns", "--zone", "/etc/passwd"], "which zone it is"),
        (&["dns", "--zone", "=x"], "NAME=FILE"),
        (&["dns", "--zoen", "x"], "--zone"),
        (&["dns", "--zone", "/etc/passwd", "--keys", "wires"], "decompressed"),
        (&["dns", "reload", "a..b"], "no domain name"),
        (&[], "type one of"),
        (&["stats", "--pid", "1"], "process 1"),
        (&["detach", "absent0"], "there are lo"),
    ] {
        let said = complaint(args);
        assert!(said.contains(named), "{args:?}: {said}");
    }
}

#[test]
fn configuration_files() {
    let file = tempfile("toml");
    let path = file.to_str().expect("a path in ASCII");
    for (text, named) in [
        ("[web]\nrot = \"x\"", "rot"),
        ("[web]\nroot = 7", ":2:8:"),
        ("[web]\nroot = \"/absent\"", "/absent"),
        ("[dns]\nzones = 1", "did you mean `zone`?"),
        ("[[dns.zone]]\nfile = \"/absent.zone\"", "/absent.zone"),
        ("[[dns.zone]]\nfile = \"/etc/passwd\"\nname = \"a\"", "/etc/passwd:1: "),
        ("batch = 32", "add [web] or [dns]"),
    ] {
        std::fs::write(&file, text).expect("written");
        for args in [&["check", path][..], &["serve", "--config", path]] {
            let said = complaint(args);
            assert!(said.contains(named), "{args:?}: {said}");
        }
    }
    std::fs::write(&file, "[web]\nroot = \"/usr\"\n").expect("written");
    let right = output(&lone_machine(), TIDEGATE, &["check", path]);
    assert!(right.status.success());
    let _ = std::fs::remove_file(&file);
    assert!(complaint(&["check", path]).contains(path));
}

#[test]
fn help_and_version_are_no_mistakes() {
    for (args, named) in [
        (&["--help"][..], "Examples:"),
        (&["web", "--help"], "--listen"),
        (&["dns", "--help"], "dig @10.77.0.2"),
        (&["dns", "reload", "--help"], "[ZONE]"),
        (&["serve", "--help"], "--config"),
        (&["--version"], "tidegate "),
        (&["version"], "tidegate "),
    ] {
        let output = output(&lone_machine(), TIDEGATE, args);
        assert!(output.status.success(), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(named), "{args:?}");
    }
}
