//! Single packets of the Multi-Grid demonstrator at CNCS.

use evforge_wire::cncs::{GROUP_BYTES, GroupEncoder, LARGEST_VALUE, groups};

/// Finds the groups in `bytes` and encodes them again.
///
/// # Panics
/// If a byte is unaccounted for or a group changes on the way.
pub fn cncs(bytes: &[u8]) {
    let mut found = groups(bytes);
    let (mut list, mut encoder) = (Vec::new(), GroupEncoder::default());
    encoder.begin();
    while let Some(group) = found.next() {
        assert!(group.values.iter().all(|&value| value <= LARGEST_VALUE) && group.time < 1 << 30);
        if encoder.push(&group) {
            list.push(group);
        }
        let taken = bytes.len() - found.bytes_left();
        assert!(found.error_bytes() <= taken, "more errors than bytes");
    }
    assert_eq!(found.bytes_left(), 0, "bytes were not looked at");
    let count = groups(bytes).count();
    assert_eq!(count * GROUP_BYTES + found.error_bytes(), bytes.len());
    let again: Vec<_> = groups(encoder.packet()).collect();
    assert_eq!(again, list, "groups changed on the way");
}
