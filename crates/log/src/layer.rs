//! The layer of `tracing` that takes what is said.
//!
//! What a group does not say is asked for once: `tracing` keeps the answer with each place of the source, so that a place that is
//! off costs a relaxed load. Switching a group has all places asked again.

use crate::control::LogControl;
use crate::group::{Group, Level};
use crate::record::Record;
use std::sync::Arc;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// Takes a record.
pub(crate) type Take = Arc<dyn Fn(Record) + Send + Sync>;

/// The layer: levels by group in front, and behind them whatever takes the records.
#[derive(Clone)]
pub struct LogLayer {
    control: LogControl,
    take: Take,
}

impl LogLayer {
    pub(crate) fn new(control: LogControl, take: Take) -> Self {
        Self { control, take }
    }

    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        Level::of(metadata.level()) <= self.control.level(Group::of_target(metadata.target()))
    }
}

impl std::fmt::Debug for LogLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogLayer").field("control", &self.control).finish_non_exhaustive()
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.control.most().filter())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        (self.take)(Record::of(event));
    }
}
