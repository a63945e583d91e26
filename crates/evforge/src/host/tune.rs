//! `evforge tune`: changes what `doctor` finds, and takes it back.

use super::arguments::HostArguments;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::Args;
use evforge_host::rows::all;
use evforge_host::tune::{Change, Outcome, apply, plan, revert};
use evforge_host::{Host, Journal, Recorded};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `evforge tune`.
#[derive(Args)]
pub(crate) struct TuneArguments {
    #[command(flatten)]
    host: HostArguments,
    /// Only these settings, by their names: --only mtu,net.core.rmem_max; as doctor and tune show them
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = row)]
    only: Vec<String>,
    /// Only say what would be changed (the default)
    #[arg(long, conflicts_with_all = ["apply", "revert"])]
    dry_run: bool,
    /// Change it, and note what it was; needs root
    #[arg(long, conflicts_with_all = ["revert", "saved"])]
    apply: bool,
    /// Give every value back that evforge has changed; needs root
    #[arg(long, conflicts_with = "saved")]
    revert: bool,
    /// With --revert: also where somebody else has changed the value since then
    #[arg(long, requires = "revert")]
    force: bool,
    /// Where it is noted what the values were
    #[arg(long, default_value = Journal::DEFAULT, value_name = "FILE")]
    journal: PathBuf,
}

fn row(name: &str) -> Result<String, String> {
    if all().any(|row| row.name == name) {
        return Ok(name.to_owned());
    }
    let names: Vec<_> = all().map(|row| row.name).collect();
    Err(format!("there is no such setting; expected one of {}", names.join(", ")))
}

impl TuneArguments {
    fn plan(&self, host: &dyn Host) -> Result<Vec<Change>, CommandError> {
        let mut changes = plan(host, &self.host.needs()?, self.host.profile);
        changes.retain(|change| self.only.is_empty() || self.only.iter().any(|name| name == change.row));
        Ok(changes)
    }
}

/// Runs the command. Good if everything is as asked for.
pub(crate) fn tune(arguments: &TuneArguments) -> Result<ExitStatus, CommandError> {
    let host = arguments.host.host()?;
    if arguments.revert {
        return take_back(arguments, host.as_ref());
    }
    let profile = arguments.host.profile;
    if !arguments.apply {
        return print(&proposal(&arguments.plan(host.as_ref())?, profile.title())).map(|()| ExitStatus::Good);
    }
    let _lock = Journal::lock(&arguments.journal)?;
    let mut journal = Journal::read(&arguments.journal)?;
    let changes = arguments.plan(host.as_ref())?;
    let mut is_good = true;
    let mut lines = Vec::new();
    apply(host.as_ref(), &changes, &mut journal, |change, outcome| {
        is_good &= outcome.is_good();
        lines.push(line(&change.name, &change.before, outcome));
    })?;
    lines.push(match changes.len() {
        0 => format!("nothing to change: every setting is as wanted ({})\n", profile.title()),
        _ => format!(
            "what it was is in {}; to take it back: sudo evforge tune --revert\n",
            journal.path().display()
        ),
    });
    print(&lines.concat())?;
    Ok(ExitStatus::of(is_good))
}

fn take_back(arguments: &TuneArguments, host: &dyn Host) -> Result<ExitStatus, CommandError> {
    let _lock = Journal::lock(&arguments.journal)?;
    let mut journal = Journal::read(&arguments.journal)?;
    if journal.changes.is_empty() {
        return print(&format!("nothing to take back: {} is not there\n", arguments.journal.display()))
            .map(|()| ExitStatus::Good);
    }
    let mut is_good = true;
    let mut lines = Vec::new();
    revert(host, &mut journal, arguments.force, |recorded: &Recorded, outcome| {
        is_good &= outcome.is_good();
        lines.push(line(&recorded.name, &recorded.after, outcome));
    })?;
    print(&lines.concat())?;
    Ok(ExitStatus::of(is_good))
}

/// One change, as it is told.
fn line(name: &str, from: &str, outcome: &Outcome) -> String {
    let from = from.replace('\t', " ");
    let text = match outcome {
        Outcome::Done(value) => format!("{from} -> {}", value.replace('\t', " ")),
        Outcome::Unchanged => "is as it was".to_owned(),
        Outcome::Gone => "is not there any more".to_owned(),
        Outcome::ChangedByOthers { found } => {
            format!(
                "LEFT: somebody else has set it to {} since then (--force takes it back all the same)",
                found.replace('\t', " ")
            )
        }
        Outcome::Failed(error) => format!("FAILED: {error}"),
    };
    format!("{name:<36} {text}\n")
}

fn proposal(changes: &[Change], title: &str) -> String {
    let mut text = String::new();
    for change in changes {
        let (before, after) = (change.before.replace('\t', " "), change.after.replace('\t', " "));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<36} {before} -> {after}", change.name);
        let _ = writeln!(text, "    why:  {} ({})", change.why, change.source);
        let _ = writeln!(text, "    risk: {}", change.risk);
        let _ = writeln!(text, "    -> {}", change.place.command(&change.after));
    }
    let _ = match changes.len() {
        0 => writeln!(text, "nothing to change: every setting is as wanted ({title})"),
        count => writeln!(
            text,
            "{count} to change ({title}); nothing was changed. To change them: sudo evforge tune --apply, with the same options"
        ),
    };
    text
}
