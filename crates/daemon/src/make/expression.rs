//! Names in tcpdump's expressions. libpcap asks the resolver for those of hosts and networks, and the control thread must
//! wait for no name server: they are refused before it sees them. Names of ports and protocols it finds in files (services(5),
//! protocols(5)); these it may.
//!
//! Source: pcap-filter(7).

/// Words of the language that are no names, apart from those that say what kind of name follows.
const WORDS: &[&str] = &[
    "src",
    "dst",
    "ra",
    "ta",
    "addr1",
    "addr2",
    "addr3",
    "addr4",
    "address1",
    "address2",
    "address3",
    "address4",
    "link",
    "ether",
    "ppp",
    "slip",
    "fddi",
    "tr",
    "wlan",
    "arp",
    "rarp",
    "ip",
    "sctp",
    "tcp",
    "udp",
    "icmp",
    "igmp",
    "igrp",
    "pim",
    "vrrp",
    "carp",
    "radio",
    "ip6",
    "icmp6",
    "ah",
    "esp",
    "atalk",
    "aarp",
    "decnet",
    "lat",
    "sca",
    "moprc",
    "mopdl",
    "iso",
    "esis",
    "es-is",
    "isis",
    "is-is",
    "l1",
    "l2",
    "iih",
    "lsp",
    "snp",
    "csnp",
    "psnp",
    "clnp",
    "stp",
    "ipx",
    "netbeui",
    "host",
    "net",
    "mask",
    "gateway",
    "less",
    "greater",
    "byte",
    "broadcast",
    "multicast",
    "len",
    "length",
    "inbound",
    "outbound",
    "ifindex",
    "vlan",
    "mpls",
    "pppoed",
    "pppoes",
    "geneve",
    "vxlan",
    "lane",
    "llc",
    "metac",
    "bcc",
    "oam",
    "oamf4",
    "oamf4ec",
    "oamf4sc",
    "sc",
    "ilmic",
    "vpi",
    "vci",
    "connectmsg",
    "metaconnect",
    "icmptype",
    "icmpcode",
    "icmp6type",
    "icmp6code",
    "tcpflags",
    "i",
    "s",
    "u",
    "rr",
    "rnr",
    "rej",
    "ui",
    "ua",
    "disc",
    "dm",
    "sabme",
    "test",
    "xid",
    "frmr",
];

/// What begins the names of values in headers, such as `tcp-syn`.
const VALUES: &[(&str, &[&str])] = &[
    ("tcp-", &["fin", "syn", "rst", "push", "ack", "urg", "ece", "cwr"]),
    (
        "icmp-",
        &[
            "echoreply",
            "unreach",
            "sourcequench",
            "redirect",
            "echo",
            "routeradvert",
            "routersolicit",
            "timxceed",
            "paramprob",
            "tstamp",
            "tstampreply",
            "ireq",
            "ireqreply",
            "maskreq",
            "maskreply",
        ],
    ),
    (
        "icmp6-",
        &[
            "destinationrunreach",
            "destinationunreach",
            "packettoobig",
            "timeexceeded",
            "parameterproblem",
            "echo",
            "echoreply",
            "multicastlistenerquery",
            "multicastlistenerreportv1",
            "multicastlistenerdone",
            "routersolicit",
            "routeradvert",
            "neighborsolicit",
            "neighboradvert",
            "redirect",
            "routerrenum",
            "nodeinformationquery",
            "nodeinformationresponse",
            "ineighbordiscoverysolicit",
            "ineighbordiscoveryadvert",
            "multicastlistenerreportv2",
            "homeagentdiscoveryrequest",
            "homeagentdiscoveryreply",
            "mobileprefixsolicit",
            "mobileprefixadvert",
            "certpathsolicit",
            "certpathadvert",
            "multicastrouteradvert",
            "multicastroutersolicit",
            "multicastroutertermination",
        ],
    ),
];

/// Words behind which a name is none of a host or network.
const INTRODUCE: &[&str] = &[
    "port",
    "portrange",
    "proto",
    "protochain",
    "type",
    "subtype",
    "dir",
    "direction",
    "on",
    "ifname",
    "rset",
    "ruleset",
    "rulenum",
    "rnum",
    "srnr",
    "subrulenum",
    "reason",
    "action",
];

/// Words that leave open what the next name is of.
const JOIN: &[&str] = &["and", "or", "not"];

/// The first name in `expression` that would have to be looked up.
pub(super) fn name_of_host(expression: &str) -> Option<&str> {
    let mut is_introduced = false;
    for word in words(expression) {
        if INTRODUCE.contains(&word) {
            is_introduced = true;
        } else if WORDS.contains(&word) || word == ")" {
            is_introduced = false;
        } else if is_name(word) && !is_introduced {
            return Some(word);
        }
    }
    None
}

/// Words as libpcap sees them, and closing brackets: behind one, what was introduced is over.
fn words(expression: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    expression.split_inclusive(move |c| !is_part(c)).flat_map(move |piece| {
        let word = piece.trim_end_matches(|c| !is_part(c));
        let end = piece.ends_with(')').then_some(")");
        [Some(word).filter(|word| !word.is_empty()), end].into_iter().flatten()
    })
}

/// Whether it is neither a number, nor an address, nor a word of the language.
fn is_name(word: &str) -> bool {
    let is_value =
        VALUES.iter().any(|(start, ends)| word.strip_prefix(start).is_some_and(|end| ends.contains(&end)));
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let is_number = digits.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
    let hex_count = word.chars().filter(char::is_ascii_hexdigit).count();
    let is_hardware = hex_count + word.matches(['-', '.']).count() == word.len() && hex_count == 12;
    let has_letters = word.chars().any(|c| c.is_ascii_alphabetic());
    has_letters && !word.contains(':') && !is_value && !is_number && !is_hardware && !JOIN.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_numbers_and_the_languages_words_are_no_names() {
        for expression in [
            "",
            "ip and not (udp port 53 or tcp portrange 6000-6008)",
            "host 10.0.0.1 && net 192.0.2.0/24 && dst net 10.1",
            "ip6 host fd77::2 or net 2001:db8::/32",
            "ether host 02:00:00:00:00:01 or ether src 0200.0000.0001 or ether dst 02-00-00-00-00-01",
            "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and icmp[icmptype] != icmp-echo",
            "port http or https and port (domain or ntp)",
            "ip proto \\tcp or ether proto \\ip6 or ip protochain 6",
            "vlan 7 and len > 0x40 and ether[0] & 1 = 0 and ip[2:2] - 20 >= 5",
            "src and dst port 53",
        ] {
            assert_eq!(name_of_host(expression), None, "{expression}");
        }
    }

    #[test]
    fn names_of_hosts_and_networks_are_found_wherever_they_stand() {
        for (expression, name) in [
            ("host www.example.org", "www.example.org"),
            ("port 80 and src gateway-1", "gateway-1"),
            ("example", "example"),
            ("not cafe", "cafe"),
            ("net backbone", "backbone"),
            ("(port 80) or somewhere", "somewhere"),
            ("port http and host a_b", "a_b"),
            ("gateway router", "router"),
            ("tcp and tcp-host", "tcp-host"),
            ("udp port 53 and ip host 10.0.0.1 or there", "there"),
            ("host 10.0.0.1or host b", "10.0.0.1or"),
        ] {
            assert_eq!(name_of_host(expression), Some(name), "{expression}");
        }
    }
}
