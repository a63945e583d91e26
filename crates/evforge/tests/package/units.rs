//! The units of systemd, as systemd judges them.

use super::read;
use std::path::Path;
use std::process::Command;

/// All that are installed.
pub(super) const ALL: [&str; 2] = ["evforge@.service", "evforge-write@.service"];

/// The programs that a unit starts.
pub(super) fn programs(unit: &str) -> Vec<String> {
    let commands = unit.lines().filter(|line| line.starts_with("Exec"));
    let command =
        |line: &str| line.split_once('=').map(|(_, command)| command.trim_start_matches('+').to_owned());
    let programs = commands.filter_map(command);
    programs.map(|command| command.split(' ').next().unwrap_or_default().to_owned()).collect()
}

fn is_there() -> bool {
    Command::new("systemd-analyze").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// What systemd finds wrong with a unit; its programs are others, which are there.
fn findings(folder: &Path, name: &str, unit: &str) -> String {
    let mut unit = unit.to_owned();
    for program in programs(&unit) {
        unit = unit.replace(&program, "/bin/true");
    }
    std::fs::write(folder.join(name), unit).expect("a file");
    let instance = folder.join(name.replace('@', "@example"));
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .arg(instance)
        .output()
        .expect("systemd-analyze");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || !said.is_empty(), "systemd-analyze fails without a word");
    said
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    if !is_there() {
        evforge_testkit::skip("systemd_finds_nothing_wrong_with_the_units", "systemd-analyze (systemd)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ALL {
        let unit = read(&format!("packaging/systemd/{name}"));
        assert_eq!(findings(folder.path(), name, &unit), "", "{name}");
        // It would find a key that is none.
        let wrong = unit.replace("\nRestart=on-failure\n", "\nRestart=at-times\n");
        assert_ne!(wrong, unit);
        assert!(findings(folder.path(), name, &wrong).contains("at-times"), "{name}");
    }
}

#[test]
fn services_are_confined() {
    if !is_there() {
        evforge_testkit::skip("services_are_confined", "systemd-analyze (systemd)");
        return;
    }
    // Of 10, which is a service without any protection. The helper's capabilities cost the first one its points.
    for (name, at_most) in [("evforge@.service", "30"), ("evforge-write@.service", "20")] {
        let path = super::workspace().join("packaging/systemd").join(name);
        let analyse = |threshold: &str| {
            Command::new("systemd-analyze")
                .args(["security", "--no-pager", "--offline=true", &format!("--threshold={threshold}")])
                .arg(&path)
                .output()
                .expect("systemd-analyze")
        };
        let output = analyse(at_most);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(!analyse("1").status.success(), "{name}: the threshold decides nothing");
    }
}

#[test]
fn the_unit_passes_on_what_the_helper_can_use() {
    let unit = read("packaging/systemd/evforge@.service");
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let wanted = evforge_net::helper::Helper::install_command().to_uppercase();
    let wanted = wanted.split(' ').nth(2).and_then(|capabilities| capabilities.split('=').next());
    let wanted = wanted.map(|capabilities| capabilities.replace(',', " "));
    assert_eq!(value("AmbientCapabilities"), wanted.as_deref());
    // Less than the file of the helper has would keep the kernel from executing it.
    assert_eq!(value("CapabilityBoundingSet"), wanted.as_deref());
}
