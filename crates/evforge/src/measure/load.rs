//! What `formation`, `latency` and `observer` send: a simulated detector, at a rate that is searched or given.

use super::hosts::Here;
use super::points::tell;
use super::result::ResultArguments;
use crate::CommandError;
use clap::Args;
use evforge_config::{Rate, TimeSpan};
use evforge_core::quantity::Frequency;
use evforge_lab::measured_formation::{
    Destination, FormationLoad, FormationRunner, HighestRate, highest_rate,
};
use std::path::Path;

/// What is sent.
#[derive(Args)]
pub(super) struct LoadArguments {
    /// Neutrons per second of the simulation
    #[arg(long, value_name = "RATE", default_value = "200kHz", value_parser = crate::simulate::rate)]
    neutrons: Frequency,
    /// Pulses that are simulated, and sent again and again
    #[arg(long, value_name = "NUMBER", hide_short_help = true, default_value_t = 14, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pulses: u64,
    /// How long to send for each measurement
    #[arg(long = "for", value_name = "TIME", default_value = "2s", value_parser = TimeSpan::in_seconds)]
    pub(super) time: TimeSpan,
    /// Override a key of the configuration for the run; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", hide_short_help = true)]
    pub(super) keys: Vec<String>,
}

impl LoadArguments {
    /// The load of a shipped configuration.
    pub(super) fn of(&self, name: &str, here: &Here, folder: &Path) -> Result<FormationLoad, CommandError> {
        let (neutrons, program) = ((self.neutrons.millihertz / 1000).max(1), std::env::current_exe()?);
        FormationLoad::simulated(name, neutrons, self.pulses, &program, folder, &here.stop)
    }

    /// The neutrons per second, for the settings of a result.
    pub(super) fn neutrons(&self) -> String {
        format!("{} Hz", self.neutrons.millihertz as f64 / 1e3)
    }
}

/// Packets per second, as `20kpps`.
pub(super) fn packets(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(Rate::Packets(rate)) if rate > 0 => Ok(rate),
        _ => Err(format!("found `{text}`, expected a rate of packets such as 100kpps")),
    }
}

/// The highest loss-free rate of a load into a destination.
pub(super) fn search(
    runner: &FormationRunner<'_>,
    load: &FormationLoad,
    into: Destination,
    time: TimeSpan,
    result: &ResultArguments,
) -> Result<HighestRate, CommandError> {
    let highest = highest_rate(load, time.to_std(), |load, rate| runner.run(load, into, rate))?;
    tell(result, &format!("{:14} {:8} {}", load.name, into.name(), line(&highest)));
    Ok(highest)
}

/// A rate that was searched, in words.
pub(super) fn line(highest: &HighestRate) -> String {
    let tried = highest.found.tried.len();
    let Some(point) = &highest.point else { return format!("no loss-free rate in {tried} measurements") };
    format!(
        "{:8.1} kpps {:8.2} M readouts/s {:8.3} M events/s {:5.2} cores  ({tried} measurements{})",
        point.packets.sent_per_second / 1e3,
        point.per_second(point.readouts) / 1e6,
        point.per_second(point.events) / 1e6,
        point.cores(),
        if highest.found.is_senders_limit { ", the sender's limit" } else { "" }
    )
}
