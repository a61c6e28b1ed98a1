//! The compiled XDP program, embedded.

/// Gives the bytes the alignment that an ELF reader wants.
#[repr(C, align(8))]
struct Aligned<Bytes: ?Sized>(Bytes);

static ALIGNED: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/tidegate.bpf.o")));

/// The ELF object.
pub(crate) fn bytes() -> &'static [u8] {
    &ALIGNED.0
}
