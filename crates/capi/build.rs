//! Gives the library the name under which programs that were linked with it look for it.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtidegate.so.0");
    println!("cargo:rerun-if-changed=build.rs");
}
