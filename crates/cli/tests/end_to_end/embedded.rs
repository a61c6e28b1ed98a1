//! The virtual NIC: what it answers, and that it is one's own.

use crate::client::Connection;
use crate::scene::{has_link, lone_machine, output, run};
use crate::service::{Service, TIDEGATE};
use crate::site::Site;

#[test]
fn the_line_says_where_and_how() {
    let (machine, site) = (lone_machine(), Site::new());
    let service = Service::start(&machine, &["--root", site.root()]);
    assert!(service.line.contains("http://10.77.0.2/ and http://[fd77::2]/"), "{}", service.line);
    assert!(service.line.contains("driver mode, copy"), "{}", service.line);
    assert!(service.line.contains("1 worker"), "{}", service.line);
    assert!(service.log().contains("seccomp"), "what is in force is said: {}", service.log());
}

#[test]
fn many_files_come_whole_over_one_connection() {
    let (machine, site) = (lone_machine(), Site::new());
    let files: Vec<(String, Vec<u8>)> = (0..1000)
        .map(|number| {
            let path = format!("d{}/f{number}.bin", number % 10);
            let bytes = site.write_noise(&path, number * 37 % 20_000);
            (path, bytes)
        })
        .collect();
    let _service = Service::start(&machine, &["--root", site.root()]);
    let asked = machine.run(|| {
        for address in ["10.77.0.2:80", "[fd77::2]:80"] {
            let mut connection = Connection::open(address);
            for (path, bytes) in &files {
                let answer = connection.get(&format!("/{path}"), "");
                assert_eq!(answer.status, 200, "{path}");
                assert!(answer.body == *bytes, "{path}");
            }
        }
    });
    asked.expect("entered");
}

#[test]
fn a_changed_file_is_served_changed() {
    let (machine, site) = (lone_machine(), Site::new());
    site.write("news.txt", b"old");
    let _service = Service::start(&machine, &["--root", site.root()]);
    let asked = machine.run(|| {
        let mut connection = Connection::open("10.77.0.2:80");
        assert_eq!(connection.get("/news.txt", "").body, b"old");
        site.write("news.txt", b"newer");
        let start = std::time::Instant::now();
        while connection.get("/news.txt", "").body != b"newer" {
            assert!(start.elapsed().as_secs() < 5, "still the old one");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    asked.expect("entered");
}

#[test]
fn two_services_have_two_virtual_nics() {
    let (machine, site) = (lone_machine(), Site::new());
    let first = Service::start(&machine, &["--root", site.root()]);
    let refused = output(&machine, TIDEGATE, &["web", "--root", site.root()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("--name tidegate1"), "{said}");
    let second = Service::start(&machine, &["--root", site.root(), "--name", "tidegate1"]);
    for url in ["http://10.77.0.2/", "http://10.77.1.2/", "http://[fd77:0:0:1::2]/"] {
        assert!(run(&machine, "curl", &["-gsSf", "--max-time", "5", url]).contains("in and out"), "{url}");
    }
    assert!(second.terminate().success());
    assert!(has_link(&machine, "tidegate0") && !has_link(&machine, "tidegate1"));
    drop(first);
}

#[test]
fn counters_are_told_as_table_json_and_metrics() {
    let (machine, site) = (lone_machine(), Site::new());
    machine.run(|| ()).expect("entered");
    let args = ["--root", site.root(), "--metrics", "127.0.0.1:9100"];
    let service = Service::start(&machine, &args);
    run(&machine, "curl", &["-sSf", "--max-time", "5", "http://10.77.0.2/"]);
    let pid = service.pid().to_string();
    let table = run(&machine, TIDEGATE, &["stats", "--pid", &pid]);
    assert!(table.contains("own device") && table.contains("rx packets"), "{table}");
    let json = run(&machine, TIDEGATE, &["stats", "--json", "--pid", &pid]);
    let reports: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(reports[0]["workers"][0]["ports"][0]["counters"]["rx_packets"].as_u64() > Some(0), "{json}");
    let metrics = run(&machine, "curl", &["-sSf", "--max-time", "5", "http://127.0.0.1:9100/metrics"]);
    let served = "tidegate_site_request{worker=\"0\",module=\"stack0\"} 1";
    assert!(metrics.contains(served), "{metrics}");
    assert!(metrics.contains("tidegate_xdp_frames{device=\"tidegate0\""), "{metrics}");
}
