//! The same command again, as the first process of namespaces of its own.

use super::TwoHostsError;
use evforge_net::user::User;
use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The option by which the command knows that it is in there.
pub const OPTION: &str = "--within-namespaces";
/// How long a measurement may take to end when it is asked to; then it is ended.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// True if this process may have namespaces of its own: as root, or where the system allows them to users.
pub fn is_possible() -> bool {
    let tried = unshare().args(["--", "true"]).stdin(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Runs this program with these arguments and [`OPTION`] in namespaces of its own, until it ends or `stop` is set.
///
/// # Errors
/// If this program or `unshare` cannot be started.
pub fn run_again(
    arguments: impl IntoIterator<Item = OsString>,
    stop: &AtomicBool,
) -> Result<ExitStatus, TwoHostsError> {
    let failed = |what| move |source| TwoHostsError::Process { what, source };
    let program = std::env::current_exe().map_err(failed("this program"))?;
    let mut command = unshare();
    command.arg("--").arg(program).args(arguments).arg(OPTION).stdin(Stdio::piped());
    let mut child = command.spawn().map_err(|source| TwoHostsError::missing("unshare", source))?;
    // That it is closed, by whatever, tells the other process to end.
    let mut pipe = child.stdin.take();
    let mut asked = None;
    loop {
        if let Some(status) = child.try_wait().map_err(failed("the measurement"))? {
            return Ok(status);
        }
        if pipe.is_some() && stop.load(Ordering::Relaxed) {
            pipe = None;
            asked = Some(Instant::now());
        }
        if asked.is_some_and(|asked| asked.elapsed() > PATIENCE) {
            return end(child);
        }
        std::thread::sleep(POLL);
    }
}

fn end(mut child: Child) -> Result<ExitStatus, TwoHostsError> {
    let failed = |source| TwoHostsError::Process { what: "the measurement", source };
    child.kill().map_err(failed)?;
    child.wait().map_err(failed)
}

/// In there: has `stop` set when the process that was started by the user has ended, or wants an end. If that does not help, this
/// process is ended, and with it all others in the namespaces.
pub fn end_with_starter(stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        // Nothing is ever written.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stop.store(true, Ordering::Relaxed);
        std::thread::sleep(PATIENCE);
        std::process::exit(1);
    });
}

/// Namespaces for processes, mounts (of /proc) and the network, whose processes end with it.
fn unshare() -> Command {
    let mut command = Command::new("unshare");
    if !User::is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command
}
