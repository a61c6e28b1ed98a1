//! Where a transfer is, and how it gets on, record by record.
//!
//! Invariant: a place is never behind a record that was not written whole.

use super::Script;
use super::compose::{Composer, Full};
use crate::transfer::journal::Delta;
use crate::zone::{Cursor, Records, Zone};
use std::sync::Arc;

/// The next thing to be written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// The SOA that every transfer begins with.
    Start,
    /// A record of the zone.
    Zone(Cursor),
    /// A record of a step.
    Step(Step),
    /// The SOA that a transfer ends with.
    End,
    /// Nothing.
    Over,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    number: usize,
    part: Part,
    at: usize,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Removed,
    Added,
}

impl Place {
    /// Writes records until the message is `until` long, or has as many as it can count.
    pub(super) fn write(
        &mut self,
        script: &Script,
        composer: &mut Composer<'_>,
        until: usize,
        count: &mut u16,
    ) -> Result<(), Full> {
        while composer.len() < until && *count < u16::MAX {
            *self = match (*self, script) {
                (Self::Over, _) => break,
                (Self::Start, _) => {
                    write_soa(script.zone(), composer, count)?;
                    Self::after_start(script)
                }
                (Self::End, _) => {
                    write_soa(script.zone(), composer, count)?;
                    Self::Over
                }
                (Self::Zone(cursor), _) => {
                    self.write_zone(script.zone(), cursor, composer, until, count)?;
                    continue;
                }
                (Self::Step(step), Script::Steps(_, deltas)) => step.write(deltas, composer, count)?,
                (Self::Step(_), _) => Self::End,
            };
        }
        Ok(())
    }

    fn after_start(script: &Script) -> Self {
        match script {
            Script::Version(_) => Self::Over,
            Script::Steps(..) => Self::Step(Step { number: 0, part: Part::Removed, at: 0 }),
            Script::Whole(zone) => {
                let mut records = zone.records();
                // The SOA, which is written already.
                let _ = records.next();
                Self::Zone(records.cursor())
            }
        }
    }

    fn write_zone(
        &mut self,
        zone: &Zone,
        cursor: Cursor,
        composer: &mut Composer<'_>,
        until: usize,
        count: &mut u16,
    ) -> Result<(), Full> {
        let mut records = zone.records_from(cursor);
        while composer.len() < until && *count < u16::MAX {
            let Some(record) = records.next() else {
                *self = Self::End;
                break;
            };
            composer.record(&record.owner, record.rtype, record.ttl, record.rdata)?;
            *count += 1;
            *self = Self::Zone(records.cursor());
        }
        Ok(())
    }
}

impl Step {
    fn write(
        self,
        deltas: &[Arc<Delta>],
        composer: &mut Composer<'_>,
        count: &mut u16,
    ) -> Result<Place, Full> {
        let Some(delta) = deltas.get(self.number) else { return Ok(Place::End) };
        let records = match self.part {
            Part::Removed => &delta.removed,
            Part::Added => &delta.added,
        };
        let Some((record, next)) = records.record_at(self.at) else {
            return Ok(Place::Step(self.next_part()));
        };
        composer.record(record.owner, record.rtype, record.ttl, record.rdata)?;
        *count += 1;
        Ok(Place::Step(Self { at: next, ..self }))
    }

    const fn next_part(self) -> Self {
        match self.part {
            Part::Removed => Self { part: Part::Added, at: 0, ..self },
            Part::Added => Self { number: self.number + 1, part: Part::Removed, at: 0 },
        }
    }
}

fn write_soa(zone: &Zone, composer: &mut Composer<'_>, count: &mut u16) -> Result<(), Full> {
    let Some(soa) = Records::soa(zone) else { return Err(Full) };
    composer.record(&soa.owner, soa.rtype, soa.ttl, soa.rdata)?;
    *count += 1;
    Ok(())
}
