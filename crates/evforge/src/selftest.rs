//! `evforge selftest`: a simulated load through everything that a run uses on this host, and a verdict with figures.

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, print};
use crate::outputs::{OutputArguments, OutputPlans};
use crate::own_folder;
use crate::signals::stop_on_signals;
use crate::simulate::rate;
use crate::simulated_electronics::{Beam, Electronics, configuration};
use clap::Args;
use evforge_config::{Frequency, TimeSpan};
use evforge_core::run_state::LedgerTotals;
use evforge_lab::demonstration::Sent;
use evforge_outputs::Registry;
use evforge_pipeline::report::{RunReport, grouped};
use evforge_pipeline::run_control::RunControl;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// None lost of N packets: with 95 % certainty fewer than 3 / N are lost (Poisson).
const UPPER_BOUND: f64 = 3.0;

/// Arguments of `evforge selftest`.
#[derive(Args)]
pub(crate) struct SelftestArguments {
    /// A detector (gdgem, multigrid, multiblade, sonde) or any shipped configuration (nmx, trex, freia …)
    #[arg(long, default_value = "freia", value_name = "NAME")]
    detector: String,
    /// How long to send
    #[arg(long = "for", default_value = "60", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: TimeSpan,
    /// Neutrons per second: 20kHz
    #[arg(long, default_value = "50kHz", value_name = "RATE", value_parser = rate)]
    neutrons: Frequency,
    /// The same seed gives the same neutrons
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the event file is written, which is removed at the end; without it, the folder for temporary files
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs the command. Good if every packet that was sent is accounted for, and none is lost.
pub(crate) fn selftest(
    arguments: &SelftestArguments,
    registry: &Registry,
) -> Result<ExitStatus, CommandError> {
    let folder =
        own_folder::make_in(&arguments.folder.clone().unwrap_or_else(std::env::temp_dir), "selftest")?;
    let mut config = configuration(&arguments.detector, &arguments.overrides)?;
    let beam = Beam { seed: arguments.seed, neutrons: arguments.neutrons, noise: None };
    let electronics = Electronics::new(&config, &beam, Some(arguments.ends_after.to_std()))?;
    let targets =
        OutputArguments { nexus: Some(folder.path().join("selftest.nxs")), ..OutputArguments::default() };
    targets.apply(&mut config);
    let stop = stop_on_signals()?;
    let mut outputs = OutputPlans::read(&targets, &config, registry)?.open(&config, None, &stop)?;
    let (report, sent) = electronics.send_to_a_run(&config, RunControl::default(), &mut outputs, &stop)?;
    let mut ending = Ending::default();
    outputs.finish(&report, &mut ending);
    let verdict = Verdict::of(&report, &sent?, &folder.path().join("selftest.nxs"));
    if !verdict.is_good() {
        ending.print(&report.to_text());
    }
    print(&verdict.to_text(&config.name))?;
    Ok(ExitStatus::of(verdict.is_good() && ending.is_good()))
}

/// The figures, and what follows from them.
struct Verdict {
    sent: u64,
    received: u64,
    unaccounted: u64,
    neutrons: u64,
    events: u64,
    seconds: f64,
    bytes: u64,
    file: u64,
    run_is_good: bool,
}

impl Verdict {
    fn of(report: &RunReport, sent: &Sent, file: &Path) -> Self {
        let totals = LedgerTotals::of(&report.state.ledger);
        Self {
            sent: sent.report.packets,
            received: totals.packets,
            unaccounted: report.state.ledger.unaccounted(),
            neutrons: sent.neutrons,
            events: totals.events,
            seconds: sent.report.elapsed.as_secs_f64(),
            bytes: sent.report.bytes,
            file: std::fs::metadata(file).map_or(0, |file| file.len()),
            run_is_good: report.is_success(),
        }
    }

    /// Name, whether it holds, and the figures.
    fn points(&self) -> Vec<(&'static str, bool, String)> {
        let lost = self.sent.abs_diff(self.received);
        let bound = match lost {
            0 if self.sent > 0 => {
                format!("none lost: fewer than {:.1e} of them, by 95 %", UPPER_BOUND / self.sent as f64)
            }
            _ => format!("{} are not there", grouped(lost)),
        };
        let (sent, received) = (grouped(self.sent), grouped(self.received));
        vec![
            ("packets", lost == 0 && self.sent > 0, format!("{sent} sent, {received} received; {bound}")),
            (
                "accounted for",
                self.unaccounted == 0,
                format!("{} packets, readouts and hits are not", self.unaccounted),
            ),
            (
                "events",
                self.events > 0,
                format!("{} formed of {} simulated neutrons", grouped(self.events), grouped(self.neutrons)),
            ),
            ("file", self.file > 0, format!("NeXus, {} bytes", grouped(self.file))),
            (
                "run",
                self.run_is_good,
                if self.run_is_good { "whole".into() } else { "see the report above".into() },
            ),
        ]
    }

    fn is_good(&self) -> bool {
        self.points().iter().all(|(_, holds, _)| *holds)
    }

    fn to_text(&self, name: &str) -> String {
        let mut text = String::new();
        for (point, holds, figures) in self.points() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:<8} {point:<14} {figures}", if holds { "good" } else { "FAILED" });
        }
        let rate = |number: u64| number as f64 / self.seconds.max(1e-9);
        let _ = writeln!(
            text,
            "{} {name}: {:.0} s, {:.0} packets/s, {:.1} MB/s, {:.0} events/s over UDP on this host",
            if self.is_good() { "PASSED" } else { "FAILED" },
            self.seconds,
            rate(self.sent),
            rate(self.bytes) / 1e6,
            rate(self.events),
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Verdict {
        Verdict {
            sent: 3000,
            received: 3000,
            unaccounted: 0,
            neutrons: 100,
            events: 90,
            seconds: 2.0,
            bytes: 4_000_000,
            file: 5000,
            run_is_good: true,
        }
    }

    #[test]
    fn each_point_can_fail_and_is_named() {
        assert!(
            good().is_good() && good().to_text("x").contains("fewer than 1.0e-3"),
            "{}",
            good().to_text("x")
        );
        for (wrong, named) in [
            (
                Verdict { received: 2999, ..good() },
                "FAILED   packets        3 000 sent, 2 999 received; 1 are not there",
            ),
            (Verdict { sent: 0, received: 0, ..good() }, "FAILED   packets"),
            (Verdict { unaccounted: 1, ..good() }, "FAILED   accounted for"),
            (Verdict { events: 0, ..good() }, "FAILED   events"),
            (Verdict { file: 0, ..good() }, "FAILED   file"),
            (Verdict { run_is_good: false, ..good() }, "FAILED   run"),
        ] {
            let text = wrong.to_text("x");
            assert!(!wrong.is_good() && text.contains(named) && text.contains("FAILED x"), "{named}: {text}");
        }
    }
}
