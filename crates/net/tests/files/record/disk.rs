//! A disk in memory, and the packets that the tests record on it.

use std::io::{self, Cursor, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
use evforge_net::capture::CaptureReader;
use evforge_net::record::{RecordInlet, Recording, RecordingFile, RecordingFiles};
use evforge_testkit::patience::wait_until;

pub(crate) const HERE: [IpAddr; 1] = [IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)];

/// A disk in memory that can be held up, and that can be full.
#[derive(Clone)]
pub(crate) struct TestDisk {
    pub(crate) files: Arc<Mutex<Vec<Vec<u8>>>>,
    held_up: Arc<(Mutex<bool>, Condvar)>,
    /// No further file can be opened.
    pub(crate) refuses: Arc<AtomicBool>,
    /// The files that are open were removed.
    pub(crate) removed: Arc<AtomicBool>,
    /// How many bytes there is room for, and what is said about more.
    pub(crate) room: Arc<AtomicUsize>,
    pub(crate) refusal: io::ErrorKind,
}

impl Default for TestDisk {
    fn default() -> Self {
        Self {
            files: Arc::default(),
            held_up: Arc::default(),
            refuses: Arc::default(),
            removed: Arc::default(),
            room: Arc::new(AtomicUsize::new(usize::MAX)),
            refusal: io::ErrorKind::StorageFull,
        }
    }
}

struct TestFile {
    disk: TestDisk,
    number: usize,
    name: PathBuf,
}

impl TestDisk {
    pub(crate) fn hold_up(&self, on: bool) {
        *self.held_up.0.lock().expect("no panic") = on;
        self.held_up.1.notify_all();
    }

    /// The numbers of the packets in each file.
    pub(crate) fn numbers(&self) -> Vec<Vec<u64>> {
        let files = self.files.lock().expect("no panic").clone();
        files.into_iter().map(numbers_in).collect()
    }
}

impl RecordingFiles for TestDisk {
    fn begin(&mut self) -> io::Result<Box<dyn RecordingFile>> {
        if self.refuses.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "too many open files"));
        }
        let mut files = self.files.lock().expect("no panic");
        files.push(Vec::new());
        let number = files.len() - 1;
        Ok(Box::new(TestFile { disk: self.clone(), number, name: format!("file {number}").into() }))
    }
}

impl Write for TestFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (held_up, change) = &*self.disk.held_up;
        let guard = held_up.lock().expect("no panic");
        drop(change.wait_while(guard, |held_up| *held_up).expect("no panic"));
        let mut files = self.disk.files.lock().expect("no panic");
        let taken: usize = files.iter().map(Vec::len).sum();
        let room = self.disk.room.load(Ordering::Relaxed).saturating_sub(taken);
        if room == 0 {
            return Err(self.disk.refusal.into());
        }
        let part = bytes.len().min(room);
        files[self.number].extend(&bytes[..part]);
        Ok(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RecordingFile for TestFile {
    fn path(&self) -> &Path {
        &self.name
    }

    fn check(&self) -> io::Result<()> {
        match self.disk.removed.swap(false, Ordering::Relaxed) {
            true => Err(io::Error::other(format!("{} was removed", self.name.display()))),
            false => Ok(()),
        }
    }

    fn cut_back(&mut self, length: u64) -> io::Result<()> {
        self.disk.files.lock().expect("no panic")[self.number].truncate(length as usize);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish_cut(&mut self, length: u64) -> io::Result<PathBuf> {
        self.cut_back(length)?;
        Ok(self.name.with_extension("partial"))
    }
}

pub(crate) fn numbers_in(file: Vec<u8>) -> Vec<u64> {
    let mut reader = CaptureReader::from_reader("a file".as_ref(), Cursor::new(file)).expect("a capture");
    let mut slab = PacketSlab::new(1_000_000, 64 << 20);
    reader.fill(&mut slab).expect("a whole capture");
    assert_eq!(reader.counters().skipped(), 0);
    let number = |bytes: &[u8]| bytes[..8].try_into().map(u64::from_le_bytes).expect("eight bytes");
    slab.batch().iter().map(|packet| number(packet.bytes)).collect()
}

/// A packet with its number in its first bytes, stamped with its number in milliseconds.
pub(crate) fn put(slab: &mut PacketSlab, number: u64, length: usize) {
    let mut bytes = vec![number as u8; length.max(8)];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    let origin = PacketOrigin {
        source: "10.0.0.7:77".parse().expect("an address"),
        destination_port: 9000,
        arrival_ns: number * 1_000_000,
        arrival_clock: ArrivalClock::Kernel,
    };
    assert!(slab.push(&bytes, bytes.len(), origin));
}

/// The law, and that the files say the same as the counters.
pub(crate) fn check(recording: &Recording) {
    let counters = &recording.counters;
    assert_eq!(counters.unaccounted(), 0, "{recording:?}");
    assert_eq!(counters.record_written, recording.files.iter().map(|file| file.packets).sum::<u64>());
    let payload: u64 = recording.files.iter().map(|file| file.payload_bytes).sum();
    assert_eq!(counters.record_written_bytes, payload);
}

/// Puts packets, from `next` on, until something is so: the number of the next one.
pub(crate) fn put_until(inlet: &mut RecordInlet, mut next: u64, what: &str, is_so: impl Fn() -> bool) -> u64 {
    wait_until(what, || {
        let is_so = is_so();
        for _ in 0..if is_so { 0 } else { 4 } {
            put(inlet.slab_with_room(1000), next, 1000);
            inlet.commit();
            next += 1;
        }
        is_so
    });
    next
}
