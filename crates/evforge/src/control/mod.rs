//! How a run can be asked and changed while it goes on: by the command port, and over HTTP at its page.

pub(crate) mod token_file;

use crate::CommandError;
use crate::outputs::Outputs;
use clap::Args;
use evforge_config::Config;
use evforge_control::RunFacts;
use evforge_control::command_port::{BoundCommandPort, CommandPort, Patience};
use evforge_control::control::Configuration;
use evforge_control::desk::ControlCounts;
use evforge_control::{Control, ControlAccess, ControlDesk, ControlSlot, Note, RunService, Token};
use evforge_control::{LogGroup, LogLevels, Refusal};
use evforge_core::endpoint::endpoint;
use evforge_log::group;
use evforge_log::{Group, LogControl};
use evforge_pipeline::run_control::RunControl;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use token_file::TokenFile;

/// The variable of the environment with the token, for those that serve and those that ask.
pub(crate) const TOKEN: &str = "EVFORGE_TOKEN";

/// Options of control: short forms of `[control]`.
#[derive(Args, Default)]
pub(crate) struct ControlArguments {
    /// Take the text commands of the ESS EFU at this address (docs/control.md) [configuration: control.command_port]
    #[arg(
        long,
        env = "EVFORGE_COMMAND_PORT",
        value_name = "HOST:PORT",
        value_parser = endpoint,
        help_heading = "Control"
    )]
    command_port: Option<SocketAddr>,
}

impl ControlArguments {
    /// As a key of the configuration, which is checked with the others, and what it comes from.
    pub(crate) fn overrides(&self) -> Option<(String, String)> {
        let assignment = |address: SocketAddr| format!("control.command_port={:?}", address.to_string());
        self.command_port.map(|address| (assignment(address), "--command-port".to_owned()))
    }
}

/// The ports, opened before anything else is: what cannot be had leaves no files.
#[derive(Debug)]
pub(crate) struct ControlPorts {
    commands: Option<BoundCommandPort>,
    slot: ControlSlot,
    counts: Arc<ControlCounts>,
    desk: Arc<ControlDesk>,
    token: Arc<Token>,
    /// Values of the configuration that options have given.
    named: Vec<(String, String)>,
}

/// The ports while a run goes on. They are closed when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct ControlService {
    /// Kept for what its end does.
    _commands: Option<CommandPort>,
    /// As long as there is something to use the token for.
    _token: Option<TokenFile>,
}

impl ControlPorts {
    /// Opens what the configuration asks for. `named` are overrides of it that are options, with their names.
    pub(crate) fn open(config: &Config, named: Vec<(String, String)>) -> Result<Self, CommandError> {
        Self::open_for(config, named, None)
    }

    /// As [`ControlPorts::open`], for a program whose runs are started and stopped.
    pub(crate) fn open_for(
        config: &Config,
        named: Vec<(String, String)>,
        runs: Option<Arc<dyn RunService>>,
    ) -> Result<Self, CommandError> {
        let commands = config.control.command_port.map(BoundCommandPort::open).transpose()?;
        let counts = Arc::new(ControlCounts::default());
        let slot = ControlSlot::new(facts(config, &named));
        let mut desk = ControlDesk::of_slot(slot.clone(), Arc::clone(&counts), Arc::new(tell));
        if let Some(log) = evforge_log::global() {
            desk = desk.with_logs(Arc::new(ProgramLog(log.control())));
        }
        if let Some(runs) = runs {
            desk = desk.with_service(runs);
        }
        let token = Arc::new(token(config)?);
        Ok(Self { commands, slot, counts, desk: Arc::new(desk), token, named })
    }

    /// For an output that serves requests.
    pub(crate) fn access(&self) -> ControlAccess {
        ControlAccess { desk: Arc::clone(&self.desk), token: Arc::clone(&self.token) }
    }

    /// Serves a run that ends when `stop` is set: its handle, and what serves it.
    pub(crate) fn serve(
        mut self,
        config: &Config,
        outputs: &Outputs,
        stop: &Arc<AtomicBool>,
    ) -> Result<(RunControl, ControlService), CommandError> {
        if self.commands.is_none() && outputs.page_port().is_none() {
            return Ok((RunControl::default(), ControlService::default()));
        }
        let control = self.ask(config, outputs, stop);
        Ok((control, self.listen(config, outputs)?))
    }

    /// From now on this run is asked: its handle.
    pub(crate) fn ask(&self, config: &Config, outputs: &Outputs, stop: &Arc<AtomicBool>) -> RunControl {
        let (monitor, packets) = (outputs.monitor.clone(), outputs.packets.clone());
        let run_facts = facts(config, &self.named);
        let control =
            RunControl::counting_in(run_facts, Arc::clone(stop), monitor, packets, Arc::clone(&self.counts));
        self.slot.set(Some(Arc::new(control.clone()) as Arc<dyn Control>));
        control
    }

    /// Takes requests, as long as what this gives is kept.
    pub(crate) fn listen(
        &mut self,
        config: &Config,
        outputs: &Outputs,
    ) -> Result<ControlService, CommandError> {
        let mut service = ControlService::default();
        if let Some(port) = outputs.page_port() {
            match TokenFile::leave(&self.token, port) {
                Ok(file) => service._token = Some(file),
                Err(error) => tracing::warn!(
                    target: group::CONTROL,
                    "evforge ctl will not find the token of this run by itself, as it can be left nowhere: {error}. \
                     Say it with control.token_file or {TOKEN}."
                ),
            }
        }
        if let Some(commands) = self.commands.take() {
            let address = commands.address();
            let desk = Arc::clone(&self.desk);
            service._commands = Some(commands.serve(desk, config.control.commands, Patience::default())?);
            tracing::info!(target: group::CONTROL, "commands at TCP {address}");
            if !address.ip().to_canonical().is_loopback() {
                let port = address.port();
                tracing::warn!(
                    target: group::CONTROL,
                    "whoever reaches {address} may end this run: the command port has neither a token nor encryption. With \
                     --command-port 127.0.0.1:{port} only this host may, and others by a tunnel: \
                     ssh -L {port}:127.0.0.1:{port} HOST."
                );
            }
        }
        Ok(service)
    }
}

/// The token: what the environment says, or the file of the configuration, or one that nobody can guess.
fn token(config: &Config) -> Result<Token, CommandError> {
    if let Some(text) = std::env::var_os(TOKEN) {
        return Ok(Token::new(&text.to_string_lossy(), TOKEN)?);
    }
    match &config.control.token_file {
        Some(path) => Token::read(path).map_err(|error| format!("control.token_file: {error}").into()),
        None => Ok(Token::random()?),
    }
}

/// What has changed something is said; the rest is a detail.
fn tell(note: &Note) {
    let origin = tracing::field::display(&note.origin);
    if note.changed {
        tracing::info!(target: group::CONTROL, notice = true, always = true, origin, request = note.what, "{note}");
    } else {
        tracing::debug!(target: group::CONTROL, origin, request = note.what, number = note.number, "{note}");
    }
}

/// The facts of a run. `named` are overrides of its configuration that are options, with their names.
pub(crate) fn facts(config: &Config, named: &[(String, String)]) -> RunFacts {
    RunFacts {
        version: env!("CARGO_PKG_VERSION").into(),
        build: format!("evforge-{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        instrument: config.name.clone(),
        detector: config.section.into(),
        configuration: Configuration {
            path: config.path.display().to_string(),
            text: config.text.clone(),
            overrides: config.overrides.clone(),
            values: config.values(named),
        },
    }
}

/// The log of this program.
pub(super) struct ProgramLog(pub(super) LogControl);

impl LogLevels for ProgramLog {
    fn groups(&self) -> Vec<LogGroup> {
        let group = |group: &Group| LogGroup {
            name: group.name().to_owned(),
            level: self.0.level(*group).name().to_owned(),
            help: group.about().to_owned(),
        };
        Group::ALL.iter().map(group).collect()
    }

    fn set(&self, group: &str, level: &str) -> Result<(), Refusal> {
        self.0.set(group, level).map_err(|unknown| Refusal::Invalid(unknown.to_string()))
    }
}
