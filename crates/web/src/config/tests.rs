//! What a file may say, and the line a user sees when it says something else.

use super::*;

fn parse(text: &str) -> Result<Config, ConfigFault> {
    tidegate_config::parse(text)
}

fn fault(text: &str) -> String {
    parse(text).map_err(|f| f.in_file(Path::new("site.toml"))).unwrap_err().to_string()
}

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(parse("").unwrap(), Config::default());
}

#[test]
fn a_file_that_says_everything() {
    let config = parse(
        r#"
        root = "/srv/www"
        mode = "memcopy"
        memory = "2GiB"
        [[listen]]
        dev = "eth0"
        address = "192.0.2.1:80"
        [[listen]]
        address = "[fd77::2]:8080"
        [content]
        index = "default.htm"
        dotfiles = true
        precompressed = false
        stream_from = "1GiB"
        [limits]
        request_line = 4096
        request_head = "16KiB"
        fields = 64
        request_body = "1k"
        pipelined = 8
        requests_per_connection = 1000
        connections = 5000
        connections_per_address = 50
        [timeouts]
        header = "500ms"
        idle = "5min"
        linger = "1s"
        load = "1h"
        [error_pages]
        404 = "missing.html"
        [[headers]]
        files = "*.css"
        set = { Cache-Control = "max-age=60" }
        [access_log]
        path = "/var/log/tidegate.log"
        "#,
    )
    .unwrap();
    assert_eq!(config.listen[0].dev.as_deref(), Some("eth0"));
    assert_eq!(config.memory, ByteSize(2 << 30));
    assert_eq!(config.timeouts.idle, Span(Duration::from_secs(300)));
    assert_eq!(config.error_pages[&StatusKey(Status::NotFound)], Path::new("missing.html"));
    assert_eq!(config.limits.head().line_len_max, 4096);
    assert!(config.headers[0].files.is_match(b"a/b.css"));
    assert_eq!(config.faults(), []);
}

#[test]
fn faults_say_where_what_and_what_to_do() {
    let cases = [
        ("rot = \"x\"", "site.toml:1:1: unknown field `rot`", "did you mean `root`?"),
        (
            "\n[limits]\nconections = 1",
            "site.toml:3:1: unknown field `conections`",
            "did you mean `connections`?",
        ),
        ("mode = \"precopy\"", "site.toml:1:8: unknown variant `precopy`", "did you mean `pre-copy`?"),
        ("memory = -1", "site.toml:1:10:", "not negative"),
        ("[timeouts]\nidle = \"5\"", "site.toml:2:8: \"5\" is no span of time", "30s"),
        ("[error_pages]\n200 = \"a\"", "site.toml:2:1: 200 is no status", "404"),
        ("[[headers]]\nfiles=\"*\"\nset={ Date=\"x\" }", "site.toml:3:7: date is written", "leave it out"),
        ("[[headers]]\nfiles=\"\"\nset={}", "site.toml:2:7: a pattern that is empty", "**"),
        ("root = ", "site.toml:1:", ""),
    ];
    for (text, start, part) in cases {
        let line = fault(text);
        assert!(line.starts_with(start) && line.contains(part) && !line.contains('\n'), "{text:?}: {line}");
    }
}

#[test]
fn values_must_make_sense_together() {
    let config = parse("[limits]\nrequest_head = 100\n[[listen]]\naddress=\"1.2.3.4:0\"").unwrap();
    let text = config.faults().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in ["web.root: name", "web.limits.request_head", "choose a port"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn files_that_are_not_there() {
    let missing = Config { root: "/nonexistent/root".into(), ..Config::default() };
    let faults = check(&missing);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().starts_with("web.root /nonexistent/root: "), "{}", faults[0]);
}
