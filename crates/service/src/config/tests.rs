//! The file that shows every setting says the defaults, and what it leaves out works as written.

use super::*;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tidegate.toml")
}

#[test]
fn the_example_is_right_and_says_the_defaults() {
    let config = Config::load(&example()).expect("it is right");
    assert_eq!(config.faults(), []);
    let web = config.web.clone().map(|web| tidegate_web::Config { root: PathBuf::new(), ..web });
    assert_eq!(web, Some(tidegate_web::Config::default()));
    let dns = config.dns.clone().map(|dns| tidegate_dns::Config { zones: Vec::new(), ..dns });
    assert_eq!(dns, Some(tidegate_dns::Config::default()));
    assert_eq!(Config { web: None, dns: None, ..config }, Config::default());
}

#[test]
fn what_the_example_leaves_out_works_as_written() {
    let text = std::fs::read_to_string(example()).expect("it is there");
    let is_setting =
        |line: &&str| line.starts_with("# ") && (line.contains(" = ") || line.starts_with("# [["));
    let lines = text.lines().map(|line| match line.strip_prefix("# ").filter(|_| is_setting(&line)) {
        Some(setting) => setting,
        None => line,
    });
    let text = lines.skip(3).collect::<Vec<_>>().join("\n");
    let config: Config = tidegate_config::parse(&text).expect("all of it");
    assert!(config.metrics.address.is_some() && config.workers == Some(1));
    let (web, dns) = (config.web.expect("a web server"), config.dns.expect("a name server"));
    assert!(web.listen.len() == 1 && web.headers.len() == 1 && web.access_log.path.is_some());
    assert!(dns.listen.len() == 1 && dns.zones.len() == 2 && dns.tsig_keys.len() == 1);
    assert!(dns.zones[1].is_secondary() && dns.query_log.path.is_some());
}

#[test]
fn a_file_without_a_service_is_wrong() {
    let said: Vec<String> = Config::default().faults().iter().map(ToString::to_string).collect();
    assert_eq!(said, ["no service: add [web] or [dns]"]);
}

/// What is said of a web server with such a congestion control.
fn said_of(congestion: &str) -> String {
    let text = format!("[web]\nroot = \"/\"\ncongestion = \"{congestion}\"\n");
    crate::Settings::parse(&text, Path::new("/")).err().map_or_else(String::new, |fault| fault.to_string())
}

#[test]
fn a_congestion_control_that_does_not_exist_is_refused_by_name() {
    for name in ["cubic", "newreno", "bbr"] {
        assert_eq!(said_of(name), "");
    }
    let said = said_of("vegas");
    assert!(
        said.starts_with("web.congestion `vegas`: ") && said.contains("newreno") && said.contains("bbr"),
        "{said}"
    );
}
