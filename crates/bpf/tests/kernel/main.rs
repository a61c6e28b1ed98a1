//! Tests that run the XDP program in the kernel. They need root (CAP_BPF, CAP_NET_ADMIN, CAP_SYS_ADMIN for
//! namespaces); without it they say so and pass, unless the variable `CI` is set.

mod attach;
mod differential;
mod egress;
mod golden;
mod maps;
mod pin;
mod reference;
mod support;
mod traffic;
mod veth;
