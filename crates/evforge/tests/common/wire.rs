//! The real program between two network namespaces, for the tests of AF_XDP and of privileges. Needs root.
#![allow(dead_code)]

use super::{LiveProgram, PROGRAM, evforge, text, wait_until, workspace};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A pair of virtual interfaces between two namespaces, removed when dropped.
pub(crate) struct Wire {
    pub(crate) receiver: String,
    pub(crate) sender: String,
}

/// The receiver's interface.
pub(crate) const INTERFACE: &str = "wire-r";

impl Wire {
    /// None, with `test` reported as skipped, where it cannot be laid.
    pub(crate) fn lay(test: &str) -> Option<Self> {
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        if !is_root || Command::new("ip").arg("-V").output().is_err() {
            evforge_testkit::skip(test, "network namespaces need root and the command ip (iproute2)");
            return None;
        }
        let name = |end: &str| format!("evforge-{}-{test:.20}-{end}", std::process::id());
        let wire = Self { receiver: name("r"), sender: name("s") };
        for namespace in [&wire.receiver, &wire.sender] {
            ip(&["netns", "add", namespace]);
            ip(&["-n", namespace, "link", "set", "lo", "up"]);
        }
        let peer = ["type", "veth", "peer", "name", "wire-s", "netns", &wire.sender];
        ip(&[&["-n", &wire.receiver, "link", "add", INTERFACE][..], &peer].concat());
        for (namespace, interface, address) in
            [(&wire.receiver, INTERFACE, "10.9.0.2/24"), (&wire.sender, "wire-s", "10.9.0.1/24")]
        {
            ip(&["-n", namespace, "address", "add", address, "dev", interface]);
            ip(&["-n", namespace, "link", "set", interface, "mtu", "9000", "up"]);
        }
        Some(wire)
    }

    pub(crate) fn at(namespace: &str, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, program]);
        command
    }

    /// Starts a live run at the receiver's end.
    pub(crate) fn start(&self, folder: &Path, further: &[&str]) -> LiveProgram {
        let further = [&["--address", "10.9.0.2"], further].concat();
        LiveProgram::start_by(Self::at(&self.receiver, PROGRAM), &config(), folder, &further)
    }

    /// Sends a capture from the other end: how many packets there were.
    pub(crate) fn replay(&self, capture: &str, address: &str, rate: &str) -> u64 {
        self.replay_over(capture, address, rate, false)
    }

    /// The same while the link is interrupted: packets may be dropped by the interface, or refused while the other side has
    /// no address, which the program then says.
    pub(crate) fn replay_with_interruption(&self, capture: &str, address: &str, rate: &str) -> u64 {
        self.replay_over(capture, address, rate, true)
    }

    fn replay_over(&self, capture: &str, address: &str, rate: &str, is_interrupted: bool) -> u64 {
        let mut replay = Self::at(&self.sender, PROGRAM);
        let output =
            replay.args(["replay", capture, "--to", address, "--rate", rate]).output().expect("it starts");
        let said = text(&output.stdout);
        let excuses = ["dropped by the network interface", "refused by the other side"];
        let is_excused = is_interrupted && excuses.iter().any(|excuse| said.contains(excuse));
        let is_good = output.status.success() || is_excused;
        assert!(is_good, "{said}{}", text(&output.stderr));
        let count = said.strip_prefix("sent ").and_then(|rest| rest.split(" packets").next());
        count
            .map(|count| count.replace(' ', ""))
            .and_then(|count| count.parse().ok())
            .expect("a number of packets")
    }

    /// Waits until so many more packets have left the sender.
    pub(crate) fn wait_until_sent(&self, packets: u64) {
        let sent = || {
            let counter = "/sys/class/net/wire-s/statistics/tx_packets";
            let output = Self::at(&self.sender, "cat").arg(counter).output().expect("the command ip");
            text(&output.stdout).trim().parse::<u64>().expect("a counter")
        };
        let before = sent();
        wait_until("further packets are sent", || sent() >= before + packets);
    }

    pub(crate) fn has_program(&self) -> bool {
        ip(&["-n", &self.receiver, "link", "show", INTERFACE]).contains("prog/xdp")
    }

    /// Waits until the program is detached: a run that ends waits two seconds for that, and a busy kernel can take longer.
    pub(crate) fn wait_until_detached(&self) {
        wait_until("the program is detached", || !self.has_program());
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for namespace in [&self.receiver, &self.sender] {
            // Nothing can be done about what is left.
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
    }
}

pub(crate) fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().expect("the command ip");
    assert!(output.status.success(), "ip {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

pub(crate) fn config() -> PathBuf {
    workspace().join("configs/gdgem-srs.toml")
}

/// Packets of a simulated detector.
pub(crate) fn simulate(folder: &Path, pulses: &str) -> String {
    let path = folder.join("simulated.pcapng").to_str().expect("text").to_owned();
    let config = config();
    let config = config.to_str().expect("text");
    evforge(&["simulate", "--config", config, "--pulses", pulses, "--output", &path]);
    path
}

/// A number of a report.
pub(crate) fn number(stream: &Value, pointer: &str) -> u64 {
    stream.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {stream:#}"))
}

/// Arguments of a run by AF_XDP with rings that lock little memory.
pub(crate) const BY_XDP: [&str; 6] =
    ["--receive", "xdp", "--interface", INTERFACE, "--set", "receive.ring=4096"];
