//! `evforge ctl`: asks a run, and changes it, over the HTTP interface of its page.

mod client;
mod shown;

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::print;
use clap::{Args, Subcommand, ValueEnum};
use client::Client;
use evforge_config::TimeSpan;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `evforge ctl`.
#[derive(Args)]
pub(crate) struct CtlArguments {
    /// Where the page of the run is
    #[arg(
        long,
        env = "EVFORGE_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        global = true
    )]
    url: String,
    /// File with the token of the run; without it the variable EVFORGE_TOKEN, and what a run of the same user on this host has
    /// left
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
    /// Print the answer as JSON, as the run gives it
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: CtlCommand,
}

#[derive(Subcommand)]
enum CtlCommand {
    /// Print how it stands with the run
    State,
    /// Print all counters, or one
    Counters {
        /// Its name: main.uptime
        name: Option<String>,
    },
    /// Print the configuration that the run has begun with
    Config {
        /// Print each value with where it comes from
        #[arg(long)]
        origins: bool,
    },
    /// Print what can be changed while the run goes on
    Parameters,
    /// Change a threshold: from the earliest time on that is possible, or from another one
    Set {
        /// Parameters with their values (gdgem.clustering.x.adc_threshold=60)
        #[arg(value_name = "KEY=VALUE", required = true, value_parser = assignment)]
        changes: Vec<(String, u64)>,
        /// From this time on: nanoseconds on the clock of the events
        #[arg(long, value_name = "NANOSECONDS", conflicts_with = "after")]
        at: Option<u64>,
        /// So long after the earliest time that is possible: 2s
        #[arg(long, value_name = "TIME")]
        after: Option<TimeSpan>,
    },
    /// Hand raw packets on and form no events, or form them again
    Calibration {
        /// Whether it is to be on
        switch: Switch,
    },
    /// Forget the monitor data that have been collected
    Clear,
    /// Start and stop the runs of a service, or print how it stands with them
    Run(RunArguments),
    /// Collect monitor data, or no longer
    Monitor {
        /// Whether it is to be on
        switch: Switch,
    },
    /// Change what a group of messages says (input=debug), or print what all of them say
    Log {
        /// A group and its level: error, warn, info, debug, trace, off
        #[arg(value_name = "GROUP=LEVEL")]
        level: Option<String>,
    },
    /// End the run in good order, and the program
    Shutdown,
}

/// Arguments of `evforge ctl run`.
#[derive(Args)]
struct RunArguments {
    /// What is to be done; waits until it is
    action: RunAction,
    /// Title of the run that is started
    #[arg(long)]
    title: Option<String>,
    /// Its number
    #[arg(long)]
    number: Option<u64>,
    /// The experiment that it belongs to
    #[arg(long)]
    experiment: Option<String>,
    /// Whose it is
    #[arg(long, value_name = "NAME")]
    run_user: Option<String>,
    /// What is measured
    #[arg(long)]
    sample: Option<String>,
    /// End it after this time (60, 90s, 2h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
    /// A value of the configuration for this run only (gdgem.sorting.window=1ms); repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl RunArguments {
    /// What a run is started with, as the interface has it: nothing where nothing was said.
    fn wanted(&self) -> Value {
        let mut wanted = json!({});
        let texts = [
            ("title", &self.title),
            ("experiment", &self.experiment),
            ("user", &self.run_user),
            ("sample", &self.sample),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                wanted[key] = text.as_str().into();
            }
        }
        if let Some(number) = self.number {
            wanted["number"] = number.into();
        }
        if let Some(time) = self.ends_after {
            wanted["duration_s"] = time.to_std().as_secs_f64().into();
        }
        if !self.set.is_empty() {
            wanted["set"] = self.set.clone().into();
        }
        wanted
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunAction {
    Start,
    Stop,
    Status,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// `KEY=VALUE` with a number.
fn assignment(text: &str) -> Result<(String, u64), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    let value = value.trim();
    let number = value.parse().map_err(|_| format!("{value:?} is no number from 0 on"))?;
    Ok((key.trim().to_owned(), number))
}

/// Runs the command.
pub(crate) fn ctl(arguments: &CtlArguments) -> Result<ExitStatus, CommandError> {
    let client = Client::new(&arguments.url, arguments.token_file.as_ref())?;
    let (answer, show) = ask(&client, &arguments.command)?;
    if arguments.json {
        print(&format!("{answer:#}\n"))?;
    } else {
        print(&show(&answer))?;
    }
    Ok(ExitStatus::Good)
}

/// What people read of an answer.
type Show = fn(&Value) -> String;

fn ask(client: &Client, command: &CtlCommand) -> Result<(Value, Show), CommandError> {
    let is_on = |switch: &Switch| json!({ "on": *switch == Switch::On });
    Ok(match command {
        CtlCommand::State => (client.get("/api/control/state")?, shown::state),
        CtlCommand::Counters { name: None } => (client.get("/api/control/counters")?, shown::counters),
        CtlCommand::Counters { name: Some(name) } => {
            (client.get(&format!("/api/control/counters/{}", encoded(name)))?, shown::counter)
        }
        CtlCommand::Config { origins } => {
            let show = if *origins { shown::origins } else { shown::configuration };
            (client.get("/api/control/configuration")?, show)
        }
        CtlCommand::Parameters => (client.get("/api/control/parameters")?, shown::parameters),
        CtlCommand::Set { changes, at, after } => {
            let after = after.map(|after| after.picoseconds / 1000);
            let change = |(key, value): &(String, u64)| {
                let mut change = json!({ "key": key, "value": value });
                if let Some(at) = at {
                    change["at_ns"] = (*at).into();
                }
                if let Some(after) = after {
                    change["after_ns"] = after.into();
                }
                change
            };
            let changes: Vec<Value> = changes.iter().map(change).collect();
            (client.post("/api/control/changes", &json!({ "changes": changes }))?, shown::changes)
        }
        CtlCommand::Calibration { switch } => {
            (client.post("/api/control/calibration", &is_on(switch))?, shown::switch)
        }
        CtlCommand::Clear => (client.post("/api/control/clear", &json!({}))?, shown::done),
        CtlCommand::Run(arguments) => ask_run(client, arguments)?,
        CtlCommand::Monitor { switch } => {
            (client.post("/api/control/monitor", &is_on(switch))?, shown::switch)
        }
        CtlCommand::Log { level: None } => (client.get("/api/control/log")?, shown::log_groups),
        CtlCommand::Log { level: Some(level) } => {
            let wrong = || format!("log {level}: expected GROUP=LEVEL, as in input=debug");
            let (group, level) = level.split_once('=').ok_or_else(wrong)?;
            let path = format!("/api/control/log/{}", encoded(group));
            (client.post(&path, &json!({ "level": level }))?, shown::done)
        }
        CtlCommand::Shutdown => (client.post("/api/control/shutdown", &json!({}))?, shown::done),
    })
}

fn ask_run(client: &Client, arguments: &RunArguments) -> Result<(Value, Show), CommandError> {
    let wanted = arguments.wanted();
    if arguments.action != RunAction::Start && wanted != json!({}) {
        return Err("--title, --number, --experiment, --run-user, --sample, --for and --set say how a run is started: they \
                    belong to `evforge ctl run start`"
            .into());
    }
    Ok(match arguments.action {
        RunAction::Status => (client.get("/api/control/runs")?, shown::runs),
        RunAction::Stop => (client.post("/api/control/runs/stop", &json!({}))?, shown::run_end),
        RunAction::Start => (client.post("/api/control/runs", &wanted)?, shown::run),
    })
}

/// A part of a path, so that nothing in it is read as anything else.
fn encoded(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    part.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
