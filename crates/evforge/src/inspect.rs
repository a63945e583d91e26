//! `evforge inspect`: what is in a capture, or in a dump of readouts.

use crate::CommandError;
use crate::arguments::{CaptureArguments, OverwriteArguments};
use crate::exit_status::ExitStatus;
use crate::fit::try_shipped;
use crate::input::{is_dump, open_any_until, tell_lost};
use crate::inspect_dump::inspect_dump;
use crate::output::{print, write_file};
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::shipped;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use evforge_inspect::packet_lines::describe;
use evforge_inspect::skeleton::{Skeletons, skeletons};
use evforge_inspect::survey::{Findings, Survey};
use evforge_pipeline::report::grouped;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `evforge inspect`.
#[derive(Args)]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    capture: CaptureArguments,
    /// Print a line for every packet
    #[arg(long)]
    packets: bool,
    /// Print a line for every packet, readout and marker
    #[arg(long)]
    readouts: bool,
    /// Look at no more than this many packets, or rows of a dump
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
    /// Print JSON instead of text
    #[arg(long, conflicts_with_all = ["packets", "readouts"])]
    json: bool,
    #[command(flatten)]
    overwrite: OverwriteArguments,
    /// Also write a configuration that reads what was found, and says what could not be known; - for standard output, and
    /// nothing else there. Of several detectors each has a file, with a number before the extension
    #[arg(long, value_name = "FILE")]
    config_skeleton: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<ExitStatus, CommandError> {
    let limit = arguments.limit.unwrap_or(u64::MAX);
    let quiet = arguments.config_skeleton.as_ref().is_some_and(|file| file.as_os_str() == "-");
    if quiet && (arguments.json || arguments.packets || arguments.readouts) {
        return Err("--config-skeleton - has standard output for itself: name a file, or leave out --json, --packets and \
                    --readouts"
            .into());
    }
    let path = arguments.capture.path()?;
    if is_dump(&path)? && !arguments.json && !quiet {
        inspect_dump(&path, arguments.readouts, limit)?;
        print("\nas packets, in the format that the table stands for:\n")?;
    }
    let stop = stop_on_signals()?;
    let mut source = open_any_until(&path, arguments.capture.port, &stop)?;
    let (mut findings, failure) = look_through(source.as_mut(), &path, arguments, limit)?;
    // A pipe cannot be read again, and part of a capture says nothing of all of it.
    if path.is_file() && !is_dump(&path)? && arguments.limit.is_none() && failure.is_none() {
        try_shipped(&mut findings, &path, arguments.capture.port, &stop);
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&in_json(&path, source.as_ref(), &findings))?;
        print(&format!("{text}\n"))?;
    } else if !quiet {
        print(&findings.text())?;
        print(&left_out(source.as_ref()))?;
    }
    let mut status = tell_lost(source.stage(), source.counters());
    if let Some(failure) = failure {
        eprintln!("evforge: {failure}");
        status = status.and(ExitStatus::Incomplete);
    }
    if findings.packets == 0 {
        eprintln!("evforge: there are no packets in {}", path.display());
        status = status.and(ExitStatus::NoUse);
    }
    if findings.packets > 0 && findings.is_foreign() {
        eprintln!("evforge: nothing in {} is of a format that evforge knows", path.display());
        status = status.and(ExitStatus::NoUse);
    }
    let Some(file) = &arguments.config_skeleton else { return Ok(status) };
    let is_written = write_skeletons(&findings, file, arguments.overwrite)?;
    // That there is nothing to write for is no failure of writing.
    Ok(if is_written || findings.is_foreign() { status } else { status.and(ExitStatus::Failed) })
}

/// Surveys the packets of a source, and why it cannot be read further.
fn look_through(
    source: &mut dyn PacketSource,
    path: &Path,
    arguments: &InspectArguments,
    limit: u64,
) -> Result<(Findings, Option<CommandError>), CommandError> {
    let with_lines = (arguments.packets || arguments.readouts) && !is_dump(path)?;
    let mut slab = PacketSlab::new(256, 4 << 20);
    let mut survey = Survey::naming(shipped::configurations());
    let failure = loop {
        slab.clear();
        let fill = source.fill(&mut slab);
        for packet in slab.batch().iter() {
            if survey.packets() == limit {
                return Ok((survey.finish(), None));
            }
            survey.take(&packet);
            if with_lines {
                let (description, lines) = describe(&packet, arguments.readouts);
                let mut text = format!(
                    "packet {}: {} bytes from {}, {description}\n",
                    survey.packets(),
                    packet.bytes.len(),
                    packet.origin.source
                );
                for line in lines {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "  {line}");
                }
                print(&text)?;
            }
        }
        match fill {
            Ok(Fill::More) => {}
            Ok(Fill::End) => break None,
            Err(error) => break Some(error),
        }
    };
    Ok((survey.finish(), failure))
}

/// Writes a configuration for each detector. False if there is none.
fn write_skeletons(
    findings: &Findings,
    file: &Path,
    overwrite: OverwriteArguments,
) -> Result<bool, CommandError> {
    let Skeletons { written, refused } = skeletons(findings);
    for sentence in &refused {
        eprintln!("evforge: {sentence}");
    }
    if written.is_empty() {
        if refused.is_empty() {
            eprintln!("evforge: no configuration can be written: there are no packets");
        }
        return Ok(false);
    }
    let is_output = file.as_os_str() == "-";
    if is_output && written.len() > 1 {
        return Err(format!(
            "there are {} detectors, and each needs a configuration of its own: name a file, to whose name numbers are added",
            written.len()
        )
        .into());
    }
    for (number, skeleton) in (1..).zip(&written) {
        if is_output {
            print(&skeleton.text)?;
            continue;
        }
        let path = if written.len() > 1 { numbered(file, number) } else { file.to_owned() };
        // Somebody may have put in what packets do not tell.
        if std::fs::symlink_metadata(&path).is_ok() && !overwrite.overwrite {
            return Err(format!(
                "{} exists, and may have been edited: name another file for the configuration, or give --overwrite to \
                 replace it",
                path.display()
            )
            .into());
        }
        write_file("the configuration", &path, skeleton.text.as_bytes())?;
        eprintln!("{}: a configuration for {}", path.display(), skeleton.title);
    }
    Ok(true)
}

/// `nmx.toml` with number 2 is `nmx-2.toml`.
fn numbered(file: &Path, number: u32) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{number}"));
    if let Some(extension) = file.extension() {
        name.push(".");
        name.push(extension);
    }
    file.with_file_name(name)
}

/// What the file has besides the packets: frames that were skipped, and why.
fn left_out(source: &dyn PacketSource) -> String {
    let mut text = String::new();
    let counters = source.counters();
    // How many packets and bytes there were has been said.
    let said = ["frames", "packets", "bytes", "rows"];
    for (info, count) in counters.iter().filter(|(info, count)| *count > 0 && !said.contains(&info.name)) {
        let _ = writeln!(text, "{}   {}: {}", source.stage(), grouped(count), info.help);
    }
    text
}

fn in_json(path: &Path, source: &dyn PacketSource, findings: &Findings) -> Value {
    let counters: Map<String, Value> =
        source.counters().iter().map(|(info, count)| (info.name.to_owned(), json!(count))).collect();
    let mut all = findings.json();
    all["schema"] = json!(1);
    all["file"] = json!(path.display().to_string());
    all[source.stage()] = Value::Object(counters);
    all
}
