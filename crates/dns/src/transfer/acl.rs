//! Who may do something: by address, by key, or by both.

use crate::name::{Name, NameBuf};
use std::net::IpAddr;

/// One kind of peer that is let in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// From where: an address of the network and how many leading bits count. None: from anywhere.
    pub network: Option<(IpAddr, u8)>,
    /// Signed with which key. None: signed or not.
    pub key: Option<NameBuf>,
}

/// All that are let in; nobody, if there is no rule.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Acl(Vec<Rule>);

impl Acl {
    /// Whether a peer at `address`, whose message was rightly signed with `key`, is let in.
    pub fn admits(&self, address: IpAddr, key: Option<&Name>) -> bool {
        self.0.iter().any(|rule| rule.admits(address, key))
    }
}

impl FromIterator<Rule> for Acl {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self(rules.into_iter().collect())
    }
}

impl Rule {
    fn admits(&self, address: IpAddr, key: Option<&Name>) -> bool {
        let is_there = self.network.is_none_or(|(network, len)| contains(network, len, address));
        let is_signed = self.key.as_deref().is_none_or(|wanted| key.is_some_and(|key| key == wanted));
        is_there && is_signed
    }
}

/// Whether `address` shares its first `len` bits with `network`; an IPv4-mapped one counts as IPv4.
fn contains(network: IpAddr, len: u8, address: IpAddr) -> bool {
    let differing = match (network.to_canonical(), address.to_canonical()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u32::from(a) ^ u32::from(b)).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(a) ^ u128::from(b)).leading_zeros(),
        _ => return false,
    };
    differing >= u32::from(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network and a key.
    type Written<'a> = (Option<(&'a str, u8)>, Option<&'a str>);

    fn acl(rules: &[Written<'_>]) -> Acl {
        let rule = |(network, key): &Written<'_>| Rule {
            network: network.map(|(address, len)| (address.parse().unwrap(), len)),
            key: key.map(|key| key.parse().unwrap()),
        };
        rules.iter().map(rule).collect()
    }

    fn admits(acl: &Acl, address: &str, key: Option<&str>) -> bool {
        let key: Option<NameBuf> = key.map(|key| key.parse().unwrap());
        acl.admits(address.parse().unwrap(), key.as_deref())
    }

    #[test]
    fn nobody_is_let_in_by_no_rule() {
        assert!(!admits(&Acl::default(), "192.0.2.1", Some("key.")));
    }

    #[test]
    fn a_network_is_its_leading_bits() {
        let acl = acl(&[(Some(("192.0.2.128", 25)), None), (Some(("2001:db8::", 32)), None)]);
        assert!(admits(&acl, "192.0.2.129", None));
        assert!(admits(&acl, "::ffff:192.0.2.129", None));
        assert!(!admits(&acl, "192.0.2.127", None));
        assert!(admits(&acl, "2001:db8:ffff::1", None));
        assert!(!admits(&acl, "2001:db9::", None));
        assert!(!admits(&acl, "::", None));
    }

    #[test]
    fn a_rule_with_network_and_key_wants_both() {
        let acl = acl(&[(Some(("192.0.2.0", 24)), Some("transfer.")), (None, Some("other."))]);
        assert!(admits(&acl, "192.0.2.1", Some("TRANSFER.")));
        assert!(!admits(&acl, "192.0.2.1", None));
        assert!(!admits(&acl, "198.51.100.1", Some("transfer.")));
        assert!(admits(&acl, "198.51.100.1", Some("other.")));
    }

    #[test]
    fn a_network_of_no_bits_is_a_whole_family() {
        let acl = acl(&[(Some(("0.0.0.0", 0)), None)]);
        assert!(admits(&acl, "203.0.113.9", None));
        assert!(!admits(&acl, "2001:db8::1", None));
    }
}
