//! The packages: units, maintainer scripts and what is installed fit together. What they do once they are installed is
//! tested by `make package-test`, in a system of its own.

mod program_check;
mod units;

use evforge_net::helper::Helper;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the workspace.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Files of the package: where each comes from, and where it goes.
fn assets() -> Vec<(String, String)> {
    let manifest: toml::Value = toml::from_str(&read("crates/evforge/Cargo.toml")).expect("a manifest");
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().expect("a list").clone();
    let text = |value: &toml::Value| value.as_str().expect("text").to_owned();
    assets.iter().map(|asset| (text(&asset[0]), text(&asset[1]))).collect()
}

#[test]
fn maintainer_scripts_are_scripts_and_give_the_helper_its_capabilities() {
    for name in ["postinst", "prerm", "postrm"] {
        let path = workspace().join("packaging/debian").join(name);
        assert!(Command::new("sh").arg("-n").arg(&path).status().unwrap().success(), "{name}");
        let script = read(&format!("packaging/debian/{name}"));
        assert!(script.starts_with("#!/bin/sh\n") && script.contains("\nset -e\n"), "{name}");
    }
    let wanted = Helper::install_command();
    let wanted = wanted.split(' ').nth(2).expect("sudo setcap CAPABILITIES FILE");
    assert!(read("packaging/debian/postinst").contains(&format!("\ncapabilities={wanted}\n")), "{wanted}");
}

#[test]
fn what_units_and_scripts_name_is_installed() {
    let assets = assets();
    let is_installed = |path: &str| {
        let (folder, name) = path.trim_start_matches('/').rsplit_once('/').expect("an absolute path");
        assets
            .iter()
            .any(|(from, to)| to.trim_end_matches('/') == folder && from.ends_with(&format!("/{name}")))
    };
    assert!(!is_installed("/usr/bin/evforge-helper"));
    for path in ["/usr/bin/evforge", "/usr/libexec/evforge-helper", "/etc/evforge/helper.toml"] {
        assert!(is_installed(path), "{path} is in no asset: {assets:?}");
    }
    for unit in units::ALL {
        for program in units::programs(&read(&format!("packaging/systemd/{unit}"))) {
            assert!(is_installed(&program), "{unit}: {program} is in no asset: {assets:?}");
        }
    }
    for (from, to) in &assets {
        let from = from.strip_prefix("../../").expect("below the workspace");
        // What is not made by `make package` is there.
        if !from.starts_with("target/") {
            let folder = workspace().join(from).parent().expect("a folder").to_owned();
            assert!(folder.is_dir(), "{from} -> {to}");
        }
    }
}

#[test]
fn the_rules_that_are_shipped_allow_nothing_and_their_example_is_right() {
    let rules = read("packaging/helper.toml");
    assert_eq!(evforge_net::helper::check_rules(&rules), Ok(0));
    let example: String = rules
        .lines()
        .skip_while(|line| *line != "# [[allow]]")
        .map(|line| format!("{}\n", line.trim_start_matches("# ")))
        .collect();
    assert_eq!(evforge_net::helper::check_rules(&example), Ok(1), "{example}");
}
