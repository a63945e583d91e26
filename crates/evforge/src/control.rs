//! How a run can be asked while it goes on: the command port.

use crate::CommandError;
use crate::outputs::Outputs;
use clap::Args;
use evforge_config::Config;
use evforge_control::command_port::{BoundCommandPort, CommandPort, Patience};
use evforge_control::control::Configuration;
use evforge_control::desk::ControlCounts;
use evforge_control::{Control, ControlDesk, ControlSlot, Note, RunFacts, RunService};
use evforge_core::endpoint::endpoint;
use evforge_pipeline::run_control::RunControl;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    /// As a key of the configuration, which is checked with the others.
    pub(crate) fn overrides(&self) -> Option<String> {
        self.command_port.map(|address| format!("control.command_port={:?}", address.to_string()))
    }
}

/// The ports, opened before anything else is: what cannot be had leaves no files.
#[derive(Debug)]
pub(crate) struct ControlPorts {
    commands: Option<BoundCommandPort>,
}

/// The ports while a run goes on. They are closed when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct ControlService {
    /// Kept for what its end does.
    _commands: Option<CommandPort>,
}

impl ControlPorts {
    /// Opens what the configuration asks for.
    pub(crate) fn open(config: &Config) -> Result<Self, CommandError> {
        let commands = config.control.command_port.map(BoundCommandPort::open).transpose()?;
        Ok(Self { commands })
    }

    /// Serves a run that ends when `stop` is set: its handle, and what serves it.
    pub(crate) fn serve(
        self,
        config: &Config,
        outputs: &Outputs,
        stop: &Arc<AtomicBool>,
        quiet: bool,
    ) -> Result<(RunControl, ControlService), CommandError> {
        let Some(commands) = self.commands else {
            return Ok((RunControl::default(), ControlService::default()));
        };
        let stop = Arc::clone(stop);
        let control = RunControl::new(facts(config), stop, outputs.monitor.clone(), outputs.packets.clone());
        let run = Arc::new(control.clone()) as Arc<dyn Control>;
        let desk = ControlDesk::new(run, control.counts(), Arc::new(tell));
        let address = commands.address();
        let commands = commands.serve(Arc::new(desk), config.control.commands, Patience::default())?;
        if !quiet {
            eprintln!("commands at TCP {address}");
        }
        Ok((control, ControlService { _commands: Some(commands) }))
    }
}

impl ControlPorts {
    /// Serves a program that has one run after the other: the place of the run that is asked, the counters of what is asked, and
    /// what serves it.
    pub(crate) fn serve_runs(
        self,
        config: &Config,
        runs: Arc<dyn RunService>,
        quiet: bool,
    ) -> Result<(ControlSlot, Arc<ControlCounts>, ControlService), CommandError> {
        let (slot, counts) = (ControlSlot::new(facts(config)), Arc::<ControlCounts>::default());
        let desk = ControlDesk::of_slot(slot.clone(), Arc::clone(&counts), Arc::new(tell)).with_service(runs);
        let Some(commands) = self.commands else { return Ok((slot, counts, ControlService::default())) };
        let address = commands.address();
        let commands = commands.serve(Arc::new(desk), config.control.commands, Patience::default())?;
        if !quiet {
            eprintln!("commands at TCP {address}");
        }
        Ok((slot, counts, ControlService { _commands: Some(commands) }))
    }
}

/// What has changed something is said; the rest is counted.
fn tell(note: &Note) {
    if note.changed {
        eprintln!("evforge: {note}");
    }
}

pub(crate) fn facts(config: &Config) -> RunFacts {
    RunFacts {
        version: env!("CARGO_PKG_VERSION").into(),
        build: format!("evforge-{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        instrument: config.name.clone(),
        detector: config.section.into(),
        configuration: Configuration {
            path: config.path.display().to_string(),
            text: config.text.clone(),
            overrides: config.overrides.clone(),
        },
    }
}
