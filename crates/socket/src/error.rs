//! Why a socket call failed: the cases of the BSD interface, each with its number.

use std::io;
use tidegate_sys::errno;

macro_rules! errors {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:ident, $text:literal;)+) => {
        /// What a socket call, or a connection, came to grief by.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
        pub enum Error {
            $($(#[doc = $doc])+ #[error($text)] $name,)+
        }

        impl Error {
            /// The error's number in C, from errno(3).
            pub const fn number(self) -> i32 {
                match self { $(Self::$name => errno::$number),+ }
            }
        }
    };
}

errors! {
    /// EBADF.
    BadSocket = EBADF, "there is no such socket: it was closed, or never opened";
    /// EAGAIN.
    WouldBlock = EAGAIN, "not now: wait until the socket is ready, and call again";
    /// EINPROGRESS.
    InProgress = EINPROGRESS, "the connection is being opened: wait until the socket is writable";
    /// EALREADY.
    AlreadyInProgress = EALREADY, "an earlier call is opening the connection already";
    /// EISCONN.
    IsConnected = EISCONN, "the socket is connected already";
    /// ENOTCONN.
    NotConnected = ENOTCONN, "the socket is not connected";
    /// ECONNREFUSED.
    ConnectionRefused = ECONNREFUSED, "the peer refused the connection: nobody listens there";
    /// ECONNRESET.
    ConnectionReset = ECONNRESET, "the peer reset the connection";
    /// ECONNABORTED.
    ConnectionAborted = ECONNABORTED, "the connection was aborted on this side";
    /// ETIMEDOUT.
    TimedOut = ETIMEDOUT, "the peer did not answer in time";
    /// EPIPE.
    BrokenPipe = EPIPE, "the socket is shut down for writing";
    /// EADDRINUSE.
    AddressInUse = EADDRINUSE, "another socket has this address and port, or all ports are taken";
    /// EADDRNOTAVAIL.
    AddressNotAvailable = EADDRNOTAVAIL, "that is no address of this interface";
    /// EAFNOSUPPORT.
    FamilyNotSupported = EAFNOSUPPORT, "the interface has no address of this family";
    /// EHOSTUNREACH.
    HostUnreachable = EHOSTUNREACH, "the link does not answer for this address";
    /// EDESTADDRREQ.
    DestinationRequired = EDESTADDRREQ, "the socket has no peer: name one";
    /// EMSGSIZE.
    MessageTooLong = EMSGSIZE, "the datagram does not fit a packet of this link";
    /// ENOBUFS.
    NoBuffers = ENOBUFS, "no buffers left: fewer sockets, connections or different settings are needed";
    /// EMFILE.
    TooManySockets = EMFILE, "there are as many sockets as there can be: close some";
    /// EINVAL.
    Invalid = EINVAL, "the arguments do not fit the socket, or its state";
    /// EOPNOTSUPP.
    NotSupported = EOPNOTSUPP, "this kind of socket has no such call";
    /// ENOPROTOOPT.
    NoSuchOption = ENOPROTOOPT, "there is no such option";
    /// ENOENT.
    NoSuchAlgorithm = ENOENT, "there is no congestion control of this name";
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::from_raw_os_error(error.number())
    }
}
