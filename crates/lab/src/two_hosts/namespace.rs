//! A network namespace that is a host of a measurement, and ends with it.

use super::TwoHostsError;
use std::fs::read_link;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// /sys has the interfaces of the network namespace that it was mounted in.
const MOUNT_SYS: &str = "mount -t sysfs sysfs /sys";
/// How long a namespace may take to be there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Namespaces of the network and of mounts, with a process that keeps them: they end with it.
pub(crate) struct Namespace {
    holder: Child,
}

impl Namespace {
    /// New ones, in which loopback is up.
    ///
    /// # Errors
    /// If `unshare`, `nsenter` or `ip` is missing or fails.
    pub(crate) fn make() -> Result<Self, TwoHostsError> {
        let mut holder = Command::new("unshare");
        holder.args(["--net", "--mount", "--", "sh", "-c", &format!("{MOUNT_SYS} && exec sleep infinity")]);
        holder.stdin(Stdio::null());
        let holder = holder.spawn().map_err(|source| TwoHostsError::missing("unshare", source))?;
        let namespace = Self { holder };
        namespace.wait()?;
        namespace.run(&["ip", "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// The process that keeps it, as `ip link … netns` takes it.
    pub(crate) fn process(&self) -> String {
        self.holder.id().to_string()
    }

    /// A program in there.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(self.names()).arg("--").arg(program);
        command
    }

    /// Runs a command in there to its end.
    pub(crate) fn run(&self, command: &[&str]) -> Result<(), TwoHostsError> {
        let [network, mounts] = self.names();
        run("nsenter", &[&[network.as_str(), mounts.as_str(), "--"], command].concat())
    }

    /// For `nsenter`: of the network and of mounts.
    fn names(&self) -> [String; 2] {
        [("net", "net"), ("mount", "mnt")]
            .map(|(option, kind)| format!("--{option}=/proc/{}/ns/{kind}", self.holder.id()))
    }

    /// The shell has mounted /sys, and has become `sleep`.
    fn is_asleep(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/comm", self.holder.id()))
            .is_ok_and(|name| name.trim() == "sleep")
    }

    /// `unshare` makes the namespaces after it was started.
    fn wait(&self) -> Result<(), TwoHostsError> {
        let namespace = |process: &str| read_link(Path::new("/proc").join(process).join("ns/net"));
        let failed = |source| TwoHostsError::Process { what: "a network namespace", source };
        let own = namespace("self").map_err(failed)?;
        let end = Instant::now() + PATIENCE;
        while namespace(&self.process()).map_err(failed)? == own || !self.is_asleep() {
            if Instant::now() > end {
                return Err(failed(std::io::ErrorKind::TimedOut.into()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The namespace, and with it its interfaces, ends with its last process.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Has /sys show the interfaces of this process, which must be in namespaces of its own, and loopback up.
pub(crate) fn prepare_own() -> Result<(), TwoHostsError> {
    run("sh", &["-c", MOUNT_SYS])?;
    run("ip", &["link", "set", "lo", "up"])
}

/// Runs a program to its end.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<(), TwoHostsError> {
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
