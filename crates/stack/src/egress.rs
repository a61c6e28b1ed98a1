//! The way out of the stack.

use tidegate_packet::{Frame, Pool};

/// Where the stack puts the frames that it builds. The caller knows the transmit ring; the stack asks
/// how much room there is and builds no frame that would be dropped.
pub trait Egress {
    /// The frames to build in, and to give received ones back to.
    fn pool(&mut self) -> &mut Pool;

    /// How many more frames [`Egress::send`] takes.
    fn room(&mut self) -> usize;

    /// How many bytes of payload a frame with a tail may have altogether; zero: none is taken.
    fn bulk_len_max(&mut self) -> usize {
        0
    }

    /// Takes a whole frame, link header first.
    fn send(&mut self, frame: Frame);
}
