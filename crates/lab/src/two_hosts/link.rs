//! The virtual interfaces between two network namespaces.

use super::TwoHostsError;
use std::fs::read_link;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(super) const RECEIVER: &str = "wire-r";
pub(super) const SENDER: &str = "wire-s";
pub(super) const RECEIVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
pub(super) const SENDER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);

/// /sys has the interfaces of the network namespace that it was mounted in.
const MOUNT_SYS: &str = "mount -t sysfs sysfs /sys";
/// How long the sender's namespace may take to be there.
const PATIENCE: Duration = Duration::from_secs(10);

/// The link; the sender's namespace ends with it.
pub(super) struct Link {
    holder: Child,
}

impl Link {
    pub(super) fn lay(mtu: u32) -> Result<Self, TwoHostsError> {
        let mut holder = Command::new("unshare");
        holder.args(["--net", "--mount", "--", "sh", "-c", &format!("{MOUNT_SYS} && exec sleep infinity")]);
        holder.stdin(Stdio::null());
        let holder = holder.spawn().map_err(|source| TwoHostsError::missing("unshare", source))?;
        let link = Self { holder };
        link.wait_for_namespace()?;
        let mtu = mtu.to_string();
        let peer = link.holder.id().to_string();
        run("sh", &["-c", MOUNT_SYS])?;
        run("ip", &["link", "set", "lo", "up"])?;
        run("ip", &["link", "add", RECEIVER, "type", "veth", "peer", "name", SENDER, "netns", &peer])?;
        run("ip", &["address", "add", &format!("{RECEIVER_ADDRESS}/24"), "dev", RECEIVER])?;
        run("ip", &["link", "set", RECEIVER, "mtu", &mtu, "up"])?;
        run("ethtool", &["-K", RECEIVER, "gro", "on", "rx-udp-gro-forwarding", "on"])?;
        link.at_sender(&["ip", "link", "set", "lo", "up"])?;
        link.at_sender(&["ip", "address", "add", &format!("{SENDER_ADDRESS}/24"), "dev", SENDER])?;
        link.at_sender(&["ip", "link", "set", SENDER, "mtu", &mtu, "up"])?;
        link.at_sender(&["ethtool", "-K", SENDER, "tx-udp-segmentation", "off"])?;
        Ok(link)
    }

    /// Gives both ends another MTU, in bytes.
    pub(super) fn set_mtu(&self, mtu: u32) -> Result<(), TwoHostsError> {
        let mtu = mtu.to_string();
        run("ip", &["link", "set", RECEIVER, "mtu", &mtu])?;
        self.at_sender(&["ip", "link", "set", SENDER, "mtu", &mtu])
    }

    /// Packets come in one by one, and are not joined on the sender's core (GRO) before the kernel's work on them is handed to another one.
    pub(super) fn take_singly(&self) -> Result<(), TwoHostsError> {
        run("ethtool", &["-K", RECEIVER, "gro", "off", "rx-udp-gro-forwarding", "off"])
    }

    /// For `nsenter`: of the network and of mounts.
    pub(super) fn sender_namespaces(&self) -> [String; 2] {
        [("net", "net"), ("mount", "mnt")]
            .map(|(option, kind)| format!("--{option}=/proc/{}/ns/{kind}", self.holder.id()))
    }

    fn at_sender(&self, command: &[&str]) -> Result<(), TwoHostsError> {
        let [network, mounts] = self.sender_namespaces();
        run("nsenter", &[&[network.as_str(), mounts.as_str(), "--"], command].concat())
    }

    /// The shell has mounted /sys, and has become `sleep`.
    fn is_asleep(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/comm", self.holder.id()))
            .is_ok_and(|name| name.trim() == "sleep")
    }

    /// `unshare` makes the namespaces after it was started.
    fn wait_for_namespace(&self) -> Result<(), TwoHostsError> {
        let namespace = |process: &str| read_link(Path::new("/proc").join(process).join("ns/net"));
        let failed = |source| TwoHostsError::Process { what: "the sender's network namespace", source };
        let own = namespace("self").map_err(failed)?;
        let end = Instant::now() + PATIENCE;
        while namespace(&self.holder.id().to_string()).map_err(failed)? == own || !self.is_asleep() {
            if Instant::now() > end {
                return Err(failed(std::io::ErrorKind::TimedOut.into()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The namespace, and with it both interfaces, ends with its last process.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), TwoHostsError> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| TwoHostsError::missing(program, source))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(TwoHostsError::Failed { command: format!("{program} {}", arguments.join(" ")), said })
}
