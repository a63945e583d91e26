//! The command line of `evforge view`.

use crate::CommandError;
use crate::arguments::{LogArguments, OverwriteArguments, PageNameArguments, SpanArguments};
use crate::configuration::read_configuration;
use crate::kafka::client::ClientArguments;
use clap::Args;
use evforge_config::{Config, TimeSpan};
use evforge_core::endpoint::endpoint;
use evforge_core::pulse::PulseTrain;
use evforge_core::quantity::Frequency;
use evforge_kafka::client::Brokers;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `evforge view`.
#[derive(Args)]
pub(crate) struct ViewArguments {
    /// NeXus file with events, complete or still written
    #[arg(value_name = "FILE", required_unless_present = "kafka", conflicts_with = "kafka")]
    pub(super) file: Option<PathBuf>,
    /// Show topics of these brokers instead; of those of --brokers unless given
    #[arg(long, value_name = "BROKERS", num_args = 0..=1, requires = "events")]
    pub(super) kafka: Option<Option<Brokers>>,
    /// Topic of events (ev44, ev42); repeatable
    #[arg(long, value_name = "TOPIC", conflicts_with = "file")]
    pub(super) events: Vec<String>,
    /// Topic of beam monitors (ev44, da00, hs00, hs01); repeatable
    #[arg(long, value_name = "TOPIC", conflicts_with = "file", help_heading = "Topics")]
    pub(super) monitors: Vec<String>,
    /// Topic of values (f144, f142, un00, tdct, pu00); repeatable
    #[arg(long, value_name = "TOPIC", conflicts_with = "file", help_heading = "Topics")]
    pub(super) logs: Vec<String>,
    /// Topic of the ledger of a run: what it has sent, received and lost, as it says itself; repeatable
    #[arg(long = "ledger", value_name = "TOPIC", conflicts_with = "file", help_heading = "Topics")]
    pub(super) ledgers: Vec<String>,
    #[command(flatten)]
    pub(super) client: ClientArguments,
    #[command(flatten)]
    pub(super) span: SpanArguments,
    /// Configuration of the instrument; a file says itself what is needed most
    #[arg(long, short = 'f', env = "EVFORGE_CONFIG", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Override a key of the configuration; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "config", help_heading = "Detector")]
    overrides: Vec<String>,
    /// Pulses of the source: the spectrum is one period long (14Hz); as configured, or as the pulses of the file come, unless given
    #[arg(long, value_name = "FREQUENCY", help_heading = "Detector")]
    pulse_rate: Option<Frequency>,
    /// Serve the page at this address
    #[arg(long, env = "EVFORGE_VIEW", value_name = "HOST:PORT", value_parser = endpoint, default_value = "127.0.0.1:8080")]
    pub(super) view: SocketAddr,
    #[command(flatten)]
    pub(super) names: PageNameArguments,
    /// Views that the page offers, instead of those for the detector
    #[arg(long, value_name = "FILE", help_heading = "Page")]
    pub(super) views: Option<PathBuf>,
    /// End after this time (60, 90s, 2h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    pub(super) ends_after: Option<TimeSpan>,
    #[command(flatten)]
    pub(super) log: LogArguments,
    #[command(flatten)]
    pub(super) overwrite: OverwriteArguments,
    /// Write what was shown as JSON
    #[arg(long, env = "EVFORGE_REPORT", value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// No status line and no report on the terminal
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl ViewArguments {
    /// The configuration, if there is one.
    pub(super) fn configuration(&self) -> Result<Option<Config>, CommandError> {
        let read = |path: &PathBuf| read_configuration(path, &self.overrides);
        Ok(self.config.as_ref().map(read).transpose()?)
    }

    /// The train of pulses: as the command line says, else as configured, else with this period in nanoseconds, else as stated.
    ///
    /// # Errors
    /// If the frequency is so low that times of flight would be too long.
    pub(super) fn train(
        &self,
        config: Option<&Config>,
        period_ns: Option<u64>,
        stated: Option<PulseTrain>,
    ) -> Result<(PulseTrain, &'static str), CommandError> {
        let train = |millihertz: u64| {
            (millihertz >= 500).then(|| PulseTrain::from_millihertz(millihertz, 0)).flatten()
        };
        if let Some(rate) = self.pulse_rate {
            let train = train(rate.millihertz).ok_or("--pulse-rate must be at least 0.5Hz")?;
            return Ok((train, "as --pulse-rate says"));
        }
        if let Some(config) = config {
            return Ok((config.pulses, "as configured"));
        }
        // The nearest whole number of millihertz: pulses come in whole nanoseconds.
        let measured = period_ns.filter(|&ns| ns > 0).map(|ns| (1e12 / ns as f64).round() as u64);
        match (measured.and_then(train), stated) {
            (Some(train), _) => Ok((train, "as they come")),
            (None, Some(stated)) => Ok((stated, "as the configuration in the file states")),
            (None, None) => {
                Ok((PulseTrain::ess(), "of 14 Hz, as nothing says another rate (--pulse-rate does)"))
            }
        }
    }
}
