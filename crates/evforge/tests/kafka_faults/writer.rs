//! The file writer, following the topic of a run into a file, killed and started again.

use crate::common::PROGRAM;
use crate::truth::{Event, config};
use evforge_testkit::patience::{wait_for, wait_until};
use hdf5_metno::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The file writer, killed if the test ends early.
pub(crate) struct Writer {
    file: PathBuf,
    topic: String,
    brokers: String,
    child: Option<Child>,
}

/// What a file has in the end.
pub(crate) struct Written {
    pub(crate) events: Vec<Event>,
    /// Numbers of messages between the first and the last that have not come.
    pub(crate) missing: i64,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Writer {
    /// Starts it: it writes everything that the topic has and will have.
    pub(crate) fn start(folder: &Path, topic: &str, brokers: &str) -> Self {
        let file = folder.join(format!("{topic}.nxs"));
        let mut writer = Self { file, topic: topic.to_owned(), brokers: brokers.to_owned(), child: None };
        writer.start_again();
        writer
    }

    /// Starts it once more, by the same command.
    pub(crate) fn start_again(&mut self) {
        let mut command = Command::new(PROGRAM);
        command.args(["write", "--quiet", "--config", &config(), "--start", "2025-01-01T00:00:00Z"]);
        command.args(["--after", "0", "--flush-interval", "20ms", "--output"]).arg(&self.file);
        for key in
            [format!("brokers={}", self.brokers), format!("topic={}", self.topic), "source=freia".to_owned()]
        {
            command.args(["--set", &format!("outputs.kafka.{key}")]);
        }
        let said = std::fs::File::create(self.file.with_extension("said")).expect("a file");
        let printed = said.try_clone().expect("a file");
        self.child =
            Some(command.stdout(printed).stderr(said).stdin(Stdio::null()).spawn().expect("it starts"));
    }

    /// Kills it as SIGKILL does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Ended already if something went wrong, which its file shows.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.file.with_extension("said")).unwrap_or_default()
    }

    /// Ends the run: everything that the topic has now is in the file.
    pub(crate) fn end(mut self) -> Written {
        let writing = self.file.with_extension("nxs.writing");
        // As a person, who waits until the run is shown, and starts a command again that was refused because the broker was away.
        wait_until("the file", || {
            if self.child.as_mut().expect("it runs").try_wait().expect("a child").is_some() {
                assert!(self.said().contains("broker"), "it has ended: {}", self.said());
                self.start_again();
            }
            writing.exists()
        });
        let mut child = self.child.take().expect("it runs");
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &id]).status().expect("kill").success());
        let status = wait_for("its end", || child.try_wait().expect("a child"));
        // 3 says that something is missing in the file, which it also names.
        assert!(matches!(status.code(), Some(0 | 3)), "{status}: {}", self.said());
        let left = std::fs::read_dir(self.file.parent().expect("a folder")).expect("a folder");
        let start = format!("{}.nxs.", self.topic);
        let left: Vec<_> = left
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
            .filter(|name| name.starts_with(&start))
            .collect();
        assert_eq!(left, [format!("{start}sha256")], "what is left next to the file");
        read(&self.file)
    }
}

fn read(path: &Path) -> Written {
    let file = File::open(path).expect("a file");
    let events = file.group("entry/instrument/detector/detector_events").expect("events");
    let dataset = |name: &str| events.dataset(name).expect("a dataset");
    let pixels: Vec<u32> = dataset("event_id").read_raw().expect("pixels");
    let offsets: Vec<i64> = dataset("event_time_offset").read_raw().expect("times");
    let pulses: Vec<i64> = dataset("event_time_zero").read_raw().expect("pulses");
    let first: Vec<usize> = dataset("event_index").read_raw().expect("indices");
    let ends = first.iter().skip(1).copied().chain([pixels.len()]);
    let mut all = Vec::with_capacity(pixels.len());
    for ((pulse, begin), end) in pulses.into_iter().zip(first.iter().copied()).zip(ends) {
        let columns = offsets[begin..end].iter().zip(&pixels[begin..end]);
        all.extend(columns.map(|(&offset, &pixel)| Event { pulse, offset, pixel }));
    }
    let completeness = file.group("entry/evforge_writer/completeness").expect("completeness");
    let missing: Vec<i64> =
        completeness.dataset("messages_missing").expect("a dataset").read_raw().expect("numbers");
    // The same for each module that reads the source.
    Written { events: all, missing: missing.into_iter().max().unwrap_or(0) }
}
