//! Times to live as people write them: `3600`, `1h`, `1w2d3h4m5s`, in any case.

/// The seconds that `text` stands for; `None` if it is no time or does not fit.
pub(super) fn parse(text: &[u8]) -> Option<u32> {
    let mut total = 0u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number: u64 = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let (unit, behind) = match rest[digits..].split_first() {
            Some((unit, behind)) => (seconds_in(*unit)?, behind),
            None => (1, &rest[digits..]),
        };
        total = number.checked_mul(unit)?.checked_add(total)?;
        rest = behind;
    }
    u32::try_from(total).ok().filter(|_| !text.is_empty())
}

fn seconds_in(unit: u8) -> Option<u64> {
    Some(match unit.to_ascii_lowercase() {
        b's' => 1,
        b'm' => 60,
        b'h' => 3_600,
        b'd' => 86_400,
        b'w' => 604_800,
        _ => return None,
    })
}
