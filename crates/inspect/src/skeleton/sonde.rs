//! SoNDe: a group for each sender, a module for each system.

use crate::content::Content;
use crate::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;

/// Pixels of a module's side.
const SIDE: usize = 8;

pub(super) fn body(streams: &[&Stream]) -> Result<Vec<String>, String> {
    let mut groups: BTreeMap<IpAddr, BTreeSet<u8>> = BTreeMap::new();
    for stream in streams {
        if let Content::Sonde(content) = &stream.content {
            groups.entry(stream.key.source).or_default().extend(content.systems());
        }
    }
    let most = groups.values().map(BTreeSet::len).max().unwrap_or(0);
    if most == 0 {
        return Err("there are no packets of a module".to_owned());
    }
    let mut entries = String::new();
    for (row, (address, systems)) in groups.iter().enumerate() {
        let modules = systems
            .iter()
            .enumerate()
            .map(|(place, system)| format!("{{ system = {system}, x = {}, y = 0 }}", SIDE * place));
        // The file does not say who sent: then all modules are of one group.
        let address =
            if address.is_unspecified() { String::new() } else { format!("address = \"{address}\", ") };
        // Writing to a string cannot fail.
        let _ = writeln!(
            entries,
            "    {{ {address}x = 0, y = {}, modules = [{}] }},",
            SIDE * row,
            modules.collect::<Vec<_>>().join(", ")
        );
    }
    Ok(vec![format!(
        "[sonde]\ngeometry = {{ nx = {}, ny = {} }}\n\
         clock = \"extended\"              # UNKNOWN: the length of a tick (tick = \"10ns\")\n\
         modules = []\n\
         # UNKNOWN: where groups and modules are: a row for each sender, its systems in order.\n\
         groups = [\n{entries}]\n",
        SIDE * most,
        SIDE * groups.len()
    )])
}
