//! A program whose memory is looked at while it runs.

use crate::common::{PROGRAM, send_signal, wait_until};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a process has taken at most, looked at until it has ended.
pub(crate) struct Watched {
    child: Child,
    most: Arc<AtomicU64>,
    watching: Option<std::thread::JoinHandle<()>>,
    reading: Option<std::thread::JoinHandle<()>>,
    said: Arc<Mutex<String>>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Watched {
    /// Starts the program.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let most = Arc::new(AtomicU64::new(0));
        let said = Arc::new(Mutex::new(String::new()));
        let errors = child.stderr.take().expect("piped");
        let lines = Arc::clone(&said);
        let reading = std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                lines.lock().expect("text").push_str(&(line + "\n"));
            }
        });
        let (id, found) = (child.id(), Arc::clone(&most));
        let watching = std::thread::spawn(move || {
            while let Some(bytes) = high_water(id) {
                found.fetch_max(bytes, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self { child, most, watching: Some(watching), reading: Some(reading), said }
    }

    /// What it has said.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("text").clone()
    }

    /// What stands behind `begin` in what it has said.
    pub(crate) fn address(&self, begin: &str) -> SocketAddr {
        let find = || self.said().lines().find_map(|line| line.strip_prefix(begin).map(str::to_owned));
        wait_until(begin, || find().is_some() || high_water(self.child.id()).is_none());
        find().unwrap_or_else(|| panic!("no {begin:?}: {}", self.said())).parse().expect("an address")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        send_signal(self.child.id(), name);
    }

    /// Waits for its end, which nobody brings about from outside.
    pub(crate) fn end(mut self) -> Ended {
        let status = self.child.wait().expect("it ends");
        self.watching.take().expect("watching").join().expect("watching");
        self.reading.take().expect("reading").join().expect("reading");
        let code = status.code().unwrap_or_else(|| panic!("it was killed: {}", self.said()));
        let most = self.most.load(Ordering::Relaxed);
        Ended { code, most, said: self.said() }
    }
}

/// How it has ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    /// The most memory that it has taken, in bytes; of a program that ends at once it may not be known.
    pub(crate) most: u64,
    pub(crate) said: String,
}

/// `VmHWM` of a process in bytes; none if it has ended.
fn high_water(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}
