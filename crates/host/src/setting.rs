//! The settings of one host: the rows of the table, with their places, their values now, and what is wanted.

use crate::host::Host;
use crate::interrupts;
use crate::needs::HostNeeds;
use crate::place::{Place, Reading};
use crate::profile::Profile;
use crate::rows::{At, Context, Row, all};
use crate::wanted::Wanted;
use std::path::{Path, PathBuf};

/// A setting of this host.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its line in the table.
    pub row: &'static Row,
    /// The interface that it belongs to.
    pub interface: Option<String>,
    /// Where it is.
    pub place: Place,
    /// Its value now.
    pub reading: Reading,
    /// What it should be, if anything.
    pub wanted: Option<Wanted>,
}

impl Setting {
    /// True if something is wanted, and the value is another.
    pub fn is_wrong(&self) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| !wanted.is_met_by(&self.reading.now))
    }

    /// The value to set in the place of the one there is: what is wanted, and no more than there can be.
    pub fn value(&self) -> Option<String> {
        let value = self.wanted.as_ref()?.value(&self.reading.now);
        Some(match (value.parse::<u64>(), self.reading.most) {
            (Ok(number), Some(most)) => number.min(most).to_string(),
            _ => value,
        })
    }
}

/// All settings that this host has, with what the profile wants of them.
pub fn settings(host: &dyn Host, needs: &HostNeeds, profile: Profile) -> Vec<Setting> {
    let mut found = Vec::new();
    for row in all() {
        for interface in of_interfaces(row, needs) {
            for place in places(host, row, interface) {
                // What cannot be read is as if it were not there: other programs may lack the right to look, too.
                let Ok(Some(reading)) = place.read(host) else { continue };
                let context = Context { needs, interface, place: &place, reading: &reading, host };
                let wanted = row.wanted(profile, &context);
                let interface = interface.map(str::to_owned);
                found.push(Setting { row, interface, place, reading, wanted });
            }
        }
    }
    found
}

/// The interfaces for which there is such a setting; one `None` for settings of the host.
fn of_interfaces<'a>(row: &Row, needs: &'a HostNeeds) -> Vec<Option<&'a str>> {
    if row.at.is_of_an_interface() {
        needs.interfaces.iter().map(|interface| Some(interface.as_str())).collect()
    } else {
        vec![None]
    }
}

fn places(host: &dyn Host, row: &Row, interface: Option<&str>) -> Vec<Place> {
    let name = interface.unwrap_or_default().to_owned();
    let of_link = Path::new("/sys/class/net").join(&name);
    let each = |folder: PathBuf, begins: &str, file: &str| {
        let is_one = |entry: &String| {
            entry
                .strip_prefix(begins)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let mut entries: Vec<_> = host.list(&folder).unwrap_or_default().into_iter().filter(is_one).collect();
        // cpu2 before cpu10.
        entries.sort_by_key(|entry| (entry.len(), entry.clone()));
        entries.into_iter().map(|entry| Place::File(folder.join(entry).join(file))).collect()
    };
    match row.at {
        At::Sysctl(path) => vec![Place::File(Path::new("/proc/sys").join(path))],
        At::Link(file) => vec![Place::File(of_link.join(file))],
        At::Ethtool(group, value) => vec![Place::Ethtool { group, interface: name, name: value.to_owned() }],
        At::EachQueue(file) => each(of_link.join("queues"), "rx-", file),
        At::EachCore(file) => each(PathBuf::from("/sys/devices/system/cpu"), "cpu", file),
        At::EachInterrupt => interrupts::numbers(host, &name)
            .into_iter()
            .map(|number| Place::File(interrupts::folder(number).join("smp_affinity_list")))
            .collect(),
        At::Service(service) => vec![Place::Service(service.to_owned())],
        At::PciReadRequest => host
            .link(&of_link.join("device"))
            .ok()
            .filter(|address| address.contains(':'))
            .map(Place::PciReadRequest)
            .into_iter()
            .collect(),
    }
}
