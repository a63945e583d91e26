//! `evforge tune` and `evforge doctor` on real interfaces, in network namespaces. Need root.

use crate::common::wire::{INTERFACE, Wire, ip};
use crate::common::{PROGRAM, text, workspace};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn at(namespace: &str, program: &str, arguments: &[&str]) -> Output {
    Wire::at(namespace, program).args(arguments).output().expect("ip is there")
}

fn shell(wire: &Wire, script: &str) -> String {
    let output = at(&wire.receiver, "sh", &["-c", script]);
    assert!(output.status.success(), "{script}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Everything that is to be as it was.
fn settings(wire: &Wire) -> String {
    shell(
        wire,
        &format!(
            "cd /sys/class/net/{INTERFACE}; cat mtu tx_queue_len queues/*/rps_cpus; ethtool -k {INTERFACE}"
        ),
    )
}

fn tune(wire: &Wire, journal: &Path, arguments: &[&str]) -> Output {
    let journal = journal.to_str().expect("text");
    let all = [&["tune", "--interface", INTERFACE, "--journal", journal], arguments].concat();
    at(&wire.receiver, PROGRAM, &all)
}

#[test]
fn what_is_tuned_is_as_wanted_and_what_is_reverted_is_as_before_on_a_real_interface() {
    let test = "what_is_tuned_is_as_wanted_and_what_is_reverted_is_as_before_on_a_real_interface";
    let Some(wire) = Wire::lay(test) else { return };
    ip(&["-n", &wire.receiver, "link", "set", INTERFACE, "mtu", "1400", "txqueuelen", "123"]);
    shell(
        &wire,
        &format!("ethtool -K {INTERFACE} gro on; echo 3 > /sys/class/net/{INTERFACE}/queues/rx-0/rps_cpus"),
    );
    let before = settings(&wire);
    assert!(before.starts_with("1400\n123\n") && before.contains("generic-receive-offload: on"), "{before}");
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("state/tuned.json");
    let of_paper = ["--profile", "udp", "--only", "mtu,txqueuelen"];
    let of_evforge = ["--only", "gro,rps_cpus,rx-checksumming", "--set", "threads.receive.core=0"];

    // Nothing is changed without being asked for.
    for arguments in [&of_paper[..], &of_evforge[..]] {
        let said = tune(&wire, &journal, arguments);
        assert!(said.status.success() && text(&said.stdout).contains("nothing was changed"), "{said:?}");
    }
    assert_eq!(settings(&wire), before);
    assert!(!journal.exists());

    for arguments in [&of_paper[..], &of_evforge[..]] {
        let said = tune(&wire, &journal, &[arguments, &["--apply"]].concat());
        assert!(said.status.success(), "{}{}", text(&said.stdout), text(&said.stderr));
        assert!(text(&said.stdout).contains("to take it back: sudo evforge tune --revert"));
        let again = tune(&wire, &journal, arguments);
        assert!(text(&again.stdout).contains("nothing to change"), "{}", text(&again.stdout));
    }
    let tuned = settings(&wire);
    assert!(tuned.starts_with("9000\n10000\n") && tuned.contains("generic-receive-offload: off"), "{tuned}");
    let steered = shell(&wire, &format!("cat /sys/class/net/{INTERFACE}/queues/rx-0/rps_cpus"));
    assert_eq!(
        u32::from_str_radix(steered.trim().rsplit(',').next().unwrap_or_default(), 16),
        Ok(2),
        "{steered}"
    );

    let said = tune(&wire, &journal, &["--revert"]);
    assert!(said.status.success(), "{}{}", text(&said.stdout), text(&said.stderr));
    assert_eq!(settings(&wire), before);
    assert!(!journal.exists());
    assert!(text(&tune(&wire, &journal, &["--revert"]).stdout).contains("nothing to take back"));
}

/// An interface that went away in the meantime has taken its settings with it; others are taken back all the same.
#[test]
fn an_interface_that_went_away_is_no_reason_to_keep_the_rest() {
    let test = "an_interface_that_went_away_is_no_reason_to_keep_the_rest";
    let Some(wire) = Wire::lay(test) else { return };
    ip(&["-n", &wire.receiver, "link", "add", "extra0", "type", "veth", "peer", "name", "extra1"]);
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("tuned.json");
    let journal_text = journal.to_str().expect("text");
    for interface in ["extra0", INTERFACE] {
        let arguments = ["tune", "--interface", interface, "--journal", journal_text, "--profile", "udp"];
        let said =
            at(&wire.receiver, PROGRAM, &[&arguments[..], &["--only", "txqueuelen", "--apply"]].concat());
        assert!(said.status.success(), "{}{}", text(&said.stdout), text(&said.stderr));
    }
    ip(&["-n", &wire.receiver, "link", "delete", "extra0"]);
    let said = tune(&wire, &journal, &["--revert"]);
    let told = text(&said.stdout);
    assert!(
        said.status.success() && told.contains("extra0: txqueuelen") && told.contains("not there any more"),
        "{told}"
    );
    assert!(settings(&wire).contains("\n1000\n"), "{}", settings(&wire));
}

#[test]
fn without_root_nothing_is_changed_and_it_is_said() {
    let test = "without_root_nothing_is_changed_and_it_is_said";
    let Some(wire) = Wire::lay(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let before = settings(&wire);
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    let journal = folder.path().join("tuned.json");
    let as_nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", PROGRAM, "tune"];
    let arguments =
        ["--interface", INTERFACE, "--profile", "udp", "--only", "txqueuelen", "--apply", "--journal"];
    let all = [&as_nobody[..], &arguments, &[journal.to_str().expect("text")]].concat();
    let said = at(&wire.receiver, "setpriv", &all);
    assert_eq!(said.status.code(), Some(1), "{}{}", text(&said.stdout), text(&said.stderr));
    assert!(text(&said.stdout).contains("FAILED: Permission denied"), "{}", text(&said.stdout));
    assert_eq!(settings(&wire), before);
    assert!(!journal.exists());
}

#[test]
fn a_path_is_tried_with_real_packets() {
    let test = "a_path_is_tried_with_real_packets";
    let Some(wire) = Wire::lay(test) else { return };
    let path = || {
        let said = at(
            &wire.sender,
            PROGRAM,
            &["doctor", "--json", "--path", "10.9.0.2", "--set", "receive.buffer=1kB"],
        );
        let findings: Value = serde_json::from_slice(&said.stdout).expect("JSON");
        let is_path = |finding: &&Value| {
            finding["subject"].as_str().is_some_and(|subject| subject.starts_with("path to"))
        };
        findings.as_array().and_then(|list| list.iter().find(is_path)).expect("a finding").clone()
    };
    let good = path();
    assert_eq!(good["verdict"], "good", "{good}");
    ip(&["-n", &wire.receiver, "link", "set", INTERFACE, "mtu", "1500"]);
    let small = path();
    assert_eq!(small["verdict"], "advice", "{small}");
    let found = small["found"].as_str().unwrap_or_default();
    assert!(found.contains("1500 bytes arrive, of 9000 bytes not: they vanish"), "{small}");
    ip(&["-n", &wire.sender, "link", "set", "wire-s", "mtu", "1500"]);
    assert!(path()["found"].as_str().is_some_and(|found| found.contains("this host's interface")));
}

#[test]
fn a_run_says_what_matters_of_the_host_before_it_begins() {
    let test = "a_run_says_what_matters_of_the_host_before_it_begins";
    let Some(wire) = Wire::lay(test) else { return };
    shell(&wire, &format!("ethtool -K {INTERFACE} gro on"));
    let config = workspace().join("configs/gdgem-srs.toml");
    let config = config.to_str().expect("text");
    let arguments = [
        "run",
        "--config",
        config,
        "--address",
        "10.9.0.2",
        "--port",
        "9000",
        "--for",
        "1",
        "--interface",
        INTERFACE,
    ];
    let said = at(&wire.receiver, PROGRAM, &arguments);
    let told = text(&said.stderr);
    for expected in
        ["generic receive offload: gro is on, wanted: off", "Fix: sudo ethtool -K", "evforge doctor says why"]
    {
        assert!(told.contains(expected), "{expected:?} is not in {told}");
    }
}
