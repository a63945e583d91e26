//! Streaming readout of ISIS.

use crate::content::IsisContent;

pub(super) fn body<'a>(contents: impl Iterator<Item = &'a IsisContent>) -> Result<Vec<String>, String> {
    let (mut versions, mut has_events) = ([false; 2], false);
    for content in contents {
        versions = [0, 1].map(|version| versions[version] || content.versions()[version]);
        has_events |= content.has_events();
    }
    if !has_events {
        return Err("there are frames without events only, so that no detector is known".to_owned());
    }
    let format = match versions {
        [true, false] => "v1",
        [false, _] => "v2",
        [true, true] => "auto",
    };
    let wiring = if versions[0] {
        "# UNKNOWN: what is wired to which address; messages of version 1 do not tell.\nwiring = \"wiring.csv\"\n"
    } else {
        ""
    };
    Ok(vec![format!("[isis]\nformat = \"{format}\"\n{wiring}")])
}
