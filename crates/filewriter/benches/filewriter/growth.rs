//! How costs grow with partitions, with sources, and with logs that say nothing.

use super::Outcome;
use super::filling::Filling;
use super::measured::spread;
use super::work::{Layout, whole_job};
use evforge_filewriter::file::{Base, Ending, FilePlan, Storage, WriterFile};
use evforge_filewriter::structure::{self, ModuleKind, RunTimes};
use evforge_messages::{F144, Message, f144};
use serde_json::json;
use std::time::{Duration, Instant};

/// The same events in more partitions, and from more sources.
pub(super) fn partitions_and_sources(rounds: usize) -> Outcome<()> {
    println!("{rounds} rounds of 20 million events without compression");
    for (partitions, sources) in [(1, 1), (10, 1), (100, 1), (1, 10), (1, 100), (10, 100), (100, 100)] {
        let filling = Filling::events(20_000_000, partitions, sources)?;
        let layout = Layout { sources, logs: 0 };
        whole_job(&filling, layout, None)?;
        let (mut rates, mut costs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let job = whole_job(&filling, layout, None)?;
            rates.push(filling.events as f64 / job.wall / 1e6);
            costs.push(job.cpu / filling.messages.len() as f64 * 1e6);
        }
        println!("{partitions:>4} partitions, {sources:>4} sources: M events/s: {}", spread(&mut rates));
        println!("{:>32} µs of processor time per message: {}", "", spread(&mut costs));
    }
    Ok(())
}

/// Commits of a file with many logs of which some get a value.
pub(super) fn idle_logs() -> Outcome<()> {
    const COMMITS: i64 = 20;
    for (logs, busy) in [(10, 10), (1000, 10), (1000, 1000), (5000, 10)] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let plan = FilePlan {
            path: folder.path().join("idle.nxs"),
            base: Base::Nothing,
            structure: structure::parse(&Layout { sources: 0, logs }.structure())?,
            times: RunTimes { start_ms: 1_790_000_000_000, stop_ms: None },
            storage: Storage { deflate: None, ..Storage::default() },
        };
        let begun = Instant::now();
        let mut file = WriterFile::create(&plan, 100_000, || Ok(()))?;
        let start = begun.elapsed().as_secs_f64();
        let (mut commits, mut ends) = (Vec::new(), Vec::new());
        for commit in 0..COMMITS {
            let WriterFile { modules, columns, .. } = &mut file;
            for (number, open) in
                modules.iter_mut().filter(|open| open.spec.kind == ModuleKind::F144).take(busy).enumerate()
            {
                let value = f144::Value::Scalar((number as f64).into());
                let timestamp = 1_790_000_000_000_000_000 + commit;
                let message = Message::F144(F144 { source_name: "log", timestamp, value });
                open.module.write(&message, columns).map_err(|refused| refused.what)?;
            }
            let begun = Instant::now();
            file.begin_commit(&json!({}), false)?;
            commits.push(begun.elapsed().as_secs_f64() * 1e3);
            while !file.end_commit(Duration::from_millis(1))? {}
            ends.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let columns = file.columns.all_rows().len();
        let begun = Instant::now();
        file.finish(&json!({}), plan.times, Ending::Complete).map_err(|(_, error)| error)?;
        println!(
            "{logs:>5} logs, {busy} of them with a value, {columns} columns: start {start:.2} s; end {:.2} s; ms a commit: {}; \
             until the disk has it: {}",
            begun.elapsed().as_secs_f64(),
            spread(&mut commits),
            spread(&mut ends)
        );
    }
    Ok(())
}
