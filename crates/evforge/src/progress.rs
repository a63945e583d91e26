//! Progress of long work: a bar on a terminal, a plain line now and then elsewhere.

use evforge_log::console;
use evforge_pipeline::capture_run::RunProgress;
use evforge_pipeline::report::{grouped, scaled};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);
/// Time between redraws on a terminal.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Shows how far a run is, on standard error.
pub(crate) struct ProgressDisplay {
    bar: Option<ProgressBar>,
    started: Instant,
    shown: Instant,
}

impl ProgressDisplay {
    /// A display; `quiet` shows nothing.
    pub(crate) fn new(quiet: bool) -> Option<Self> {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left");
            if let Ok(style) = style {
                bar.set_style(style);
            }
            let drawn = bar.clone();
            console::draw_around(Some(Arc::new(move |write: &mut dyn FnMut()| drawn.suspend(write))));
            bar
        });
        (!quiet).then(|| Self { bar, started: Instant::now(), shown: Instant::now() })
    }

    /// Shows the present state, if it is time to.
    pub(crate) fn show(&mut self, progress: RunProgress) {
        let interval = if self.bar.is_some() { REDRAW_INTERVAL } else { PLAIN_INTERVAL };
        if self.shown.elapsed() < interval {
            return;
        }
        self.shown = Instant::now();
        let seconds = self.started.elapsed().as_secs_f64();
        let text = format!(
            "{} packets ({}/s), {} events",
            grouped(progress.packets),
            scaled(progress.packets as f64 / seconds),
            grouped(progress.events)
        );
        match (&self.bar, progress.total_bytes) {
            (Some(bar), total) => {
                bar.set_length(total.unwrap_or(progress.bytes));
                bar.set_position(progress.bytes);
                bar.set_message(text);
            }
            (None, Some(total)) if total > 0 && progress.bytes > 0 => {
                let share = progress.bytes as f64 / total as f64;
                let left = seconds / share - seconds;
                eprintln!("{:.0} % read, {text}, about {left:.0} s left", 100.0 * share);
            }
            (None, _) => eprintln!("{text}"),
        }
    }

    /// Takes the display away.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            console::draw_around(None);
            bar.finish_and_clear();
        }
    }
}
