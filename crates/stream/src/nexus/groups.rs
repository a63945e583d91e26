//! The groups of a NeXus file by their class.

use crate::storage::text::readable;
use hdf5_metno::types::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};
use hdf5_metno::{Group, Location};

/// The class of groups of events.
pub(super) const EVENT_DATA: &str = "NXevent_data";
/// In each group of events: the group of those whose pulse is earlier than the newest one before them.
pub const EVENTS_LATE: &str = "events_late";
/// What such a group says of itself.
pub const EVENTS_LATE_NOTE: &str =
    "events that came after a later pulse, in the order in which they came: they are in no other group";

/// The class of detectors.
pub(super) const DETECTOR: &str = "NXdetector";
/// The class of beam monitors.
pub(super) const MONITOR: &str = "NXmonitor";

/// The class of values over time.
pub(super) const LOG: &str = "NXlog";

/// How deep groups are looked into, how many are found, and how many are looked at: links of a file may lead in circles.
const DEEPEST: usize = 8;
const MOST_FOUND: usize = 10_000;
const MOST_LOOKED_AT: usize = 200_000;

/// A group of one of the classes that were asked for.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) group: Group,
    pub(super) name: String,
    pub(super) class: String,
    /// The group that it is in.
    pub(super) parent: String,
    pub(super) parent_class: String,
}

impl Found {
    /// What data in it are of: the detector or monitor that it is in, or the group itself.
    pub(super) fn owner(&self) -> String {
        match [DETECTOR, MONITOR].contains(&self.parent_class.as_str()) {
            true => self.parent.clone(),
            false => self.name.clone(),
        }
    }
}

/// All groups of these classes, each once, by whatever links it can be reached.
pub(super) fn find(file: &Group, classes: &[&str]) -> Vec<Found> {
    let mut search = Search { classes, found: Vec::new(), known: Vec::new(), looked_at: 0 };
    search.below(file, "", "", 0);
    search.found
}

struct Search<'a> {
    classes: &'a [&'a str],
    found: Vec<Found>,
    /// What the groups that were found are in the file: device and place.
    known: Vec<(u64, hdf5_metno::LocationToken)>,
    looked_at: usize,
}

impl Search<'_> {
    fn below(&mut self, group: &Group, name: &str, class: &str, depth: usize) {
        for inner_name in group.member_names().unwrap_or_default() {
            // What cannot be opened is a dataset, or a link that leads nowhere.
            let Ok(inner) = group.group(&inner_name) else { continue };
            self.looked_at += 1;
            if self.found.len() >= MOST_FOUND || self.looked_at > MOST_LOOKED_AT {
                return;
            }
            let inner_class = text_attribute(&inner, "NX_class").unwrap_or_default();
            if depth < DEEPEST && inner_class != EVENT_DATA {
                self.below(&inner, &readable(inner_name.as_bytes()), &inner_class, depth + 1);
            }
            if self.classes.contains(&inner_class.as_str()) && self.is_new(&inner) {
                self.found.push(Found {
                    group: inner,
                    name: readable(inner_name.as_bytes()),
                    class: inner_class,
                    parent: name.to_owned(),
                    parent_class: class.to_owned(),
                });
            }
        }
    }

    fn is_new(&mut self, group: &Group) -> bool {
        let Ok(about) = group.loc_info() else { return true };
        let place = (about.fileno, about.token);
        let is_new = !self.known.contains(&place);
        if is_new {
            self.known.push(place);
        }
        is_new
    }
}

/// The text of an attribute, of fixed or variable length.
pub(super) fn text_attribute(location: &Location, name: &str) -> Option<String> {
    let attribute = location.attr(name).ok()?;
    let text = attribute.read_scalar::<VarLenUnicode>().map(|text| readable(text.as_bytes()));
    text.or_else(|_| attribute.read_scalar::<VarLenAscii>().map(|text| readable(text.as_bytes())))
        .or_else(|_| attribute.read_scalar::<FixedUnicode<256>>().map(|text| readable(text.as_bytes())))
        .or_else(|_| attribute.read_scalar::<FixedAscii<256>>().map(|text| readable(text.as_bytes())))
        .ok()
}
