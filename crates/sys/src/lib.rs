//! The kernel's interfaces as thin, safe functions: the only crate of Tidegate that uses `libc`.
//!
//! Each module is one concept of the kernel. Each function says which capability it needs and where the
//! interface is described (a man page or a document under the kernel's `Documentation/`).
//!
//! | module | what it opens | described in |
//! |---|---|---|
//! | [`mem`] | anonymous memory on huge pages | mmap(2), admin-guide/mm/hugetlbpage.rst |
//! | [`heap`] | the system's allocator, long blocks on huge pages | malloc(3), madvise(2) |
//! | [`xsk`] | AF_XDP sockets, their UMEM and rings | networking/af_xdp.rst |
//! | [`packet_socket`] | a way out for bulk, cut behind it | packet(7), linux/virtio_net.h |
//! | [`device_socket`] | a device's frames, beside the kernel's stack | packet(7) |
//! | [`tap`] | TAP devices | networking/tuntap.rst |
//! | [`vnet`] | what is left to do for a frame | linux/virtio_net.h |
//! | [`netlink`] | links, addresses, routes, neighbours, NAPI instances | rtnetlink(7), netlink/specs/netdev.yaml |
//! | [`next_hop`] | where the kernel would send for a peer | rtnetlink(7) |
//! | [`ethtool`] | offloads, channels, driver names | networking/ethtool-netlink.rst, ethtool.h |
//! | [`netns`] | network namespaces | network_namespaces(7), setns(2) |
//! | [`napi`] | threaded NAPI and its kernel threads | networking/napi.rst |
//! | [`cpu`] | pinning and processor time | sched_setaffinity(2), proc_stat(5) |
//! | [`socket`] | a bound socket that keeps a port from others | bind(2), proc_net(5) |
//! | [`local_socket`] | unix sockets by path or abstract name: bound, reached, accepted | unix(7) |
//! | [`seqpacket`] | those that keep messages apart, descriptors sent along | unix(7), cmsg(3) |
//! | [`shared_memory`] | memory that another process may write, or take away | memfd_create(2), fcntl(2), sigaction(2) |
//! | [`event`] | eventfd, poll, timers, watching a tree of files | eventfd(2), ppoll(2), timerfd_create(2), epoll(7), inotify(7) |
//! | [`abi`] | C's types and numbers for sockets | sys_socket.h(0p) |
//! | [`errno`] | error numbers by name | errno(3) |
//! | [`file`] | files below a directory and nowhere else | openat2(2) |
//! | [`file_system`] | the kind of file system that a path is in | statfs(2) |
//! | [`clock`] | monotonic and wall-clock time | clock_gettime(2) |
//! | [`random`] | the kernel's random bytes | getrandom(2) |
//!
//! What is absent: policy. Nothing here decides which device, which queue or which namespace; nothing logs;
//! nothing keeps global state, but for who guards [`shared_memory`] that may vanish: a process has one handler a signal. What a function changes in the kernel is undone when the value that it
//! returned is dropped, or when the process dies, unless its documentation says otherwise.
//!
//! # Errors
//! One small error type an operation. Its text names what was attempted, on what, and what to do next.

#![cfg(target_os = "linux")]

pub mod abi;
pub mod clock;
pub mod cpu;
pub mod device_socket;
pub mod errno;
pub mod ethtool;
pub mod event;
pub mod file;
pub mod file_system;
pub mod heap;
pub mod local_socket;
pub mod mem;
pub mod napi;
pub mod netlink;
pub mod netns;
pub mod next_hop;
pub mod packet_socket;
pub mod random;
pub mod seqpacket;
pub mod shared_memory;
pub mod socket;
pub mod tap;
pub mod vnet;
pub mod xsk;

mod syscall;
