//! `evforge doctor`: what limits receiving on this host, and the command that fixes it.

use crate::CommandError;
use crate::arguments::Method;
use crate::configuration::read_common;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::Args;
use evforge_config::CommonConfig;
use evforge_net::host_check::{Finding, Verdict, check_host};
use evforge_pipeline::host_needs::host_needs;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is received does not depend on a detector.
const DEFAULTS: &str = "name = \"host\"\n";

/// Arguments of `evforge doctor`.
#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Check for this configuration; without it, for the defaults
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Override a key of the configuration, as in receive.buffer=64MB; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Packets arrive at this network interface [configuration: receive.interface]
    #[arg(long, env = "EVFORGE_INTERFACE", value_name = "NAME")]
    interface: Option<String>,
    /// The receive backend to check for [configuration: receive.method]
    #[arg(long, env = "EVFORGE_RECEIVE", value_name = "METHOD")]
    receive: Option<Method>,
    /// Write the findings as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command. True if all that the configuration asks for can be had.
pub(crate) fn doctor(arguments: &DoctorArguments) -> Result<ExitStatus, CommandError> {
    let mut config = match &arguments.config {
        Some(path) => read_common(path, &arguments.overrides)?,
        None => CommonConfig::parse(Path::new("defaults"), DEFAULTS, &arguments.overrides)?,
    };
    if arguments.interface.is_some() {
        config.receive.interface.clone_from(&arguments.interface);
    }
    if let Some(method) = arguments.receive {
        config.receive.method = method.setting();
    }
    let findings = check_host(&host_needs(&config));
    print(&if arguments.json { to_json(&findings)? } else { to_text(&findings) })?;
    Ok(ExitStatus::of(findings.iter().all(|finding| finding.verdict != Verdict::Missing)))
}

fn to_json(findings: &[Finding]) -> Result<String, CommandError> {
    let findings: Vec<_> = findings
        .iter()
        .map(|finding| {
            json!({
                "subject": finding.subject,
                "verdict": finding.verdict.name().to_lowercase(),
                "found": finding.found,
                "fix": finding.fix,
                // Its former name, until release 0.3.
                "mend": finding.fix,
            })
        })
        .collect();
    Ok(format!("{}\n", serde_json::to_string_pretty(&findings)?))
}

fn to_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<8} {:<19} {}", finding.verdict.name(), finding.subject, finding.found);
        if let Some(fix) = &finding.fix {
            let _ = writeln!(text, "{:<28} -> {fix}", "");
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (missing, advice) = (count(Verdict::Missing), count(Verdict::Advice));
    let _ = writeln!(text, "{} checked: {missing} missing, {advice} could be better", findings.len());
    text
}
