//! What has been set in network cards and must be removed, on disk: a file for each helper under way.
//!
//! A file is named after its process and when that was started, so that a process of the same number is not taken for it.
//! [`Journal::clean`] removes what the files of processes that are gone list: the next helper does that when it starts,
//! and `evforge-helper --remove-flow-rules`, for `ExecStopPost=` of a service.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::flow_rule::{Cards, FlowRule, remove_rule};

/// Where the journals are: gone after a restart of the host, as the rules are.
pub(super) const FOLDER: &str = "/run/evforge";
const PREFIX: &str = "flow-rules-";
/// More than this is no journal.
const LONGEST_FILE: u64 = 1 << 20;

/// An entry: a rule that was set, or (`removed`) is gone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    interface: String,
    rule: FlowRule,
    #[serde(default)]
    removed: bool,
}

/// The journal of this process. Its file is there only while rules are set.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: Option<File>,
    open_entries: usize,
}

impl Journal {
    /// The journal of this process in `folder`.
    ///
    /// # Errors
    /// If `/proc` does not tell when this process was started.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let process = std::process::id();
        let started =
            started(process).ok_or_else(|| io::Error::other("/proc does not tell about this process"))?;
        Ok(Self { path: folder.join(format!("{PREFIX}{process}-{started}")), file: None, open_entries: 0 })
    }

    /// Notes a rule that is about to be set.
    pub(super) fn note(&mut self, interface: &str, rule: &FlowRule) -> io::Result<()> {
        self.write(&Entry { interface: interface.to_owned(), rule: *rule, removed: false })?;
        self.open_entries += 1;
        Ok(())
    }

    /// Notes that a rule is gone; with the last one, the file goes.
    pub(super) fn cross_out(&mut self, interface: &str, rule: &FlowRule) -> io::Result<()> {
        self.write(&Entry { interface: interface.to_owned(), rule: *rule, removed: true })?;
        self.open_entries = self.open_entries.saturating_sub(1);
        if self.open_entries == 0 {
            self.file = None;
            fs::remove_file(&self.path)?;
        }
        Ok(())
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let explain = |error: io::Error| {
            let why = format!(
                "the journal {} cannot be written: {error}. The folder must be there and belong to the user: \
                 RuntimeDirectory=evforge in a systemd unit, or: sudo install -d -o \"$USER\" {FOLDER}",
                self.path.display()
            );
            io::Error::new(error.kind(), why)
        };
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.append(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
            self.file = Some(options.open(&self.path).map_err(explain)?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        file.write_all(&line).and_then(|()| file.sync_data()).map_err(explain)
    }

    /// Removes what helpers that are gone have left, as far as `allowed` says that whoever asks might have set it: files in
    /// the folder may be anybody's. Says how many rules there were.
    ///
    /// # Errors
    /// If a card refuses; that journal stays.
    pub(super) fn clean(
        folder: &Path,
        cards: &mut dyn Cards,
        allowed: impl Fn(&str, &FlowRule) -> bool,
    ) -> io::Result<usize> {
        let mut removed = 0;
        let Ok(entries) = fs::read_dir(folder) else { return Ok(0) };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some((process, when)) = name.strip_prefix(PREFIX).and_then(|name| name.split_once('-'))
            else {
                continue;
            };
            let Ok(process) = process.parse::<u32>() else { continue };
            if started(process).is_some_and(|started| started == when) {
                continue;
            }
            for (interface, rule) in left_in(&path)? {
                if allowed(&interface, &rule) {
                    remove_rule(cards, &interface, &rule)?;
                    removed += 1;
                }
            }
            fs::remove_file(&path)?;
        }
        Ok(removed)
    }
}

/// The rules of a journal that were not removed. Lines that were not written whole are of rules that were not set.
fn left_in(path: &Path) -> io::Result<Vec<(String, FlowRule)>> {
    use std::io::Read;
    let mut text = String::new();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    file.take(LONGEST_FILE).read_to_string(&mut text)?;
    let mut left: Vec<(String, FlowRule)> = Vec::new();
    for entry in text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok()) {
        let found =
            left.iter().position(|(interface, rule)| *interface == entry.interface && *rule == entry.rule);
        match (entry.removed, found) {
            (false, None) => left.push((entry.interface, entry.rule)),
            (true, Some(at)) => drop(left.remove(at)),
            _ => {}
        }
    }
    Ok(left)
}

/// When a process was started, in clock ticks since the start of the host; none if it is gone.
fn started(process: u32) -> Option<String> {
    started_in(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

fn started_in(stat: &str) -> Option<String> {
    // The name in field 2 (proc(5)) may have blanks and brackets.
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    // A zombie has ended, though nobody has asked for its status: in a container perhaps nobody ever does.
    fields.next().filter(|state| !matches!(*state, "Z" | "X"))?;
    fields.nth(22 - 4).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::flow_rule::Cards;
    use super::super::flow_rules::FlowRules;
    use super::super::flow_rules::tests::FakeCards;
    use super::*;

    #[test]
    fn what_a_killed_helper_has_left_is_removed_by_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let mut cards = FakeCards { places: 8, ..FakeCards::default() };
        cards.insert("eth2", &FlowRule { ipv6: false, port: 7, queue: 3 }).unwrap();
        let mut journal = Journal::open(folder.path()).unwrap();
        let rules = FlowRules::set(&mut cards, &mut journal, "eth2", &[9000, 9001], &[0], false).unwrap();
        // While this process lives, nothing is touched.
        assert_eq!(Journal::clean(folder.path(), &mut cards, |_, _| true).unwrap(), 0);
        assert_eq!(cards.rules.len(), 3);
        // Killed: nothing is removed, and the file is that of a process which is gone.
        std::mem::forget(rules);
        let gone = folder.path().join(format!("{PREFIX}{}-1", std::process::id()));
        std::fs::rename(&journal.path, &gone).unwrap();
        // Written in part when the power went.
        let mut file = OpenOptions::new().append(true).open(&gone).unwrap();
        file.write_all(b"{\"interface\": \"eth2\", \"ru").unwrap();
        assert_eq!(Journal::clean(folder.path(), &mut cards, |_, _| true).unwrap(), 2);
        assert_eq!(cards.rules.len(), 1, "the rule of somebody else stays");
        assert!(!gone.exists());
    }

    #[test]
    fn a_zombie_has_ended() {
        let stat =
            |state: &str| format!("7 (a) b) {state} 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 1234567 0 0");
        assert_eq!(started_in(&stat("S")).as_deref(), Some("1234567"));
        assert_eq!(started_in(&stat("Z")), None);
        assert!(started(std::process::id()).is_some());
    }

    #[test]
    fn a_forged_journal_removes_nothing_that_its_writer_may_not_set() {
        let folder = tempfile::tempdir().unwrap();
        let mut cards = FakeCards { places: 8, ..FakeCards::default() };
        cards.insert("eth2", &FlowRule { ipv6: false, port: 22, queue: 0 }).unwrap();
        let line = r#"{"interface":"eth2","rule":{"ipv6":false,"port":22,"queue":0}}"#;
        std::fs::write(folder.path().join("flow-rules-1-0"), line).unwrap();
        assert_eq!(Journal::clean(folder.path(), &mut cards, |_, rule| rule.port == 9000).unwrap(), 0);
        assert_eq!(cards.rules.len(), 1);
        std::fs::write(folder.path().join("flow-rules-1-0"), [0xff; 9]).unwrap();
        assert!(Journal::clean(folder.path(), &mut cards, |_, _| true).is_err());
    }
}
