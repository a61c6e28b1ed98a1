//! Generates the messages and services from `proto/`, with no `protoc` installed.

use std::path::Path;
use std::{env, fs};

use prost::Message;

const PROTOS: [&str; 3] = ["bess/service.proto", "bess/module_msg.proto", "bess/ports/port_msg.proto"];
const OWN_PROTOS: [&str; 1] = ["tidegate/v1/control.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = PROTOS.iter().chain(&OWN_PROTOS).map(|file| Path::new("proto").join(file));
    let descriptors = protox::compile(files, ["proto"])?;
    let out = env::var("OUT_DIR")?;
    // Reflection serves it, and the tests hold it against the interface's facts.
    fs::write(Path::new(&out).join("descriptors.bin"), descriptors.encode_to_vec())?;
    let mut prost = tonic_prost_build::Config::new();
    prost.enable_type_names();
    tonic_prost_build::configure().include_file("services.rs").compile_fds_with_config(descriptors, prost)?;
    Ok(())
}
