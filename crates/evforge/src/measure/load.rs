//! What `latency` and `observer` send: a simulated detector, at a rate that is searched or given.

use super::hosts::Here;
use super::points::tell;
use super::result::ResultArguments;
use crate::CommandError;
use clap::Args;
use evforge_config::{Rate, TimeSpan};
use evforge_core::quantity::Frequency;
use evforge_lab::measured_formation::{Destination, FormationLoad, FormationRunner};
use evforge_lab::measured_link::{LossFree, LossFreeCriterion, LossFreeSearch, highest_loss_free};
use std::path::Path;

/// Readouts of a measurement of a search, at least: below, a buffer is measured and no rate.
const SEARCHED_READOUTS: u64 = 5_000_000;
/// Rates are found to 5 %, in at most this many measurements.
pub(super) const SEARCH: LossFreeSearch =
    LossFreeSearch { criterion: LossFreeCriterion::Sustained, tolerance: 0.05, confirmations: 1, most: 14 };

/// What is sent.
#[derive(Args)]
pub(super) struct LoadArguments {
    /// Neutrons per second of the simulation
    #[arg(long, value_name = "RATE", default_value = "200kHz", value_parser = crate::simulate::rate)]
    neutrons: Frequency,
    /// Pulses that are simulated, and sent again and again
    #[arg(long, value_name = "NUMBER", hide_short_help = true, default_value_t = 14, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pulses: u64,
    /// How long to send at each point
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = TimeSpan::in_seconds)]
    pub(super) time: TimeSpan,
    /// Readouts of each measurement of the search for the highest rate, at least
    #[arg(long, value_name = "NUMBER", hide_short_help = true, default_value_t = SEARCHED_READOUTS, value_parser = clap::value_parser!(u64).range(1..))]
    readouts: u64,
    /// Override a key of the configuration for the run; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", hide_short_help = true)]
    pub(super) keys: Vec<String>,
}

impl LoadArguments {
    /// The load of a shipped configuration.
    pub(super) fn of(&self, name: &str, here: &Here, folder: &Path) -> Result<FormationLoad, CommandError> {
        let (neutrons, program) = ((self.neutrons.millihertz / 1000).max(1), std::env::current_exe()?);
        FormationLoad::simulated(name, neutrons, self.pulses, self.readouts, &program, folder, &here.stop)
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
    result: &ResultArguments,
) -> Result<LossFree, CommandError> {
    let found = highest_loss_free(&SEARCH, |rate| runner.run(load, into, rate).map(|point| point.packets))?;
    let rate = found.rate.map_or("none found".to_owned(), |rate| format!("{:.2} kpps", rate / 1e3));
    let limit = if found.is_senders_limit { ", as fast as the sender can" } else { "" };
    tell(result, &format!("{:14} {into:8} highest rate without loss: {rate}{limit}", load.name));
    Ok(found)
}
