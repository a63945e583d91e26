//! One file, from the command line.

use super::arguments::WriteArguments;
use super::base::{FromConfiguration, Said, SaidBases, from_configuration};
use super::progress_line::{ProgressLine, to_json, to_text};
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use crate::signals::stop_on_signals;
use evforge_core::whole_file;
use evforge_filewriter::file::{Names, is_there};
use evforge_filewriter::job::{Job, JobEnd, JobPlan, JobSettings, Phase, SaidBase};
use evforge_kafka::client::ClientSettings;
use evforge_log::group::FILE;
use evforge_net::clock::wall_clock_ns;
use evforge_net::crash_note::CrashNote;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// How often the state is looked at, and how often it is printed for programs.
const LOOK: Duration = Duration::from_millis(50);
const PRINT: Duration = Duration::from_secs(1);

/// Writes a file.
pub(super) fn write_file(arguments: &WriteArguments) -> Result<ExitStatus, CommandError> {
    let mut client = arguments.client.settings();
    let (said, structure) = what(arguments, &mut client)?;
    if arguments.print_structure {
        return print(&format!("{structure:#}\n", structure = pretty(&structure)?))
            .map(|()| ExitStatus::Good);
    }
    let Some(output) = &arguments.output else {
        return Err("name the file to write with --output FILE".into());
    };
    if arguments.overwrite {
        remove(output)?;
    }
    let plan = plan(arguments, output, &said, structure)?;
    let stop = stop_on_signals()?;
    let settings = JobSettings {
        client,
        readers: usize::from(arguments.storage.readers),
        flush_interval: arguments.storage.flush_interval.to_std(),
        storage: arguments.storage.storage(),
        bases: Arc::new(SaidBases),
        // A crash names the file, and ends nothing else.
        rehearsal: None,
        budget: Arc::default(),
        stop: Arc::clone(&stop),
    };
    // One that was begun before is taken up.
    let note = CrashNote::while_hdf5_reads(output);
    let job = Job::start(plan, settings).map_err(|error| error.to_string())?;
    drop(note);
    let mut line = ProgressLine::new(arguments.quiet || arguments.json);
    let (mut is_stopping, mut printed) = (false, None::<Instant>);
    while !job.has_ended() {
        if stop.load(Ordering::Relaxed) && !is_stopping {
            is_stopping = true;
            tracing::info!(
                target: FILE,
                lead = "evforge",
                "the run ends now; messages that come late are waited for. Ctrl-C again ends at once: the same command goes on then"
            );
            job.set_stop(None);
        }
        let progress = job.progress();
        line.show(&progress);
        if arguments.json && printed.is_none_or(|printed| printed.elapsed() >= PRINT) {
            printed = Some(Instant::now());
            print(&format!("{}\n", to_json(&progress)))?;
        }
        thread::sleep(LOOK);
    }
    let end = job.wait();
    line.end_line();
    tell(arguments, &end)
}

/// Says how it ended.
fn tell(arguments: &WriteArguments, end: &JobEnd) -> Result<ExitStatus, CommandError> {
    let report = end.to_json();
    if let Some(path) = &arguments.report {
        fs::write(path, format!("{report:#}\n"))
            .map_err(|error| format!("the report cannot be written to {}: {error}", path.display()))?;
    }
    if arguments.json {
        print(&format!("{report}\n"))?;
    } else if !arguments.quiet {
        print(&to_text(end))?;
    } else if !end.is_whole() {
        eprint!("{}", to_text(end));
    }
    Ok(match &end.progress.phase {
        Phase::Complete if end.progress.counters.messages_written == 0 => ExitStatus::NoUse,
        Phase::Complete if end.is_whole() => ExitStatus::Good,
        Phase::Complete => ExitStatus::Incomplete,
        _ => ExitStatus::Failed,
    })
}

/// What the file is to contain.
fn what(arguments: &WriteArguments, client: &mut ClientSettings) -> Result<(Said, String), CommandError> {
    let template = arguments.template.as_deref().map(read_template).transpose()?;
    if let Some(config) = &arguments.config {
        if template.is_some() {
            return Err(
                "a TEMPLATE and --config both say what the file is to contain: give one of them".into()
            );
        }
        let is_told = arguments.client.names_brokers();
        let FromConfiguration { said, structure, client: of_table } =
            from_configuration(config, &arguments.overrides, &arguments.source, client)?;
        if !is_told {
            *client = of_table;
        }
        return Ok((said, structure.to_string()));
    }
    let Some(structure) = template else {
        return Err("say what the file is to contain: TEMPLATE (NeXus structure JSON), or --config FILE for a detector".into());
    };
    let said = match &arguments.base {
        Some(base) => SaidBase::Template(std::path::absolute(base).unwrap_or_else(|_| base.clone())),
        None => SaidBase::Nothing,
    };
    Ok((Said::Plain(said), structure))
}

fn read_template(path: &Path) -> Result<String, CommandError> {
    let text = whole_file::text(path, whole_file::RESULTS)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    evforge_filewriter::structure::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text)
}

fn pretty(structure: &str) -> Result<serde_json::Value, CommandError> {
    serde_json::from_str(structure).map_err(|error| error.to_string().into())
}

/// The job: that of the arguments, or the one that was begun under this name.
fn plan(
    arguments: &WriteArguments,
    output: &Path,
    said: &Said,
    structure: String,
) -> Result<JobPlan, CommandError> {
    let base = serde_json::to_value(said).map_err(|error| error.to_string())?;
    let names = Names::of(output);
    if is_there(&names.job()) {
        let kept = JobPlan::read(&names.job()).map_err(|error| error.to_string())?;
        if kept.structure != structure || kept.base != base {
            return Err(format!(
                "{} was begun with another structure: give the same one to go on with it, or --overwrite to begin again",
                output.display()
            )
            .into());
        }
        tracing::info!(target: FILE, lead = "evforge", "{} was begun and not ended: goes on", output.display());
        return Ok(kept);
    }
    let run = arguments.start.run()?;
    Ok(JobPlan {
        id: format!("{:016x}", wall_clock_ns()),
        file: output.to_owned(),
        structure,
        base,
        window: run.window,
        begin: run.begin,
        until: run.until,
        leeway_after_s: run.leeway_after_s,
        about: serde_json::Value::Null,
        set_aside: Vec::new(),
    })
}

/// Removes what there is under the name of a file, unless somebody writes it.
fn remove(output: &Path) -> Result<(), CommandError> {
    let names = Names::of(output);
    let _lock = evforge_stream::nexus::Lock::take(output).map_err(|error| error.to_string())?;
    for path in [names.complete().to_owned(), names.writing(), names.job(), names.checksum()] {
        if is_there(&path) {
            fs::remove_file(&path)
                .map_err(|error| format!("{} cannot be replaced: {error}", path.display()))?;
        }
    }
    Ok(())
}
