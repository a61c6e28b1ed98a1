//! Secrets, from the files that they are kept in.

use super::{CookieConfig, KeyConfig};
use domain::utils::base64;
use std::fs;

/// A server secret of cookies (RFC 9018 section 4.4: 128 bits for SipHash-2-4).
pub type CookieSecret = [u8; 16];

impl KeyConfig {
    /// The secret's bytes, or what is wrong with it.
    pub fn secret_bytes(&self) -> Result<Vec<u8>, String> {
        let text = match (&self.secret, &self.secret_file) {
            (Some(text), _) => text.clone(),
            (None, Some(file)) => fs::read_to_string(file)
                .map_err(|error| format!("secret_file {}: {error}", file.display()))?,
            (None, None) => return Err("no secret".to_owned()),
        };
        match base64::decode::<Vec<u8>>(text.trim()) {
            Ok(bytes) if bytes.is_empty() => Err("the secret is empty".to_owned()),
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(format!("the secret is no base64: {error}")),
        }
    }
}

impl CookieConfig {
    /// The shared secrets, the one that signs first; none if they are not shared.
    pub fn secrets(&self) -> Result<Vec<CookieSecret>, String> {
        let Some(file) = &self.secrets else { return Ok(Vec::new()) };
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let secrets: Vec<CookieSecret> = lines
            .map(|(number, line)| {
                hexadecimal(line)
                    .ok_or_else(|| format!("{}:{number}: write 32 hexadecimal digits a line", file.display()))
            })
            .collect::<Result<_, _>>()?;
        match secrets.is_empty() {
            true => Err(format!("{}: no secret in it: write 32 hexadecimal digits", file.display())),
            false => Ok(secrets),
        }
    }
}

fn hexadecimal(text: &str) -> Option<CookieSecret> {
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 16];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}
