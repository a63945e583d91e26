//! Runs the program on the simulated host.

use crate::left::Left;
use crate::scenario::Scenario;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What a run has come to.
pub(crate) struct Outcome {
    /// Exit status, or 128 and the signal that ended it.
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) trace: String,
    pub(crate) left: Left,
    /// What the report says, if it is there.
    pub(crate) report: Option<serde_json::Value>,
}

/// A folder with the program alone in it, so that the helper with privileges, another process, is not found.
pub(crate) struct Host {
    folder: tempfile::TempDir,
    _alone: tempfile::TempDir,
    program: PathBuf,
    library: PathBuf,
}

/// A program that is being started has our descriptors for a moment, and the locks of files that are read here.
static STARTING: Mutex<()> = Mutex::new(());

/// No run takes more of a processor, unless it runs in circles, nor more time, unless it hangs outside of what is simulated: it may have
/// little of a processor where others work as well.
const MOST_WORK: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(900);

/// How long a process has had a processor.
fn work_of(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind its name, which may have blanks: from its state on, user and system time are the 12th and 13th.
    let behind = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = behind.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // Always hundredths of a second, whatever the kernel counts in.
    Duration::from_millis(10 * ticks)
}

/// The shared library of `crates/simulated-host`, next to the tests or a level above.
fn library() -> Option<PathBuf> {
    const NAME: &str = "libevforge_simulated_host.so";
    let here = std::env::current_exe().ok()?;
    let found = here.ancestors().skip(1).take(2).map(|folder| folder.join(NAME));
    found.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).max().map(|(_, path)| path)
}

/// Whether this system can do it; a skip by name otherwise.
pub(crate) fn is_possible(test: &str) -> bool {
    if library().is_none() {
        evforge_testkit::skip(test, "libevforge_simulated_host.so (Linux with glibc)");
        return false;
    }
    true
}

impl Host {
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let mut folder = tempfile::Builder::new().prefix("evforge-simulated-").tempdir_in(parent).unwrap();
        // A single seed is looked at.
        folder.disable_cleanup(std::env::var_os("EVFORGE_SEED").is_some());
        let alone =
            tempfile::Builder::new().prefix("program-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let program = alone.path().join("evforge");
        let built = env!("CARGO_BIN_EXE_evforge");
        std::fs::hard_link(built, &program).or_else(|_| std::fs::copy(built, &program).map(drop)).unwrap();
        Self { folder, _alone: alone, program, library: library().unwrap() }
    }

    /// Runs a scenario from the start to the end of the program.
    pub(crate) fn run(&self, scenario: &Scenario) -> Outcome {
        let files = self.folder.path().join("files");
        let _ = std::fs::remove_dir_all(&files);
        std::fs::create_dir(&files).unwrap();
        let of = |name: &str| self.folder.path().join(name);
        std::fs::write(of("packets"), scenario.packet_file()).unwrap();
        std::fs::write(of("plan"), scenario.plan(&files, &of("packets"), &of("trace"))).unwrap();
        let mut command = Command::new(&self.program);
        command
            .args(scenario.arguments())
            .current_dir(&files)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LD_PRELOAD", &self.library)
            .env(evforge_simulated_host::PLAN, of("plan"))
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(of("stdout")).unwrap())
            .stderr(std::fs::File::create(of("stderr")).unwrap());
        // SAFETY: only system calls between fork and exec.
        unsafe { command.pre_exec(|| hears_hangups().and_then(|()| own_network())) };
        let mut child = {
            let _alone = STARTING.lock().unwrap();
            command.spawn().unwrap()
        };
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                use std::os::unix::process::ExitStatusExt;
                break status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            }
            if Instant::now() > end || work_of(child.id()) > MOST_WORK {
                child.kill().unwrap();
                child.wait().unwrap();
                break -1;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let read =
            |name: &str| String::from_utf8_lossy(&std::fs::read(of(name)).unwrap_or_default()).into_owned();
        let report = std::fs::read(files.join("report.json")).ok();
        // The number of the process is in names of files, and another one each time.
        let process = format!("-{}-", child.id());
        let mut left = {
            let _alone = STARTING.lock().unwrap();
            Left::in_folder(&files)
        };
        left.names.iter_mut().for_each(|name| *name = name.replace(&process, "-process-"));
        if std::env::var_os("EVFORGE_SEED").is_some() {
            println!("{}", self.folder.path().display());
            println!("{}\n{}\n{}", read("plan"), read("trace"), read("stderr"));
            println!("{:?}\n{}", scenario.arguments(), read("stdout"));
        }
        Outcome {
            status,
            stdout: read("stdout"),
            stderr: read("stderr"),
            trace: read("trace").replace(&process, "-process-"),
            left,
            report: report.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        }
    }
}

/// Lets this process hear SIGHUP, which tests that were started by `nohup` do not.
fn hears_hangups() -> std::io::Result<()> {
    // SAFETY: what a signal does to this process, which has no threads yet.
    match unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) } {
        libc::SIG_ERR => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Gives this process a network of its own, with nothing but loopback; without the right to it, that of the host is used.
fn own_network() -> std::io::Result<()> {
    // SAFETY: asks for namespaces for this process.
    let made = unsafe {
        libc::unshare(libc::CLONE_NEWNET) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) == 0
    };
    if !made {
        return Ok(());
    }
    // SAFETY: zero bytes are a request without a name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed();
    request.ifr_name[1] = b'o'.cast_signed();
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: a socket of our own, and a request that lives for the call.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request);
        libc::close(socket);
    }
    Ok(())
}
