//! `evforge kafka test-image`: known events to a topic.

use super::client::ClientArguments;
use super::ending::end;
use crate::CommandError;
use crate::arguments::span::now_ns;
use crate::exit_status::ExitStatus;
use crate::output::Ending;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_config::TimeSpan;
use evforge_core::quantity::Frequency;
use evforge_kafka::client::Deadline;
use evforge_kafka::tools::Sender;
use evforge_kafka::tools::test_image::{TestImage, send_image};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Arguments of `evforge kafka test-image`.
#[derive(Args)]
pub(super) struct TestImageArguments {
    /// Topic to send to
    #[arg(long, value_name = "TOPIC")]
    to: String,
    #[command(flatten)]
    client: ClientArguments,
    /// Pixels of the detector: columns x rows
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "64x64", value_parser = size)]
    size: (u32, u32),
    /// Id of the first pixel; the next are counted along the rows
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(i32).range(0..), help_heading = "Events")]
    first_pixel: i32,
    /// Name of the source
    #[arg(long, value_name = "NAME", default_value = "test_image")]
    source: String,
    /// Events in each pulse
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    events: u32,
    /// Pulses per second
    #[arg(long, value_name = "FREQUENCY", default_value = "14Hz")]
    frequency: Frequency,
    /// End after N pulses
    #[arg(long, value_name = "NUMBER", help_heading = "End")]
    pulses: Option<u64>,
    /// End after this time (60, 90s, 2h)
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
    /// No report on the terminal
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command.
pub(super) fn test_image(arguments: &TestImageArguments) -> Result<ExitStatus, CommandError> {
    if arguments.frequency.millihertz == 0 {
        return Err("--frequency 0Hz: pulses need a frequency above 0, such as 14Hz".into());
    }
    let period_ns = i64::try_from(1_000_000_000_000 / arguments.frequency.millihertz)?.max(1);
    let of_time = arguments.ends_after.map(|time| {
        // At least one: whoever asks for a moment wants to see something.
        (time.to_std().as_nanos() / period_ns.unsigned_abs() as u128).max(1) as u64
    });
    let (width, height) = arguments.size;
    let image = TestImage {
        width,
        height,
        first_pixel: arguments.first_pixel,
        source: arguments.source.clone(),
        events: arguments.events as usize,
        period_ns,
        pulses: arguments.pulses.into_iter().chain(of_time).min(),
    };
    let lit = image.pixels()?;
    let stop = stop_on_signals()?;
    let mut sender =
        Sender::open(&arguments.client.settings(), &arguments.to, &Deadline::of_opening().or_when(&stop))?;
    if !arguments.quiet {
        eprintln!(
            "sending a letter F in a frame on {width} x {height} pixels ({} of them lit), {} events per pulse",
            lit.len(),
            image.events
        );
    }
    send_image(&image, &lit, now_ns(), &mut sender, &stop)?;
    let delivery = sender.finish(Duration::from_secs(30), &AtomicBool::new(false));
    Ok(end(Ending::default(), &delivery, &arguments.to, arguments.quiet))
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once(['x', 'X', '×']);
    let parsed =
        parts.and_then(|(width, height)| Some((width.trim().parse().ok()?, height.trim().parse().ok()?)));
    parsed.ok_or_else(|| "expected columns and rows, such as 64x64".to_owned())
}
