//! The helper's main loop: `evforge-helper`, started by evforge with one end of a socket pair as standard input.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, pidfd_open};

use super::card::KernelCards;
use super::channel;
use super::journal::{FOLDER, Journal};
use super::message::{Reply, decode_request, encode};
use super::rules::{Asker, RULES_FILE, check_rules};
use super::session::Sessions;
use crate::privileges;
use evforge_core::whole_file;

const HELP: &str = "evforge-helper: does for evforge what needs privileges (docs/receive.md, \"Privileges\")

It is started by evforge, not by hand, and ends with it.

  --check-rules FILE    whether FILE can be the rules of this host, and where it is wrong
  --remove-flow-rules   remove what killed runs have left in network cards, for ExecStopPost= of a service
  --version             the version
  --help                this text
";

/// Runs the helper.
pub fn run() -> ExitCode {
    let argument = std::env::args().nth(1);
    let result = match argument.as_deref() {
        None => serve(),
        Some("--check-rules") => check_file(std::env::args_os().nth(2).unwrap_or_else(|| RULES_FILE.into())),
        Some("--remove-flow-rules") => remove_flow_rules(),
        Some("--version") => {
            println!("evforge-helper {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        Some("--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => {
            eprintln!("evforge-helper: there is no option {other:?}.\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evforge-helper: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers requests until evforge is gone.
fn serve() -> io::Result<()> {
    ignore_signals();
    close_inherited();
    // Started from memory, it would be called by the number of a descriptor.
    rustix::thread::set_name(c"evforge-helper")?;
    privileges::keep_only(privileges::OF_THE_HELPER)?;
    rustix::thread::set_no_new_privs(true)?;
    let input = io::stdin();
    let socket = input.as_fd();
    let Ok(peer) = rustix::net::sockopt::socket_peercred(socket) else {
        return Err(io::Error::other(format!("it is started by evforge, not by hand.\n\n{HELP}")));
    };
    let asker = asker();
    let process = u32::try_from(peer.pid.as_raw_nonzero().get()).unwrap_or(0);
    let mut sessions =
        Sessions::new(asker, process, Box::new(KernelCards::open()?), Journal::open(Path::new(FOLDER))?);
    // A card that refuses must not keep anybody from receiving; the journal stays.
    if let Err(error) = sessions.clean_up(Path::new(FOLDER)) {
        eprintln!(
            "evforge-helper: rules that a killed run has left in a network card cannot be removed: {error}"
        );
    }
    // Also notices the end of evforge where a child of it has kept the socket.
    let parent = pidfd_open(peer.pid, PidfdFlags::empty()).ok();
    while wait(socket, parent.as_ref())? {
        let Some(message) = channel::receive(socket)? else { break };
        let (reply, descriptors) = match decode_request(&message.bytes) {
            Ok(request) => sessions.answer(request, message.descriptors),
            Err(message) => (Reply::Refused { message, code: None }, Vec::new()),
        };
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        if channel::send(socket, &encode(&reply), &borrowed).is_err() {
            break;
        }
    }
    sessions.end();
    Ok(())
}

/// Who has no privileges that come from this file has those of whoever started it, and could do all of this itself.
fn asker() -> Asker {
    if privileges::is_secure_execution() {
        Asker::User(rustix::process::getuid().as_raw())
    } else {
        Asker::Privileged
    }
}

/// Waits for a message; false if evforge has ended.
fn wait(socket: BorrowedFd<'_>, parent: Option<&OwnedFd>) -> io::Result<bool> {
    loop {
        let mut polled = vec![PollFd::from_borrowed_fd(socket, PollFlags::IN)];
        polled.extend(parent.map(|parent| PollFd::new(parent, PollFlags::IN)));
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => continue,
            result => result?,
        };
        if polled.get(1).is_some_and(|parent| !parent.revents().is_empty()) {
            return Ok(false);
        }
        if !polled[0].revents().is_empty() {
            // Closed, too: receiving tells.
            return Ok(true);
        }
    }
}

/// With the privileges of whoever asks, and none of the helper's: the file may be anybody's.
fn check_file(path: std::ffi::OsString) -> io::Result<()> {
    privileges::keep_only(rustix::thread::CapabilitySet::empty())?;
    let path = Path::new(&path);
    let wrong = |problem: String| io::Error::other(format!("{}: {problem}", path.display()));
    let text = whole_file::text(path, whole_file::SETTINGS).map_err(|error| wrong(error.to_string()))?;
    let rules = check_rules(&text).map_err(wrong)?;
    println!("{}: {rules} rules", path.display());
    Ok(())
}

fn remove_flow_rules() -> io::Result<()> {
    privileges::keep_only(privileges::OF_THE_HELPER)?;
    let journal = Journal::open(Path::new(FOLDER))?;
    let mut sessions = Sessions::new(asker(), 0, Box::new(KernelCards::open()?), journal);
    let removed = sessions.clean_up(Path::new(FOLDER))?;
    println!("{removed} flow rules removed (rules: {RULES_FILE}, journals: {FOLDER})");
    Ok(())
}

/// Ctrl-C, and the signal that a service manager gives to all processes of a service, are for evforge, which then still
/// fetches what has come: the helper ends with it.
fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Closes what the shell may have left open beyond standard error.
fn close_inherited() {
    // SAFETY: nothing of this program is open yet beyond the first three.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
}
