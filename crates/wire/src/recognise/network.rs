//! Protocols that are on every instrument's network and are no detector's: EPICS, names, clocks, addresses.
//!
//! Each has a port of its own and something to know it by; both must agree.

/// Channel Access: commands of its 16-byte header that go by UDP.
const CHANNEL_ACCESS: [(u16, &str); 4] = [
    (0, "EPICS Channel Access (version)"),
    (6, "EPICS Channel Access (search)"),
    (13, "EPICS Channel Access (beacon)"),
    (17, "EPICS Channel Access (repeater)"),
];

/// What a packet of such a protocol is called; none if it is of none.
pub fn network_protocol(bytes: &[u8], port: u16) -> Option<&'static str> {
    let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    match port {
        5064 | 5065 if bytes.len() >= 16 && bytes.len().is_multiple_of(8) => {
            let command = word(0)?;
            CHANNEL_ACCESS.iter().find(|(known, _)| *known == command).map(|(_, name)| *name)
        }
        5075 | 5076 => (bytes.len() >= 8 && bytes[0] == 0xCA).then_some("EPICS pvAccess"),
        5353 => (bytes.len() >= 12 && word(4)?.max(word(6)?) <= 64).then_some("multicast DNS"),
        53 => (bytes.len() >= 12 && word(4)? == 1).then_some("DNS"),
        67 | 68 => (bytes.get(236..240)? == [0x63, 0x82, 0x53, 0x63]).then_some("DHCP"),
        123 => (bytes.len() >= 48 && (1..=4).contains(&(bytes[0] >> 3 & 7))).then_some("NTP"),
        319 | 320 => (bytes.len() >= 34 && bytes[1] & 0x0F == 2).then_some("PTP"),
        1900 => {
            let begins = |text: &str| bytes.starts_with(text.as_bytes());
            (begins("M-SEARCH ") || begins("NOTIFY ") || begins("HTTP/1.1")).then_some("SSDP")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_of_the_network_are_known_by_port_and_content() {
        let mut beacon = [0_u8; 16];
        beacon[1] = 13;
        let mut dhcp = [0_u8; 300];
        dhcp[236..240].copy_from_slice(&[0x63, 0x82, 0x53, 0x63]);
        let ntp = [0x1B_u8; 48];
        for (bytes, port, expected) in [
            (&beacon[..], 5065, Some("EPICS Channel Access (beacon)")),
            (&beacon[..15], 5065, None),
            (&beacon[..], 9000, None),
            (&[0xCA, 2, 0, 0, 0, 0, 0, 0][..], 5076, Some("EPICS pvAccess")),
            (&[0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0][..], 5353, Some("multicast DNS")),
            (&[0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], 53, Some("DNS")),
            (&dhcp[..], 67, Some("DHCP")),
            (&dhcp[..200], 67, None),
            (&ntp[..], 123, Some("NTP")),
            (&[0x10, 0x02, 0, 44].repeat(11)[..], 320, Some("PTP")),
            (b"M-SEARCH * HTTP/1.1\r\n", 1900, Some("SSDP")),
            (b"", 5353, None),
        ] {
            assert_eq!(network_protocol(bytes, port), expected, "port {port}");
        }
    }
}
