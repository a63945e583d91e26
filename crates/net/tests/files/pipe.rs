//! A pipe into which nobody writes does not keep a reader that is to stop.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::PacketSource;
use evforge_net::capture::{CaptureReader, Fill};
use evforge_testkit::patience::patience;

#[test]
fn a_pipe_without_a_writer_is_read_until_somebody_asks_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.pcapng");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let stop = Arc::new(AtomicBool::new(false));
    let (told, progress) = channel();
    let of_reader = Arc::clone(&stop);
    std::thread::spawn(move || {
        let mut reader = CaptureReader::open_until(&path, &of_reader).unwrap();
        told.send(false).unwrap();
        let filled = reader.fill(&mut PacketSlab::new(8, 1 << 16));
        told.send(filled.is_ok_and(|fill| fill == Fill::End) && reader.is_stopped()).unwrap();
    });
    assert!(progress.recv_timeout(patience()).is_ok(), "opening waits for a writer");
    // Nothing shows that a reader waits: this is as long as one that does not would need.
    assert!(progress.recv_timeout(Duration::from_millis(50)).is_err(), "it has ended by itself");
    stop.store(true, Ordering::Relaxed);
    assert_eq!(progress.recv_timeout(patience()), Ok(true), "it does not stop");
}
