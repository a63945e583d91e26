//! What a run has left in its folder.

use evforge_stream::nexus::{needs_recovery, recover};
use hdf5_metno::{File, Group};
use std::path::Path;

/// All files, by their contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// Events of CSV files, in the order of their names.
    pub(crate) csv: Vec<(u64, u32)>,
    /// Pixels of NeXus files, in the order of their names, after repair if they need it.
    pub(crate) nexus: Vec<u32>,
    /// Those whose pulse is earlier than the newest one before them.
    pub(crate) nexus_late: Vec<u32>,
    /// Packets of recordings, in the order of their names.
    pub(crate) recorded: Vec<Vec<u8>>,
    /// Whether there is a picture.
    pub(crate) image: bool,
    /// What cannot be read.
    pub(crate) damaged: Vec<String>,
    /// Names of the files.
    pub(crate) names: Vec<String>,
}

impl Left {
    /// Reads a folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let mut left = Self::default();
        let entries = std::fs::read_dir(folder).unwrap();
        left.names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        left.names.sort_unstable();
        for name in left.names.clone() {
            let path = folder.join(&name);
            let bytes = std::fs::metadata(&path).map_or(0, |about| about.len());
            if name.starts_with("events.csv") {
                left.read_csv(&path);
            } else if name.starts_with("packets") && bytes > 0 {
                let read = || evforge_testkit::pcapng::udp_payloads(&std::fs::read(&path).unwrap());
                match std::panic::catch_unwind(read) {
                    Ok(packets) => left.recorded.extend(packets),
                    Err(_) => left.damaged.push(format!("{name} has other than whole blocks")),
                }
            } else if name.starts_with("run") && name.ends_with(".nxs") {
                if let Err(error) = left.read_nexus(&path) {
                    left.damaged.push(format!("{name} of {bytes} bytes: {error}"));
                }
            } else if name == "image.png" {
                left.image = true;
            }
        }
        left
    }

    fn read_csv(&mut self, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap();
        if !text.is_empty() && !text.ends_with('\n') {
            self.damaged.push(format!("{} ends within a line", path.display()));
        }
        for line in text.lines().skip(1) {
            let mut fields = line.split(',').map(str::parse::<u64>);
            match (fields.next(), fields.next()) {
                (Some(Ok(time)), Some(Ok(pixel))) => self.csv.push((time, pixel as u32)),
                _ => self.damaged.push(format!("{}: {line:?}", path.display())),
            }
        }
    }

    fn read_nexus(&mut self, path: &Path) -> Result<(), String> {
        // One that somebody has put there in its place.
        if std::fs::metadata(path).is_ok_and(|about| about.len() == 0) {
            return Ok(());
        }
        if needs_recovery(path).map_err(|error| error.to_string())? {
            recover(path).map_err(|error| error.to_string())?;
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        let instrument = file.group("/entry/instrument").map_err(|error| error.to_string())?;
        for name in instrument.member_names().map_err(|error| error.to_string())? {
            let Ok(group) = instrument.group(&name) else { continue };
            self.read_events(&group, 2).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The events of a group, with late ones, or of the groups in it.
    fn read_events(&mut self, group: &Group, depth: u32) -> hdf5_metno::Result<()> {
        if group.link_exists("event_id") {
            let late = group.group("events_late")?;
            for (group, found) in [(group, &mut self.nexus), (&late, &mut self.nexus_late)] {
                found.extend(group.dataset("event_id")?.read_1d::<i32>()?.iter().map(|&id| id as u32));
            }
        } else if depth > 0 {
            for name in group.member_names()? {
                if let Ok(inner) = group.group(&name) {
                    self.read_events(&inner, depth - 1)?;
                }
            }
        }
        Ok(())
    }
}
