//! `evforge doctor` as a user runs it.

use crate::common::{PROGRAM, text};
use serde_json::Value;
use std::process::{Command, Output};

fn doctor(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).arg("doctor").args(arguments).output().expect("the program starts")
}

fn findings(output: &Output) -> Vec<Value> {
    let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    findings.as_array().expect("a list").clone()
}

fn verdict<'a>(findings: &'a [Value], subject: &str) -> Option<&'a str> {
    findings.iter().find(|finding| finding["subject"] == subject)?["verdict"].as_str()
}

#[test]
fn what_is_looked_at_depends_on_what_is_wanted() {
    let socket = findings(&doctor(&[
        "--json",
        "--set",
        "receive.buffer=1kB",
        "--set",
        "receive.address=127.0.0.1:9000",
    ]));
    assert_eq!(verdict(&socket, "receive buffer"), Some("good"), "{socket:?}");
    assert_eq!(verdict(&socket, "interface lo"), Some("good"));
    assert_eq!(verdict(&socket, "AF_XDP helper"), None);
    let xdp = findings(&doctor(&["--json", "--interface", "lo"]));
    assert!(verdict(&xdp, "AF_XDP helper").is_some());
}

/// Receiving does not depend on a detector; forming events does.
#[test]
fn a_configuration_without_a_detector_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.toml");
    std::fs::write(&path, "name = 'host'\n[receive]\nbuffer = '1kB'\naddress = '127.0.0.1:9000'\n").unwrap();
    let path = path.to_str().expect("text");
    let found = findings(&doctor(&["--json", "--config", path]));
    assert_eq!(verdict(&found, "receive buffer"), Some("good"), "{found:?}");
    let run = Command::new(PROGRAM).args(["run", "--config", path, "--check"]).output().expect("it starts");
    let said = text(&run.stderr);
    assert!(
        !run.status.success() && said.contains("no detector: a configuration has one section of"),
        "{said}"
    );
    // What is wrong in a part that the command does not need is reported all the same.
    for (wrong, expected) in [
        ("receive.bufer=1kB", "unknown field `bufer`"),
        ("sonde.clock=x", "unknown variant `x`"),
        ("simulation.beam.neutrons=x", "found `x`, expected a frequency"),
    ] {
        let refused = doctor(&["--config", path, "--set", wrong]);
        assert!(text(&refused.stderr).contains(expected), "{wrong}: {}", text(&refused.stderr));
    }
}

#[test]
fn what_cannot_be_had_fails_and_says_what_fixes_it() {
    let output = doctor(&["--interface", "no-such-if", "--set", "threads.receive.core=1000"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    for expected in
        ["MISSING  interface no-such-if", "ip -brief link", "MISSING  processor cores", "core 1000"]
    {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
}

#[test]
fn without_privileges_the_helper_that_needs_them_is_named_with_the_command() {
    let test = "without_privileges_the_helper_that_needs_them_is_named_with_the_command";
    let arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", PROGRAM];
    let output = Command::new("setpriv")
        .args(arguments)
        .args(["doctor", "--interface", "lo", "--receive", "xdp", "--set", "threads.receive.priority=50"])
        .output();
    let Some(output) = output.ok().filter(|output| !text(&output.stderr).contains("Operation not permitted"))
    else {
        return evforge_testkit::skip(
            test,
            "running as nobody needs root and the command setpriv (util-linux)",
        );
    };
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    for expected in [
        "MISSING  AF_XDP helper",
        "evforge-helper has no privileges",
        "sudo setcap cap_net_raw,",
        "LimitRTPRIO=50",
    ] {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
}
