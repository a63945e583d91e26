//! The counters of the host that show where packets are lost, read during a run by a thread of their own.
//!
//! Reading counters must not cost packets: the papers about receiving UDP saw losses that came from looking for them.
//! So the thread that receives never reads them; the kernel's tables, which are memory, are read once a second, and the
//! counters of interfaces, for which drivers may take locks or ask the card, every ten seconds. At the end of a run all
//! are read once more.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::interfaces::{InterfaceCounters, InterfaceReading, InterfacesError, InterfacesInUse};
use crate::kernel_counters::KernelCounters;

/// Time between readings of the kernel's tables.
const KERNEL_INTERVAL: Duration = Duration::from_secs(1);
/// Readings of the kernel's tables for one of the interfaces.
const INTERFACES_EVERY: u32 = 10;

/// Which counters of the host are read while packets are received: `receive.loss_counters`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CountersRead {
    /// The kernel's tables once a second, those of the interfaces in use every ten seconds, and all at the end.
    #[default]
    All,
    /// The kernel's tables only: no driver of a network card is asked.
    Cheap,
    /// None. Losses on the way to our socket then have no place.
    Off,
}

/// What the host has counted since a run began. All traffic of the host (network namespace) or the interfaces is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// The kernel's tables.
    pub kernel: KernelCounters,
    /// The interfaces in use; none if they are not read.
    pub interfaces: Option<InterfaceCounters>,
}

/// Counters at one moment; none of those that are not read.
#[derive(Debug, Default)]
struct Reading {
    kernel: Option<KernelCounters>,
    interfaces: Option<InterfaceReading>,
}

/// Reads the counters of the host from its start to its end.
#[derive(Debug)]
pub struct HostCounterReader {
    start: Arc<Reading>,
    used: Arc<[InterfacesInUse]>,
    latest: Arc<Mutex<HostCounters>>,
    warnings: Vec<String>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl HostCounterReader {
    /// Reads what is to be read now, and starts the thread that goes on with it, in the network namespace of this
    /// thread and on the cores that this thread may use: call it before pinning.
    ///
    /// What cannot be read is left out, and reported in the warnings.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn start(read: CountersRead, used: Vec<InterfacesInUse>) -> io::Result<Self> {
        let mut reader = Self {
            start: Arc::default(),
            used: used.into(),
            latest: Arc::default(),
            warnings: Vec::new(),
            thread: None,
        };
        if read == CountersRead::Off {
            return Ok(reader);
        }
        let mut start = Reading::default();
        match KernelCounters::read() {
            Ok(counters) => start.kernel = Some(counters),
            Err(error) => reader.warn(&error),
        }
        if read == CountersRead::All {
            match read_all(&reader.used) {
                Ok(counters) => start.interfaces = Some(counters),
                Err(error) => reader.warn(&error),
            }
        }
        reader.start = Arc::new(start);
        *reader.latest.lock().unwrap_or_else(PoisonError::into_inner) = reader.now();
        let (stop, stopped) = channel::<()>();
        let (start, used, latest) = (reader.start.clone(), reader.used.clone(), reader.latest.clone());
        let work = move || {
            for reading in 1_u32.. {
                if stopped.recv_timeout(KERNEL_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let kernel = start.kernel_since();
                let interfaces =
                    reading.is_multiple_of(INTERFACES_EVERY).then(|| start.interfaces_since(&used));
                let mut latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
                latest.kernel = kernel;
                if let Some(interfaces) = interfaces {
                    latest.interfaces = interfaces;
                }
            }
        };
        let thread = std::thread::Builder::new().name("host counters".into()).spawn(work)?;
        reader.thread = Some((stop, thread));
        Ok(reader)
    }

    fn warn(&mut self, problem: &dyn std::fmt::Display) {
        self.warnings
            .push(format!("These counters cannot locate losses: {problem} Packets are received as ever."));
    }

    /// Which counters cannot be read, and why, in whole sentences.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What was counted up to the last reading of the thread. Costs nothing.
    pub fn latest(&self) -> HostCounters {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted up to now. Reads all, so it is for the end.
    pub fn now(&self) -> HostCounters {
        HostCounters {
            kernel: self.start.kernel_since(),
            interfaces: self.start.interfaces_since(&self.used),
        }
    }
}

impl Drop for HostCounterReader {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

impl Reading {
    fn kernel_since(&self) -> KernelCounters {
        let now = || KernelCounters::read().ok();
        self.kernel.and_then(|before| Some(now()?.since(&before))).unwrap_or_default()
    }

    fn interfaces_since(&self, used: &[InterfacesInUse]) -> Option<InterfaceCounters> {
        let before = self.interfaces.as_ref()?;
        Some(read_all(used).ok()?.since(before))
    }
}

fn read_all(used: &[InterfacesInUse]) -> Result<InterfaceReading, InterfacesError> {
    let mut all = InterfaceReading::default();
    for which in used {
        all.unite(which.read()?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(read: CountersRead, name: &str) -> HostCounterReader {
        HostCounterReader::start(read, vec![InterfacesInUse::Named(name.into())]).expect("one more thread")
    }

    #[test]
    fn what_is_not_to_be_read_is_not_there() {
        assert!(start(CountersRead::All, "lo").now().interfaces.is_some());
        assert_eq!(start(CountersRead::Cheap, "lo").now().interfaces, None);
        let off = start(CountersRead::Off, "lo");
        assert!(off.thread.is_none());
        assert_eq!((off.now(), off.latest()), (HostCounters::default(), HostCounters::default()));
    }

    #[test]
    fn an_interface_that_is_not_there_leaves_the_others_counters() {
        let reader = start(CountersRead::All, "no-such-if");
        assert!(reader.warnings()[0].contains("there is no network interface \"no-such-if\""));
        assert_eq!(reader.now().interfaces, None);
        assert!(reader.start.kernel.is_some());
    }

    #[test]
    fn what_is_counted_meanwhile_is_seen_at_the_end() {
        let reader = start(CountersRead::All, "lo");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        socket.send_to(b"nobody listens", closed).unwrap();
        let seen = reader.now();
        assert!(seen.kernel.no_port >= 1, "{seen:?}");
        assert!(seen.interfaces.unwrap().received >= 1, "{seen:?}");
    }
}
