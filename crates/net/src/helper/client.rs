//! The helper as evforge sees it: started once, asked where something needs privileges.

use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};

use super::channel;
use super::message::{Envelope, LONGEST, Reply, Request, SocketRequest, VERSION, encode};
use crate::privileges;

/// The helper's name, next to evforge or where administrators install it.
const NAME: &str = "evforge-helper";
const FOLDERS: [&str; 2] = ["/usr/local/libexec", "/usr/libexec"];
/// Longest wait for what takes long: locking memory for many queues.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longest wait at the end, when the helper's own end does the same.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(2);

static HELPER: OnceLock<Helper> = OnceLock::new();

/// The helper of this process, which is started before privileges are given up.
#[derive(Debug)]
pub struct Helper {
    socket: Mutex<OwnedFd>,
    process: u32,
    path: PathBuf,
}

/// Why the helper has not done something.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct HelperError {
    /// In whole sentences.
    pub message: String,
    /// The system's number, if it was the system that refused.
    pub code: Option<i32>,
}

impl Helper {
    /// Starts the helper if it is there and has privileges: those of its file, or those that this process has. Later calls
    /// give the one that was started. None if it would be of no use.
    ///
    /// To be called before other threads are started and before [`privileges::drop_all`](crate::privileges::drop_all),
    /// after which no program can get privileges any more.
    ///
    /// # Errors
    /// If it is there and cannot be started.
    pub fn start() -> io::Result<Option<&'static Self>> {
        if let Some(helper) = HELPER.get() {
            return Ok(Some(helper));
        }
        let Some(path) = Self::find() else { return Ok(None) };
        let nothing_can_be_got = rustix::thread::no_new_privs().unwrap_or(false);
        let holds_nothing = privileges::held().is_empty();
        let is_lent = has_file_capabilities(&path);
        if holds_nothing && (nothing_can_be_got || !is_lent) {
            return Ok(None);
        }
        let passes_on = is_lent && !holds_nothing && (nothing_can_be_got || privileges::missing().is_empty());
        let explain = |error: io::Error| {
            io::Error::new(error.kind(), format!("{} cannot be started: {error}", path.display()))
        };
        let copy = passes_on.then(|| without_privileges(&path));
        let copy = copy.transpose().map_err(explain)?;
        let program = copy.as_ref().map(|copy| format!("/proc/self/fd/{}", copy.as_raw_fd()));
        let (ours, its) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_timeout(&ours, sockopt::Timeout::Send, Some(PATIENCE))?;
        let child = Command::new(program.map_or_else(|| path.clone(), PathBuf::from))
            .arg0(&path)
            // Nothing of it is used, and what a user puts there must not matter.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(its))
            .stdout(Stdio::null())
            .spawn()
            .map_err(explain)?;
        let helper = Self { socket: Mutex::new(ours), process: child.id(), path };
        Ok(Some(HELPER.get_or_init(|| helper)))
    }

    /// The helper that was started, if one was.
    pub fn of_this_process() -> Option<&'static Self> {
        HELPER.get()
    }

    /// Where the helper is installed: one with capabilities, if there is one. None if there is none.
    pub fn find() -> Option<PathBuf> {
        let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(NAME)));
        let places = beside.into_iter().chain(FOLDERS.map(|folder| Path::new(folder).join(NAME)));
        let there: Vec<PathBuf> = places.filter(|path| path.is_file()).collect();
        let with_privileges = there.iter().find(|path| has_file_capabilities(path));
        with_privileges.or(there.first()).cloned()
    }

    /// The command that gives the helper its privileges.
    pub fn install_command() -> String {
        let path = Self::find().unwrap_or_else(|| Path::new(FOLDERS[0]).join(NAME));
        format!("sudo setcap {} {}", privileges::SETCAP, path.display())
    }

    /// Number of its process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// The program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// False once it has ended: then nothing that it has attached is attached any more.
    pub fn is_alive(&self) -> bool {
        // Whoever is being answered right now finds out by itself.
        let Ok(socket) = self.socket.try_lock() else { return true };
        let mut polled = [PollFd::new(&*socket, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&now)).is_ok()
            && !polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Whether it would give this process these ports of an interface by AF_XDP.
    ///
    /// # Errors
    /// With what would allow it.
    pub fn check(&self, interface: &str, ports: &[u16]) -> Result<(), HelperError> {
        let request = Request::Check { interface: interface.to_owned(), ports: ports.to_vec() };
        self.ask(request, &[]).map(drop)
    }

    /// Whether it would give a thread of this process a real-time priority.
    ///
    /// # Errors
    /// With what would allow it.
    pub fn check_priority(&self, priority: u8) -> Result<(), HelperError> {
        self.ask(Request::CheckPriority { priority }, &[]).map(drop)
    }

    /// Whether it would give a socket of this process at a port such a receive buffer, in bytes.
    ///
    /// # Errors
    /// With what would allow it.
    pub fn check_buffer(&self, port: u16, receive_buffer: u32) -> Result<(), HelperError> {
        self.ask(Request::CheckSocket { port, receive_buffer }, &[]).map(drop)
    }

    /// Has a session closed: its program is then detached, and its flow rules are gone.
    pub(crate) fn close(&self, session: u32) -> Result<(), HelperError> {
        self.ask_within(Request::Close { session }, &[], PATIENCE_AT_THE_END).map(drop)
    }

    /// Asks, and gives what was granted.
    pub(crate) fn ask(
        &self,
        request: Request,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(Reply, Vec<OwnedFd>), HelperError> {
        self.ask_within(request, descriptors, PATIENCE)
    }

    fn ask_within(
        &self,
        request: Request,
        descriptors: &[BorrowedFd<'_>],
        patience: Duration,
    ) -> Result<(Reply, Vec<OwnedFd>), HelperError> {
        let failed = |problem: String| HelperError {
            message: format!("evforge-helper (process {}) {problem}", self.process),
            code: None,
        };
        let bytes = encode(&Envelope { version: VERSION, request });
        if bytes.len() > LONGEST {
            return Err(failed(format!("takes requests of up to {LONGEST} bytes, not of {}", bytes.len())));
        }
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        channel::send(&*socket, &bytes, descriptors)
            .map_err(|error| failed(format!("has ended: {error}")))?;
        let received = sockopt::set_socket_timeout(&*socket, sockopt::Timeout::Recv, Some(patience));
        let received = received.map_err(io::Error::from).and_then(|()| channel::receive(&*socket));
        let received = received.inspect_err(|_| {
            // A late answer must not be taken for that of another request.
            let _ = rustix::net::shutdown(&*socket, rustix::net::Shutdown::Both);
        });
        let received = received
            .map_err(|error| failed(format!("does not answer: {error}")))?
            .ok_or_else(|| failed("has ended".to_owned()))?;
        match serde_json::from_slice(&received.bytes) {
            Ok(Reply::Refused { message, code }) => Err(HelperError { message, code }),
            Ok(reply) => Ok((reply, received.descriptors)),
            Err(error) => Err(failed(format!("answers what is not understood: {error}"))),
        }
    }
}

/// Asks the helper, if there is one, for settings of a socket.
pub(crate) fn set_socket(socket: BorrowedFd<'_>, request: SocketRequest) -> io::Result<()> {
    let helper = HELPER.get().ok_or(io::ErrorKind::PermissionDenied)?;
    let result = helper.ask(Request::Socket(request), &[socket]);
    result.map(drop).map_err(|error| match error.code {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(io::ErrorKind::PermissionDenied, error.message),
    })
}

/// Takes an address and port that need privileges: those below 1024.
pub(crate) fn bind(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    set_socket(socket, SocketRequest { bind: Some(address), ..SocketRequest::default() })
}

/// Has the ports of a session steered, from now on.
pub(crate) fn steer(session: u32, address: IpAddr, ports: &[u16]) -> Result<(), HelperError> {
    let request = Request::Steer { session, address, ports: ports.to_vec() };
    match HELPER.get() {
        Some(helper) => helper.ask(request, &[]).map(drop),
        None => Err(HelperError { message: "there is no helper".to_owned(), code: None }),
    }
}

/// A copy of the program in memory, which has no capabilities of its own. The kernel passes those of a process (ambient
/// ones, of a service) on to such files only: what is started from a file with capabilities has those, lent by the rules.
fn without_privileges(path: &Path) -> io::Result<OwnedFd> {
    let copy = memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut copy = File::from(copy);
    io::copy(&mut File::open(path)?, &mut copy)?;
    fcntl_add_seals(&copy, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(copy.into())
}

/// True if a file has capabilities of its own.
fn has_file_capabilities(path: &Path) -> bool {
    let mut value = [0_u8; 64];
    rustix::fs::getxattr(path, "security.capability", &mut value[..]).is_ok_and(|length| length > 0)
}
