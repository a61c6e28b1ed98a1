//! A message taken apart for comparison: sections as sets, letters of names folded, OPT field by field.
//!
//! Written for the test alone, so that it shares no fault with what it tests.

use std::collections::BTreeMap;
use std::fmt;

/// An answer, ready to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// QR, opcode, AA, TC, RD, RA, Z, AD, CD as they stand; the RCODE is taken out.
    pub(crate) flags: u16,
    /// With the upper bits that OPT carries.
    pub(crate) rcode: u16,
    /// The question section, octet by octet: case counts (0x20).
    pub(crate) question: Vec<u8>,
    pub(crate) answer: Vec<Record>,
    pub(crate) authority: Vec<Record>,
    pub(crate) additional: Vec<Record>,
    pub(crate) opt: Option<Opt>,
    /// Octets of the whole message.
    pub(crate) len: usize,
    /// A section had the same record twice; peers do that at times, and we never may.
    pub(crate) has_duplicates: bool,
}

/// A record: names folded and decompressed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Record {
    pub(crate) owner: Vec<u8>,
    pub(crate) rtype: u16,
    pub(crate) class: u16,
    pub(crate) ttl: u32,
    pub(crate) data: Vec<u8>,
}

/// An OPT record, field by field (RFC 6891 6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opt {
    pub(crate) size: u16,
    pub(crate) version: u8,
    pub(crate) flags: u16,
    /// Options by their code.
    pub(crate) options: BTreeMap<u16, Vec<u8>>,
}

const OPT: u16 = 41;
/// The option's code (RFC 7873 4).
const COOKIE: u16 = 10;
/// The option's code (RFC 7828 3.1).
const KEEPALIVE: u16 = 11;

impl Message {
    /// As [`Message::parse`]; of a message that cannot be read, the header alone: peers that refuse a query may send
    /// it back as it came, with counts that no longer fit.
    pub(crate) fn parse_leniently(octets: &[u8]) -> Option<Message> {
        Message::parse(octets).ok().or_else(|| {
            let header = [octets.get(..4)?, &[0; 8]].concat();
            Message::parse(&header).ok()
        })
    }

    /// The whole message, or what is wrong with it.
    pub(crate) fn parse(octets: &[u8]) -> Result<Message, &'static str> {
        let mut reader = Reader { octets, at: 0 };
        let [_, flags, questions, answers, authorities, additionals] = reader.header()?;
        let question = reader.questions(questions)?.to_vec();
        let mut sections =
            [reader.records(answers)?, reader.records(authorities)?, reader.records(additionals)?];
        let has_duplicates =
            sections.iter_mut().fold(false, |found, section| found | drop_duplicates(section));
        let [answer, authority, mut additional] = sections;
        if reader.at != octets.len() {
            return Err("octets after the last record");
        }
        let opt = take_opt(&mut additional)?;
        let rcode = flags & 15 | opt.as_ref().map_or(0, |(_, upper)| upper << 4);
        let opt = opt.map(|(opt, _)| opt);
        let len = octets.len();
        Ok(Message {
            flags: flags & !15,
            rcode,
            question,
            answer,
            authority,
            additional,
            opt,
            len,
            has_duplicates,
        })
    }

    /// Leaves out the keep-alive option (RFC 7828), which the peers do not have.
    pub(crate) fn forget_keepalive(&mut self) {
        if let Some(opt) = &mut self.opt {
            opt.options.remove(&KEEPALIVE);
        }
    }

    /// Of a cookie that the query did not bring, leaves what does not depend on the second in which it was made: the
    /// client's half, version and reserved octets (RFC 9018 4).
    pub(crate) fn forget_new_cookie(&mut self, query: &[u8]) {
        let cookie = self.opt.as_mut().and_then(|opt| opt.options.get_mut(&COOKIE));
        let is_brought = |cookie: &[u8]| query.windows(cookie.len()).any(|octets| octets == cookie);
        if let Some(cookie) = cookie.filter(|cookie| cookie.len() == 24 && !is_brought(cookie)) {
            cookie.truncate(12);
        }
    }
}

/// A section is a set; whether it was one before.
fn drop_duplicates(section: &mut Vec<Record>) -> bool {
    let len = section.len();
    section.dedup();
    section.len() != len
}

/// Moves the OPT out of the additional section; its TTL's uppermost octet belongs to the RCODE.
fn take_opt(additional: &mut Vec<Record>) -> Result<Option<(Opt, u16)>, &'static str> {
    let Some(index) = additional.iter().position(|record| record.rtype == OPT) else { return Ok(None) };
    let record = additional.remove(index);
    if additional.iter().any(|record| record.rtype == OPT) || record.owner != [0] {
        return Err("an OPT too many, or below the root");
    }
    let [upper, version, ..] = record.ttl.to_be_bytes();
    let opt = Opt { size: record.class, version, flags: record.ttl as u16, options: options(&record.data)? };
    Ok(Some((opt, upper.into())))
}

fn options(data: &[u8]) -> Result<BTreeMap<u16, Vec<u8>>, &'static str> {
    let mut reader = Reader { octets: data, at: 0 };
    let mut options = BTreeMap::new();
    while reader.at < data.len() {
        let (code, len) = (reader.u16()?, reader.u16()?);
        options.insert(code, reader.take(len.into())?.to_vec());
    }
    Ok(options)
}

struct Reader<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], &'static str> {
        let taken = self.octets.get(self.at..self.at + len).ok_or("cut short")?;
        self.at += len;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, &'static str> {
        self.take(2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
    }

    fn header(&mut self) -> Result<[u16; 6], &'static str> {
        let mut words = [0; 6];
        for word in &mut words {
            *word = self.u16()?;
        }
        Ok(words)
    }

    fn questions(&mut self, count: u16) -> Result<&'a [u8], &'static str> {
        let start = self.at;
        for _ in 0..count {
            self.name()?;
            self.take(4)?;
        }
        Ok(&self.octets[start..self.at])
    }

    /// A name, decompressed and folded (RFC 1035 4.1.4): pointers go strictly backwards, and its length ends a loop.
    fn name(&mut self) -> Result<Vec<u8>, &'static str> {
        let mut name = Vec::new();
        let (mut at, mut resume) = (self.at, None);
        while name.len() < 255 {
            let len = *self.octets.get(at).ok_or("a name cut short")?;
            match len {
                0 => break,
                1..64 => {
                    let label = self.octets.get(at..at + 1 + usize::from(len)).ok_or("a label cut short")?;
                    name.extend(label.iter().map(u8::to_ascii_lowercase));
                    at += label.len();
                }
                192.. => {
                    let low = *self.octets.get(at + 1).ok_or("a pointer cut short")?;
                    let target = usize::from(len & 63) << 8 | usize::from(low);
                    resume.get_or_insert(at + 2);
                    if target >= at {
                        return Err("a pointer that does not go back");
                    }
                    at = target;
                }
                _ => return Err("a label of no known kind"),
            }
        }
        name.push(0);
        self.at = resume.unwrap_or(at + 1);
        if name.len() > 255 { Err("a name too long") } else { Ok(name) }
    }

    fn records(&mut self, count: u16) -> Result<Vec<Record>, &'static str> {
        let mut records = (0..count).map(|_| self.record()).collect::<Result<Vec<_>, _>>()?;
        records.sort();
        Ok(records)
    }

    fn record(&mut self) -> Result<Record, &'static str> {
        let owner = self.name()?;
        let (rtype, class) = (self.u16()?, self.u16()?);
        let ttl = u32::from(self.u16()?) << 16 | u32::from(self.u16()?);
        let len = self.u16()?;
        let end = self.at + usize::from(len);
        if end > self.octets.len() {
            return Err("data cut short");
        }
        let data = self.data(rtype, end)?;
        if self.at == end {
            Ok(Record { owner, rtype, class, ttl, data })
        } else {
            Err("data of another length")
        }
    }

    /// The data, with the names in it as [`layout`] says.
    fn data(&mut self, rtype: u16, end: usize) -> Result<Vec<u8>, &'static str> {
        let (before, names) = layout(rtype);
        let mut data = Vec::new();
        if names > 0 && self.at < end {
            data.extend(self.take(before)?);
            for _ in 0..names {
                data.extend(self.name()?);
            }
        }
        data.extend(self.take(end.checked_sub(self.at).ok_or("a name beyond its data")?)?);
        Ok(data)
    }
}

/// Octets before the names in a type's data, and how many names there are: RFC 1035 3.3, 1183, 2782, 4034 3.1, 4.1 ...
fn layout(rtype: u16) -> (usize, usize) {
    match rtype {
        2..=5 | 7..=9 | 12 | 39 | 47 => (0, 1),
        6 | 14 | 17 => (0, 2),
        15 | 18 | 21 | 36 | 64 | 65 | 107 => (2, 1),
        26 => (2, 2),
        33 => (6, 1),
        46 => (18, 1),
        _ => (0, 0),
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} TYPE{} {}", shown(&self.owner), self.ttl, self.rtype, Hex(&self.data))
    }
}

/// A name as text, for reports.
pub(crate) fn shown(name: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = name;
    while let Some((len, after)) = rest.split_first().filter(|(len, _)| **len > 0) {
        let (label, after) = after.split_at(usize::from(*len).min(after.len()));
        text += &format!("{}.", label.escape_ascii());
        rest = after;
    }
    if text.is_empty() { ".".into() } else { text }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(40).try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}
