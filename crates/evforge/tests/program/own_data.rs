//! The captures of this repository (`data/`) are what their README says: made by its commands, to the last bit; one for every
//! shipped configuration that can be simulated; and small.

use crate::common::{PROGRAM, text, workspace};
use evforge_core::packet::PacketSlab;
use evforge_net::capture::{CaptureReader, Fill};
use evforge_testkit::own_data::{capture_names, capture_path, configuration_path, data_folder, table_path};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// All of `data/` together.
const LARGEST: u64 = 2_600_000;

/// The commands of the README that make captures, without the name of the program.
fn commands() -> Vec<Vec<String>> {
    let readme = std::fs::read_to_string(data_folder().join("README.md")).expect("data/README.md");
    let commands = readme.lines().filter_map(|line| line.strip_prefix("evforge simulate "));
    commands.map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

/// Every packet with its arrival and its addresses: all of a capture but the version of the program that wrote it.
fn packets(path: &Path) -> Vec<String> {
    let mut reader = CaptureReader::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut slab = PacketSlab::new(10_000, 2 << 20);
    assert_eq!(reader.fill(&mut slab).expect("packets"), Fill::End, "{}", path.display());
    slab.batch().iter().map(|packet| format!("{:?} {:?}", packet.origin, packet.bytes)).collect()
}

#[test]
fn the_commands_of_the_readme_make_the_captures_and_their_truth() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(workspace().join("configs"), folder.path().join("configs")).expect("a link");
    std::fs::create_dir_all(folder.path().join("data/truth")).expect("a folder");
    let mut made = BTreeSet::new();
    for arguments in commands() {
        let mut command = Command::new(PROGRAM);
        let output =
            command.arg("simulate").args(&arguments).current_dir(&folder).output().expect("it starts");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    }
    for name in capture_names() {
        let remade = folder.path().join(format!("data/{name}.pcapng"));
        assert!(remade.exists(), "no command of data/README.md makes {name}.pcapng");
        let (found, expected) = (packets(&remade), packets(&capture_path(&name)));
        let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!((differs, found.len()), (None, expected.len()), "{name}: the first packet that differs");
        let [found, expected] =
            [folder.path().join(format!("data/truth/{name}.csv")), table_path("truth", &name)].map(|path| {
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            });
        assert!(found == expected, "{name}: another truth");
        made.insert(name);
    }
    assert_eq!(made.len(), commands().len(), "commands whose capture is not in data/");
}

#[test]
fn every_configuration_that_can_be_simulated_has_a_capture() {
    let names: BTreeSet<_> = capture_names().into_iter().collect();
    assert!(names.iter().all(|name| configuration_path(name).exists()), "{names:?}");
    let readme = std::fs::read_to_string(data_folder().join("README.md")).expect("data/README.md");
    let folder = tempfile::tempdir().expect("a folder");
    for entry in std::fs::read_dir(workspace().join("configs")).expect("the shipped configurations") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        if path.extension().is_none_or(|extension| extension != "toml") || names.contains(&name) {
            continue;
        }
        let mut simulate = Command::new(PROGRAM);
        simulate.args(["simulate", "--pulses", "1", "--config"]).arg(&path).arg("--output");
        let output = simulate.arg(folder.path().join("simulated.pcapng")).output().expect("it starts");
        let said = text(&output.stderr);
        assert!(said.contains("cannot be simulated"), "{name} can be simulated, so data/ needs it: {said}");
        assert!(readme.contains(&format!("`{name}`")), "data/README.md does not say that there is no {name}");
    }
}

#[test]
fn the_folder_is_small_and_has_nothing_else() {
    let names = capture_names();
    let mut known: BTreeSet<_> = names.iter().map(|name| capture_path(name)).collect();
    known.insert(data_folder().join("README.md"));
    for kind in ["truth", "events", "counters"] {
        known.extend(names.iter().map(|name| table_path(kind, name)));
    }
    let folders = [data_folder()]
        .into_iter()
        .chain(["truth", "events", "counters"].map(|kind| data_folder().join(kind)));
    let mut bytes = 0;
    for folder in folders {
        for entry in std::fs::read_dir(&folder).expect("a folder of data/") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                bytes += path.metadata().expect("a size").len();
                assert!(known.remove(&path), "{} belongs to no capture", path.display());
            }
        }
    }
    assert!(known.is_empty(), "missing: {known:?}");
    assert!(bytes < LARGEST, "{bytes} bytes");
    let readme = std::fs::read_to_string(data_folder().join("README.md")).expect("data/README.md");
    let missing: Vec<_> = names.iter().filter(|name| !readme.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "data/README.md does not say what these are: {missing:?}");
}
