//! The door to the record types that the crate `domain` reads: its `Scanner`, over the fields of our entries.
//!
//! So the types it knows need no reader of ours, while entries, names, directives and the lines of errors stay
//! in one place. Common types, and those it does not know or reads amiss, are in [`super::rdata`].

use domain::base::CharStr;
use domain::base::iana::Rtype;
use domain::base::name::Name as DomainName;
use domain::base::rdata::ComposeRecordData;
use domain::base::scan::{ConvertSymbols, EntrySymbol, Scanner, ScannerError, Symbol};
use domain::dep::octseq::str::Str;
use domain::rdata::ZoneRecordData;

use super::error::Complaint;
use super::fields::Fields;
use super::lexer::{Octet, Unescape};

/// Reads the data of a type that `domain` knows.
pub(super) fn parse(rtype: Rtype, fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let line = fields.line();
    let data: ZoneRecordData<Vec<u8>, DomainName<Vec<u8>>> =
        ZoneRecordData::scan(rtype, fields).map_err(|complaint: Complaint| complaint.at(line))?;
    data.compose_rdata(out).map_err(|_| Complaint::short_buf().at(line))
}

/// The types that [`parse`] reads.
pub(super) fn knows(rtype: Rtype) -> bool {
    matches!(
        rtype,
        Rtype::CAA
            | Rtype::IPSECKEY
            | Rtype::NAPTR
            | Rtype::NSEC3
            | Rtype::NSEC3PARAM
            | Rtype::OPENPGPKEY
            | Rtype::SSHFP
            | Rtype::TLSA
            | Rtype::ZONEMD
    )
}

/// A byte as `domain` wants to see it: what is not ASCII counts as escaped.
fn symbol(octet: Octet) -> Symbol {
    match (octet.escaped, octet.byte) {
        (false, byte) if byte.is_ascii() => Symbol::Char(char::from(byte)),
        (_, byte) => Symbol::DecimalEscape(byte),
    }
}

impl Fields<'_> {
    fn symbols(&mut self) -> Result<impl Iterator<Item = Result<Symbol, Complaint>>, Complaint> {
        Ok(Unescape::new(self.word()?).map(|octet| octet.map(symbol)))
    }

    fn convert<S: From<Symbol>, C: ConvertSymbols<S, Complaint>>(
        &mut self,
        convert: &mut C,
        out: &mut Vec<u8>,
    ) -> Result<(), Complaint> {
        for symbol in self.symbols()? {
            out.extend(convert.process_symbol(symbol?.into())?.unwrap_or_default());
        }
        Ok(())
    }

    fn owned_octets(&mut self) -> Result<Vec<u8>, Complaint> {
        let mut octets = Vec::new();
        self.octets(&mut octets).map(|()| octets)
    }
}

impl Scanner for Fields<'_> {
    type Octets = Vec<u8>;
    type OctetsBuilder = Vec<u8>;
    type Name = DomainName<Vec<u8>>;
    type Error = Complaint;

    fn has_space(&self) -> bool {
        self.peek().is_some_and(|token| !token.glued)
    }

    fn continues(&mut self) -> bool {
        self.has_more()
    }

    fn scan_symbols<F>(&mut self, op: F) -> Result<(), Complaint>
    where
        F: FnMut(Symbol) -> Result<(), Complaint>,
    {
        let mut op = op;
        self.symbols()?.try_for_each(|symbol| op(symbol?))
    }

    fn scan_entry_symbols<F>(&mut self, mut op: F) -> Result<(), Complaint>
    where
        F: FnMut(EntrySymbol) -> Result<(), Complaint>,
    {
        while self.has_more() {
            self.symbols()?.try_for_each(|symbol| op(symbol?.into()))?;
            op(EntrySymbol::EndOfToken)?;
        }
        Ok(())
    }

    fn convert_token<C: ConvertSymbols<Symbol, Complaint>>(
        &mut self,
        mut convert: C,
    ) -> Result<Vec<u8>, Complaint> {
        let mut out = Vec::new();
        self.convert(&mut convert, &mut out)?;
        out.extend(convert.process_tail()?.unwrap_or_default());
        Ok(out)
    }

    fn convert_entry<C: ConvertSymbols<EntrySymbol, Complaint>>(
        &mut self,
        mut convert: C,
    ) -> Result<Vec<u8>, Complaint> {
        let mut out = Vec::new();
        while self.has_more() {
            self.convert(&mut convert, &mut out)?;
        }
        out.extend(convert.process_tail()?.unwrap_or_default());
        Ok(out)
    }

    fn scan_octets(&mut self) -> Result<Vec<u8>, Complaint> {
        self.owned_octets()
    }

    fn scan_ascii_str<F, T>(&mut self, op: F) -> Result<T, Complaint>
    where
        F: FnOnce(&str) -> Result<T, Complaint>,
    {
        op(self.text()?)
    }

    fn scan_name(&mut self) -> Result<Self::Name, Complaint> {
        let name = self.name()?;
        DomainName::from_octets(name.as_wire().to_vec()).map_err(|_| Complaint::new("not a domain name"))
    }

    fn scan_charstr(&mut self) -> Result<CharStr<Vec<u8>>, Complaint> {
        let line = self.line();
        CharStr::from_octets(self.owned_octets()?)
            .map_err(|_| Complaint::new("the string is longer than 255 bytes; split it in two").at(line))
    }

    fn scan_string(&mut self) -> Result<Str<Vec<u8>>, Complaint> {
        let line = self.line();
        Str::from_utf8(self.owned_octets()?).map_err(|_| Complaint::new("not UTF-8 text").at(line))
    }

    fn scan_charstr_entry(&mut self) -> Result<Vec<u8>, Complaint> {
        let mut out = Vec::new();
        while self.has_more() {
            self.string(&mut out)?;
        }
        Ok(out)
    }

    /// Data in generic form (RFC 3597) has been taken out of the way before.
    fn scan_opt_unknown_marker(&mut self) -> Result<bool, Complaint> {
        Ok(false)
    }

    fn octets_builder(&mut self) -> Result<Vec<u8>, Complaint> {
        Ok(Vec::new())
    }
}
