//! What the thread that writes spends on messages: `cargo run --release -p evforge-filewriter --example module_cost [FOLDER [logs]]`.
//!
//! Messages are decoded beforehand (readers do that in parallel). "rows" is what modules and columns take, "commit" what
//! preparing and writing takes, in the thread that writes; with compression one more thread packs chunks.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use evforge_filewriter::file::Columns;
use evforge_filewriter::modules::{Module, open};
use evforge_filewriter::structure::{ModuleKind, StreamModule};
use evforge_messages::{Ev44, F144, Message, f144};
use evforge_stream::storage::workers::Workers;
use hdf5_metno::File;
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const EVENTS: usize = 20_000_000;
/// Events between two commits: five seconds of a million a second.
const EVENTS_PER_COMMIT: usize = 5_000_000;
const LOGS: usize = 1000;
/// Ten seconds of 10 Hz between two commits.
const LOG_MESSAGES_PER_COMMIT: usize = 100_000;
const LOG_COMMITS: usize = 3;

fn stream(kind: ModuleKind, settings: &Value) -> StreamModule {
    let settings = settings.as_object().cloned().unwrap_or_default();
    StreamModule { kind, topic: "topic".into(), sources: vec!["source".into()], settings }
}

/// Time in `write` of modules, and in commits.
#[derive(Default)]
struct Spent {
    rows: Duration,
    commits: Duration,
}

struct Target {
    file: File,
    columns: Columns,
    path: PathBuf,
}

impl Target {
    fn new(folder: &Path, deflate: Option<u8>) -> Outcome<Self> {
        let path = folder.join("module_cost.nxs");
        let file = File::with_options().with_fapl(|plist| plist.libver_latest()).create(&path)?;
        let workers = Workers::start(usize::from(deflate.is_some()), deflate.unwrap_or(2))?;
        Ok(Self { file, columns: Columns::new(workers, deflate), path })
    }

    fn commit(&mut self, modules: &mut [Box<dyn Module>], is_last: bool) -> Outcome<Duration> {
        let begin = Instant::now();
        modules.iter_mut().for_each(|module| module.before_commit(&mut self.columns));
        self.columns.prepare(is_last).map_err(|_| "a thread that compresses has ended")?;
        self.columns.flush()?;
        Ok(begin.elapsed())
    }
}

/// Pixels of a million, and offsets that rise within a message. Messages take their events from here one behind the other, so
/// that nothing repeats within the reach of deflate.
fn columns_of(per_message: usize) -> (Vec<i32>, Vec<i32>) {
    const POOL: usize = 1 << 20;
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 44) as i32
    };
    let count = POOL / per_message * per_message;
    let pixels = (0..count).map(|_| 1 + random()).collect();
    let step = 71_000_000 / per_message as i32;
    let offset = |event: usize| (event % per_message) as i32 * step;
    (pixels, (0..count).map(|event| offset(event) + random() % step).collect())
}

fn events(folder: &Path, per_message: usize, settings: &Value, deflate: Option<u8>) -> Outcome<()> {
    let mut target = Target::new(folder, deflate)?;
    let group = target.file.create_group("events")?;
    let mut modules = vec![open(&stream(ModuleKind::Ev44, settings), &group, &mut target.columns)?.module];
    let (pixels, offsets) = columns_of(per_message);
    let mut spent = Spent::default();
    let mut since_commit = 0;
    for number in 0..EVENTS / per_message {
        let first = number * per_message % pixels.len();
        let events = first..first + per_message;
        let pulse = [1_790_000_000_000_000_000 + number as i64 * 71_428_571];
        let message = Message::Ev44(Ev44 {
            source_name: "source",
            message_id: number as i64,
            reference_time: (&pulse).into(),
            reference_time_index: (&[0]).into(),
            time_of_flight: offsets[events.clone()].into(),
            pixel_id: pixels[events].into(),
        });
        let begin = Instant::now();
        modules[0].write(&message, &mut target.columns).map_err(|skipped| skipped.what)?;
        spent.rows += begin.elapsed();
        since_commit += per_message;
        if since_commit >= EVENTS_PER_COMMIT {
            since_commit = 0;
            spent.commits += target.commit(&mut modules, false)?;
        }
    }
    spent.commits += target.commit(&mut modules, true)?;
    let bytes = std::fs::metadata(&target.path)?.len();
    let ns = |time: Duration| time.as_nanos() as f64 / EVENTS as f64;
    println!(
        "ev44, {per_message:>6} events a message, {settings}, deflate {deflate:?}: rows {:.2} + commit {:.2} ns/event, {:.1} bytes/event",
        ns(spent.rows),
        ns(spent.commits),
        bytes as f64 / EVENTS as f64
    );
    Ok(())
}

fn logs(folder: &Path, deflate: Option<u8>) -> Outcome<()> {
    let mut target = Target::new(folder, deflate)?;
    let mut modules: Vec<Box<dyn Module>> = Vec::new();
    for number in 0..LOGS {
        let group = target.file.create_group(&format!("log{number}"))?;
        modules.push(open(&stream(ModuleKind::F144, &json!({})), &group, &mut target.columns)?.module);
    }
    let mut spent = Spent::default();
    for commit in 0..LOG_COMMITS {
        let begin = Instant::now();
        for number in 0..LOG_MESSAGES_PER_COMMIT {
            let value = f144::Value::Scalar((number as f64).into());
            let timestamp = (commit * LOG_MESSAGES_PER_COMMIT + number) as i64;
            let message = Message::F144(F144 { source_name: "source", timestamp, value });
            modules[number % LOGS].write(&message, &mut target.columns).map_err(|skipped| skipped.what)?;
        }
        spent.rows += begin.elapsed();
        spent.commits += target.commit(&mut modules, commit + 1 == LOG_COMMITS)?;
    }
    let messages = (LOG_COMMITS * LOG_MESSAGES_PER_COMMIT) as f64;
    println!(
        "f144, {LOGS} sources, deflate {deflate:?}: rows {:.0} + commit {:.0} ns/message; {:.1} ms a commit",
        spent.rows.as_nanos() as f64 / messages,
        spent.commits.as_nanos() as f64 / messages,
        spent.commits.as_secs_f64() * 1e3 / LOG_COMMITS as f64
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder)?;
    let only_logs = std::env::args().nth(2).is_some_and(|what| what == "logs");
    for deflate in [None, Some(2)] {
        if only_logs {
            logs(folder.path(), deflate)?;
            continue;
        }
        for per_message in [12_400, 1000, 100] {
            events(folder.path(), per_message, &json!({}), deflate)?;
        }
        events(folder.path(), 1000, &json!({"layout": "evforge"}), deflate)?;
        events(folder.path(), 1000, &json!({"layout": "evforge", "pixels": [1, 500_000]}), deflate)?;
        logs(folder.path(), deflate)?;
    }
    Ok(())
}
