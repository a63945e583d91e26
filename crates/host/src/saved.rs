//! A host that was saved into a folder: its settings without the host.

use crate::ethtool::Group;
use crate::host::Host;
use evforge_core::whole_file;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files below `files/`, links as files that end in `.link`, what commands print in `commands/`: `ethtool -g eth2` in the file
/// `ethtool_-g_eth2`.
///
/// What is written stays in memory, also by the commands `ethtool -G`, `-C`, `-K`, `systemctl` and `setpci`: a plan can be tried
/// without the host. The folder is not changed.
#[derive(Debug)]
pub struct SavedHost {
    files: RefCell<BTreeMap<PathBuf, String>>,
    links: BTreeMap<PathBuf, String>,
    commands: RefCell<BTreeMap<String, String>>,
}

/// Ends the name of a file that says where a link leads.
pub(crate) const LINK: &str = ".link";
/// Stands in a folder of which only the name was read.
pub(crate) const EMPTY: &str = ".folder";

impl SavedHost {
    /// Reads the folder.
    ///
    /// # Errors
    /// If it cannot be read, or there is no folder `files` in it.
    pub fn read_from(folder: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        if !folder.join("files").is_dir() {
            let text = format!(
                "{} is no saved host: expected a folder `files` in it (evforge doctor --save FOLDER makes one)",
                folder.display()
            );
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        collect(&folder.join("files"), Path::new("/"), &mut files)?;
        let is_link = |path: &PathBuf| path.to_string_lossy().ends_with(LINK);
        let (links, files) = files.into_iter().partition::<BTreeMap<_, _>, _>(|(path, _)| is_link(path));
        let without_end = |(path, target): (PathBuf, String)| {
            (PathBuf::from(path.to_string_lossy().trim_end_matches(LINK)), target.trim().to_owned())
        };
        let mut answers = BTreeMap::new();
        if folder.join("commands").is_dir() {
            collect(&folder.join("commands"), Path::new(""), &mut answers)?;
        }
        let commands =
            answers.into_iter().map(|(name, answer)| (name.to_string_lossy().into_owned(), answer)).collect();
        let links = links.into_iter().map(without_end).collect();
        Ok(Self { files: RefCell::new(files), links, commands: RefCell::new(commands) })
    }
}

/// The name of the file with what a command prints.
pub(crate) fn file_of(command: &[&str]) -> String {
    command.join("_").replace('/', "%")
}

fn collect(folder: &Path, at: &Path, into: &mut BTreeMap<PathBuf, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let place = at.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &place, into)?;
        } else {
            into.insert(place, whole_file::text(&entry.path(), whole_file::SETTINGS)?);
        }
    }
    Ok(())
}

fn missing(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("the saved host has no {what}"))
}

impl Host for SavedHost {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.files
            .borrow()
            .get(path)
            .map(|text| text.trim().to_owned())
            .ok_or_else(|| missing(path.display()))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let files = self.files.borrow();
        let below = |path: &PathBuf| {
            let first = path.strip_prefix(folder).ok()?.components().next()?;
            Some(first.as_os_str().to_string_lossy().into_owned())
        };
        let names: BTreeSet<String> = files.keys().filter_map(below).filter(|name| name != EMPTY).collect();
        if names.is_empty() { Err(missing(folder.display())) } else { Ok(names.into_iter().collect()) }
    }

    fn link(&self, path: &Path) -> io::Result<String> {
        self.links.get(path).cloned().ok_or_else(|| missing(path.display()))
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut files = self.files.borrow_mut();
        let file = files.get_mut(path).ok_or_else(|| missing(path.display()))?;
        text.clone_into(file);
        Ok(())
    }

    fn run(&self, command: &[&str]) -> io::Result<String> {
        let mut commands = self.commands.borrow_mut();
        if let Some(answer) = commands.get(&file_of(command)) {
            // As the command itself: it fails where the service does not run.
            let text = answer.trim();
            let fails = command.get(1) == Some(&"is-active") && text != "active";
            return if fails { Err(io::Error::other(text.to_owned())) } else { Ok(answer.clone()) };
        }
        changed(&mut commands, command).ok_or_else(|| missing(command.join(" ")))
    }
}

/// What a command that changes something does to the answers of the one that shows it.
fn changed(answers: &mut BTreeMap<String, String>, command: &[&str]) -> Option<String> {
    let (shows, name, value) = match command {
        ["ethtool", option, interface, name, value] => {
            let group = Group::ALL.into_iter().find(|group| group.change() == *option)?;
            (file_of(&["ethtool", group.show(), interface]), *name, (*value).to_owned())
        }
        ["systemctl", what @ ("start" | "stop"), service] => {
            let state = if *what == "start" { "active" } else { "inactive" };
            answers.insert(file_of(&["systemctl", "is-active", service]), state.to_owned());
            return Some(String::new());
        }
        ["setpci", "-s", address, change] => {
            let (register, change) = change.split_once('=')?;
            let (value, mask) = change.split_once(':')?;
            let answer = answers.get_mut(&file_of(&["setpci", "-s", address, register]))?;
            let number = |text: &str| u32::from_str_radix(text.trim(), 16).ok();
            let (now, value, mask) = (number(answer)?, number(value)?, number(mask)?);
            *answer = format!("{:04x}", now & !mask | value & mask);
            return Some(String::new());
        }
        _ => return None,
    };
    let answer = answers.get_mut(&shows)?;
    // In a ring's answer the limits come first, under the same names.
    let (limits, now) = answer.split_once("Current hardware settings:").unwrap_or(("", answer));
    let is_it = |line: &str| {
        let of_line =
            line.trim_start().split_once(':').map(|(name, _)| name.to_lowercase().replace(' ', "-"));
        of_line.as_deref() == Some(name)
    };
    let line = now.lines().find(|line| is_it(line))?;
    let (label, rest) = line.split_once(':')?;
    let old = rest.split_whitespace().next()?;
    if line.contains("[fixed]") {
        return None;
    }
    let new = now.replacen(line, &format!("{label}:{}", rest.replacen(old, &value, 1)), 1);
    let heading = if limits.is_empty() { "" } else { "Current hardware settings:" };
    *answer = format!("{limits}{heading}{new}");
    Some(String::new())
}
