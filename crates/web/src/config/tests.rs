//! What a file may say, and the line a user sees when it says something else.

use super::*;

fn fault(text: &str) -> String {
    Config::parse(text).map_err(|f| f.in_file(Path::new("site.toml"))).unwrap_err().to_string()
}

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(Config::parse("").unwrap(), Config::default());
}

#[test]
fn a_file_that_says_everything() {
    let config = Config::parse(
        r#"
        root = "/srv/www"
        mode = "memcopy"
        memory = "2GiB"
        workers = 4
        idle = "poll"
        batch = 64
        zero_copy = "require"
        busy_poll = "50us"
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
        [metrics]
        address = "127.0.0.1:9100"
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
        ("memory = \"lots\"", "site.toml:1:10: \"lots\" is no size", "512MiB"),
        ("memory = -1", "site.toml:1:10:", "not negative"),
        ("[timeouts]\nidle = \"5\"", "site.toml:2:8: \"5\" is no span of time", "30s"),
        ("[error_pages]\n200 = \"a\"", "site.toml:2:1: 200 is no status", "404"),
        ("[[headers]]\nfiles=\"*\"\nset={ Date=\"x\" }", "site.toml:3:7: date is written", "leave it out"),
        ("[[headers]]\nfiles=\"\"\nset={}", "site.toml:2:7: a pattern that is empty", "**"),
        ("[[listen]]\naddress = \"eth0\"", "site.toml:2:11:", "socket address"),
        ("root = ", "site.toml:1:", ""),
    ];
    for (text, start, part) in cases {
        let line = fault(text);
        assert!(line.starts_with(start) && line.contains(part) && !line.contains('\n'), "{text:?}: {line}");
    }
}

#[test]
fn values_must_make_sense_together() {
    let config =
        Config::parse("batch = 0\n[limits]\nrequest_head = 100\n[[listen]]\naddress=\"1.2.3.4:0\"").unwrap();
    let text = config.faults().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in ["no root", "batch", "request_head", "choose a port"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn files_that_are_not_there() {
    let missing = Config { root: "/nonexistent/root".into(), ..Config::default() };
    let faults = check(&missing, Some(Path::new("site.toml")));
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().starts_with("site.toml: root /nonexistent/root: "), "{}", faults[0]);
}

#[test]
fn units_read_back_what_they_show() {
    for text in ["1000", "64KiB", "3MiB", "2GiB", "0"] {
        assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
    }
    for text in ["", "x", "1X", "99999999999TiB", "-1"] {
        assert!(text.parse::<ByteSize>().is_err(), "{text}");
    }
    for text in ["", "5", "s", "1d", "-1s"] {
        assert!(text.parse::<Span>().is_err(), "{text}");
    }
}

#[test]
fn the_example_says_the_defaults() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tidegate.toml");
    let config = Config::load(&file).unwrap();
    assert_eq!(check(&config, Some(&file)), []);
    assert_eq!(Config { root: PathBuf::new(), ..config }, Config::default());
}

#[test]
fn what_the_example_leaves_out_works_as_written() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tidegate.toml"));
    let is_setting =
        |line: &&str| line.starts_with("# ") && (line.contains(" = ") || line.starts_with("# [["));
    let text = text.unwrap();
    let lines = text.lines().map(|line| match line.strip_prefix("# ").filter(|_| is_setting(&line)) {
        Some(setting) => setting,
        None => line,
    });
    let config = Config::parse(&lines.skip(3).collect::<Vec<_>>().join("\n")).unwrap();
    assert_eq!(config.listen.len(), 1);
    assert_eq!(config.headers.len(), 1);
    assert!(
        config.metrics.address.is_some() && config.access_log.path.is_some() && config.workers == Some(1)
    );
}
