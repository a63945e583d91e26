//! Where packets were lost, for findings.

use evforge_core::quantity::grouped;
use std::collections::BTreeMap;

/// Lost packets of all parts of a measurement by location, as a sentence; none if none was lost.
pub(crate) fn lost_by_location<'a>(
    parts: impl IntoIterator<Item = &'a BTreeMap<String, u64>>,
) -> Option<String> {
    let mut all = BTreeMap::<&str, u64>::new();
    for (location, packets) in parts.into_iter().flatten() {
        let known = all.entry(location).or_default();
        *known = known.saturating_add(*packets);
    }
    let each: Vec<String> =
        all.iter().map(|(location, packets)| format!("{} {location}", grouped(*packets))).collect();
    (!each.is_empty()).then(|| format!("Lost packets by location: {}.", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_added_up_by_location() {
        let part = |packets| BTreeMap::from([("socket buffer".to_owned(), packets), ("link".to_owned(), 1)]);
        let said = lost_by_location([&part(1500), &part(2)]);
        assert_eq!(said.as_deref(), Some("Lost packets by location: 2 link, 1 502 socket buffer."));
        assert_eq!(lost_by_location([&BTreeMap::new()]), None);
    }
}
