//! Compiles the XDP program with clang into `$OUT_DIR/tidegate.bpf.o`, which `src/object.rs` embeds.
//!
//! Needs clang 14 or newer and nothing of the running kernel: the headers are the UAPI ones of the system
//! and libbpf's own, which libbpf-sys brings. No path of the build machine ends up in the object.

use std::env;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Versions of clang that are known to work; `TIDEGATE_CLANG` goes before all of them.
const VERSIONS: RangeInclusive<u32> = 14..=22;

const SOURCE_DIR: &str = "src/xdp";
const SOURCE: &str = "tidegate.bpf.c";

fn main() -> ExitCode {
    println!("cargo::rerun-if-env-changed=TIDEGATE_CLANG");
    println!("cargo::rerun-if-changed={SOURCE_DIR}");
    match find_compiler().and_then(|clang| compile(&clang)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn find_compiler() -> Result<String, String> {
    if let Ok(clang) = env::var("TIDEGATE_CLANG") {
        return if runs(&clang) {
            Ok(clang)
        } else {
            Err(format!(
                "TIDEGATE_CLANG is `{clang}`, which does not run: name a clang of version 14 or newer"
            ))
        };
    }
    let newest_first = VERSIONS.rev().map(|version| format!("clang-{version}"));
    newest_first.chain(["clang".to_owned()]).find(|clang| runs(clang)).ok_or_else(|| {
        "no clang found, which compiles the XDP program: `apt install clang` (14 or newer), or set TIDEGATE_CLANG"
            .to_owned()
    })
}

fn runs(clang: &str) -> bool {
    let status = Command::new(clang).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn compile(clang: &str) -> Result<(), String> {
    let object = PathBuf::from(variable("OUT_DIR")?).join("tidegate.bpf.o");
    let output = Command::new(clang)
        .current_dir(SOURCE_DIR)
        .args(["-target", target()?, "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra"])
        .arg("-fdebug-compilation-dir=.")
        .arg("-isystem")
        .arg(variable("DEP_BPF_INCLUDE")?)
        .args(system_headers()?)
        .arg("-c")
        .arg(SOURCE)
        .arg("-o")
        .arg(object)
        .output()
        .map_err(|error| format!("cannot run {clang}: {error}"))?;
    report(clang, output.status.success(), &String::from_utf8_lossy(&output.stderr))
}

/// BPF programs have the byte order of the machine that they run on.
fn target() -> Result<&'static str, String> {
    Ok(if variable("CARGO_CFG_TARGET_ENDIAN")? == "big" { "bpfeb" } else { "bpfel" })
}

/// Debian keeps `asm/types.h` in a directory a machine, which clang does not search for the BPF target.
fn system_headers() -> Result<Vec<String>, String> {
    let multiarch = format!("/usr/include/{}-linux-gnu", variable("CARGO_CFG_TARGET_ARCH")?);
    Ok(if Path::new(&multiarch).is_dir() { vec!["-idirafter".to_owned(), multiarch] } else { Vec::new() })
}

fn report(clang: &str, success: bool, messages: &str) -> Result<(), String> {
    if success {
        messages.lines().for_each(|line| println!("cargo::warning={line}"));
        return Ok(());
    }
    let hint = if messages.contains("file not found") {
        "; a kernel header is missing: `apt install linux-libc-dev`"
    } else {
        ""
    };
    messages.lines().for_each(|line| println!("cargo::warning={line}"));
    Err(format!("{clang} cannot compile {SOURCE_DIR}/{SOURCE}{hint}"))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("cargo did not set {name}: build with cargo"))
}
