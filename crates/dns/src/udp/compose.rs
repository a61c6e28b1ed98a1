//! From ready sections to a message in a frame.
//!
//! ```text
//!   in place   | ID flags counts | question | sections | OPT |     the query's frame: the first two stay
//!   by copy    the same in a fresh frame, the query's octets copied too
//!   in common  as in place, and pointers moved by as much as the name is longer than its family's suffix
//!   by frame   the same in a frame that has the sections already, the query's octets copied
//! ```
//! The question goes back as it came, octet by octet: resolvers choose its case at random to be told from
//! forgers by it.
//!
//! Invariant: the sum that goes with an answer is that of its octets, put together from that of header and
//! question, that of the sections, known, and that of OPT, known or taken when it was made.

use super::glance::{Expanded, Glance, HEADER_LEN, QUESTION_TAIL_LEN};
use super::opts::OptRecord;
use super::ready_frames::ReadyFrames;
use crate::store::{Joints, Ready};
use tidegate_base::{DropReason, Sum};
use tidegate_packet::{Frame, Pool};
use tidegate_stack::{Datagram, Payload, Reply};

const QR: u16 = 0x8000;
const RD: u16 = 0x0100;
/// The most octets that are copied in steps.
const COPY_LEN_MAX: usize = 256;

/// The answer in the query's own frame. `None`, with nothing changed, if it is longer than `size_max`.
#[inline]
pub(super) fn in_place(
    datagram: &mut Datagram,
    glance: &Glance,
    ready: &Ready<'_>,
    opt: Option<&OptRecord>,
    size_max: usize,
) -> Option<Reply> {
    let question_end = match glance.is_compressed {
        false => usize::from(glance.question_end),
        true => HEADER_LEN + usize::from(glance.key.name_len) + QUESTION_TAIL_LEN,
    };
    let len = question_end + ready.sections.octets.len() + opt.map_or(0, OptRecord::len);
    if len > size_max {
        return None;
    }
    if glance.is_compressed {
        expand_question(datagram)?;
    }
    datagram.truncate(question_end);
    let room = datagram.push_back(len - question_end)?;
    write_tail(room, ready.sections.octets, opt)?;
    Some(Reply::InPlace(finish(datagram.data_mut(), question_end, ready, opt)))
}

/// The answer in the query's own frame, from what its family has in common. The question has no pointers.
#[inline]
pub(super) fn in_common(
    datagram: &mut Datagram,
    glance: &Glance,
    (ready, joints): (Ready<'_>, Joints<'_>),
    shift: u16,
    opt: Option<&OptRecord>,
    size_max: usize,
) -> Option<Reply> {
    let (question_end, sections) = (usize::from(glance.question_end), ready.sections.octets);
    let len = question_end + sections.len() + opt.map_or(0, OptRecord::len);
    if len > size_max {
        return None;
    }
    datagram.truncate(question_end);
    let room = datagram.push_back(len - question_end)?;
    write_tail(room, sections, opt)?;
    let moved = joints.shift(sections, shift, room);
    let ready = Ready { sum: ready.sum + moved, ..ready };
    Some(Reply::InPlace(finish(datagram.data_mut(), question_end, &ready, opt)))
}

/// The answer in a fresh frame.
#[inline]
pub(super) fn by_copy(
    datagram: &Datagram,
    glance: &Glance,
    ready: &Ready<'_>,
    opt: Option<&OptRecord>,
    size_max: usize,
    pool: &mut Pool,
) -> Option<Reply> {
    let query = question_of(datagram, glance)?;
    let len = query.len() + ready.sections.octets.len() + opt.map_or(0, OptRecord::len);
    if len > size_max {
        return None;
    }
    let Some(mut frame) = pool.alloc() else { return Some(Reply::Drop(DropReason::NoFrame)) };
    let written = frame.push_back(len).and_then(|room| {
        let (to, rest) = room.split_at_mut_checked(query.len())?;
        copy(query, to);
        write_tail(rest, ready.sections.octets, opt)
    });
    if written.is_none() {
        pool.free(frame);
        return Some(Reply::Drop(DropReason::TooLong));
    }
    let sum = finish(frame.data_mut(), query.len(), ready, opt);
    Some(Reply::By(Payload { frame, sum }))
}

/// The answer in a frame that has it already.
#[inline]
pub(super) fn by_ready_frame(
    datagram: &Datagram,
    glance: &Glance,
    ready: &Ready<'_>,
    opt: Option<&OptRecord>,
    size_max: usize,
    frames: &mut ReadyFrames,
    pool: &mut Pool,
) -> Option<Reply> {
    let query = question_of(datagram, glance)?;
    if query.len() + ready.sections.octets.len() + opt.map_or(0, OptRecord::len) > size_max {
        return None;
    }
    let lent = frames.take(ready.line, glance.key.hash, pool);
    let Some(mut frame) = lent.or_else(|| stock(query, glance, ready, frames, pool)) else {
        return Some(Reply::Drop(DropReason::NoFrame));
    };
    copy(query, frame.data_mut().get_mut(..query.len())?);
    if let Some(opt) = opt {
        frame.extend(opt.octets());
    }
    let sum = finish(frame.data_mut(), query.len(), ready, opt);
    Some(Reply::By(Payload { frame, sum }))
}

/// A fresh frame with header, question and sections, kept for the next query of its kind.
#[cold]
fn stock(
    query: &[u8],
    glance: &Glance,
    ready: &Ready<'_>,
    frames: &mut ReadyFrames,
    pool: &mut Pool,
) -> Option<Frame> {
    let mut frame = pool.alloc()?;
    if !frame.extend(query) || !frame.extend(ready.sections.octets) {
        pool.free(frame);
        return None;
    }
    frames.keep(ready.line, glance.key.hash, frame, pool)
}

/// Header and question of an uncompressed query.
#[inline]
fn question_of<'a>(datagram: &'a Datagram, glance: &Glance) -> Option<&'a [u8]> {
    if glance.is_compressed {
        return None;
    }
    datagram.data().get(..usize::from(glance.question_end))
}

/// Fills `room` with what follows the question.
#[inline]
fn write_tail(room: &mut [u8], sections: &[u8], opt: Option<&OptRecord>) -> Option<()> {
    let (to, rest) = room.split_at_mut_checked(sections.len())?;
    copy(sections, to);
    match opt.map(|opt| (opt.bare(), opt)) {
        None => {}
        Some((Some(bare), _)) => *rest.first_chunk_mut()? = *bare,
        Some((None, opt)) => copy(opt.octets(), rest),
    }
    Some(())
}

/// Copies some dozens of octets, sixteen at a time and the last ones once more; `to` is as long as `from`. A
/// call of the library's copy would cost more than the copy.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    let (Some(last), true) = (from.last_chunk::<16>(), from.len() <= COPY_LEN_MAX && from.len() == to.len())
    else {
        to.copy_from_slice(from);
        return;
    };
    for (to, from) in to.as_chunks_mut::<16>().0.iter_mut().zip(from.as_chunks::<16>().0) {
        *to = *from;
    }
    if let Some(to) = to.last_chunk_mut() {
        *to = *last;
    }
}

/// Writes the header over the query's, and returns the message's sum.
#[inline]
fn finish(message: &mut [u8], question_end: usize, ready: &Ready<'_>, opt: Option<&OptRecord>) -> Sum {
    let sections = &ready.sections;
    let Some((header, rest)) = message.split_first_chunk_mut::<HEADER_LEN>() else { return Sum::ZERO };
    let question = rest.get(..question_end - HEADER_LEN).unwrap_or_default();
    let [i0, i1, f0, f1, ..] = *header;
    // RFC 1035 section 4.1.1: RD is copied; RFC 4035 section 3.1.6: CD is cleared.
    let flags = QR | sections.flags | u16::from_be_bytes([f0, f1]) & RD;
    let [an, ns, ar] = sections.counts;
    let words = [u16::from_be_bytes([i0, i1]), flags, 1, an, ns, ar + u16::from(opt.is_some())];
    *header = header_of(words);
    // Summed up from these words, not from where they were just written: reading them back at once, in other
    // portions, would wait for them to arrive.
    let header_sum = words.iter().fold(Sum::ZERO, |sum, word| sum + Sum::of_u16(*word));
    let opt_sum = opt.map_or(Sum::ZERO, OptRecord::sum);
    let tail = ready.sum + opt_sum.at_offset(sections.octets.len());
    header_sum + Sum::of(question) + tail.at_offset(question_end)
}

/// The octets of a header's words.
#[inline]
fn header_of(words: [u16; HEADER_LEN / 2]) -> [u8; HEADER_LEN] {
    let octets = words.map(u16::to_be_bytes);
    let mut header = [0; HEADER_LEN];
    header.copy_from_slice(octets.as_flattened());
    header
}

/// Puts the query's name, pointers followed, in its place.
#[cold]
fn expand_question(datagram: &mut Datagram) -> Option<()> {
    let mut expanded = Expanded::new();
    let (name_end, _) = expanded.fill(datagram.data())?;
    let tail: [u8; QUESTION_TAIL_LEN] = *datagram.data().get(name_end..)?.first_chunk()?;
    datagram.truncate(HEADER_LEN);
    (datagram.extend(expanded.name()) && datagram.extend(&tail)).then_some(())
}
