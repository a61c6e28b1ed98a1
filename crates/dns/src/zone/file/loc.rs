//! LOC: a place on Earth (RFC 1876 section 3).
//!
//! ```text
//!   d1 [m1 [s1]] {N|S} d2 [m2 [s2]] {E|W} alt[m] [size[m] [horizontal[m] [vertical[m]]]]
//! ```

use super::error::Complaint;
use super::fields::Fields;

/// The equator and the prime meridian, in thousandths of a second of arc.
const ORIGIN: u32 = 1 << 31;
/// 100,000 m below the reference spheroid, in centimetres.
const ALTITUDE_BASE_CM: i64 = 10_000_000;
/// Size, horizontal and vertical precision when they are not given: 1 m, 10,000 m, 10 m.
const DEFAULTS_CM: [u64; 3] = [100, 1_000_000, 1_000];

pub(super) fn parse(fields: &mut Fields<'_>, out: &mut Vec<u8>) -> Result<(), Complaint> {
    let line = fields.line();
    let latitude = angle(fields, 90, ["N", "S"])?;
    let longitude = angle(fields, 180, ["E", "W"])?;
    let altitude = altitude(fields).map_err(|complaint| complaint.at(line))?;
    out.push(0);
    for default in DEFAULTS_CM {
        out.push(extent(fields, default).map_err(|complaint| complaint.at(line))?);
    }
    for number in [latitude, longitude, altitude] {
        out.extend(number.to_be_bytes());
    }
    Ok(())
}

/// Degrees, minutes and seconds up to the letter of a hemisphere.
fn angle(fields: &mut Fields<'_>, degrees_max: u32, letters: [&str; 2]) -> Result<u32, Complaint> {
    let line = fields.line();
    let wrong = || {
        let [plus, minus] = letters;
        Complaint::new(format!(
            "not degrees [minutes [seconds]] and `{plus}` or `{minus}`, at most {degrees_max}"
        ))
        .at(line)
    };
    let mut parts = Vec::new();
    let negative = loop {
        let text = fields.text()?;
        match letters.iter().position(|letter| letter.eq_ignore_ascii_case(text)) {
            Some(letter) => break letter == 1,
            None if parts.len() < 3 => parts.push(text),
            None => return Err(wrong()),
        }
    };
    let thousandths = thousandths(&parts, degrees_max).ok_or_else(wrong)?;
    Ok(if negative { ORIGIN - thousandths } else { ORIGIN + thousandths })
}

fn thousandths(parts: &[&str], degrees_max: u32) -> Option<u32> {
    let whole = |at: usize| parts.get(at).map_or(Some(0), |text| digits(text));
    let degrees = digits(parts.first()?)?;
    let minutes = whole(1).filter(|minutes| *minutes < 60)?;
    let seconds = parts.get(2).map_or(Some(0), |text| fixed(text, 3)).filter(|seconds| *seconds < 60_000)?;
    let total = degrees.checked_mul(3_600_000)?.checked_add(minutes * 60_000)?.checked_add(seconds)?;
    (total <= u64::from(degrees_max) * 3_600_000).then_some(total as u32)
}

fn altitude(fields: &mut Fields<'_>) -> Result<u32, Complaint> {
    let text = metres(fields.text()?);
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let above_base = |cm: u64| u32::try_from(sign * cm as i64 + ALTITUDE_BASE_CM).ok();
    fixed(size, 2).filter(|cm| *cm <= u64::from(u32::MAX)).and_then(above_base).ok_or_else(|| {
        Complaint::new(format!("`{text}` is not an altitude from -100000.00m to 42849672.95m"))
    })
}

/// A length as mantissa and power of ten, four bits each (RFC 1876 section 2).
fn extent(fields: &mut Fields<'_>, default_cm: u64) -> Result<u8, Complaint> {
    let cm = match fields.has_more() {
        false => default_cm,
        true => {
            let text = metres(fields.text()?);
            let cm = fixed(text, 2).filter(|cm| *cm <= 9_000_000_000);
            cm.ok_or_else(|| Complaint::new(format!("`{text}` is not a length from 0 to 90000000m")))?
        }
    };
    let exponent = cm.checked_ilog10().unwrap_or(0);
    Ok(((cm / 10u64.pow(exponent)) << 4) as u8 | exponent as u8)
}

fn metres(text: &str) -> &str {
    text.strip_suffix(['m', 'M']).unwrap_or(text)
}

/// A decimal number with at most `places` digits behind the point, in units of the last of them.
fn fixed(text: &str, places: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let len = u32::try_from(fraction.len()).ok().filter(|len| (1..=places).contains(len))?;
    let units = digits(whole)?.checked_mul(10u64.pow(places))?;
    units.checked_add(digits(fraction)? * 10u64.pow(places - len))
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}
