//! A NeXus file that is anchored to the wall clock when the first events come.
//!
//! A detector's clock counts from when its electronics were started. What has to be added to reach the Unix
//! epoch is known only with the first event: the time at which its packet arrived. So the file is made then;
//! whether it can be made is checked before the run, and its name is held from then on. A readout that tells the pulses carries the epoch, and nothing
//! is added; its file, too, is made with the first batch, which shows whether there are pulses.

use crate::CommandError;
use evforge_core::event::EventBatch;
use evforge_core::ledger::DetectorLedger;
use evforge_core::sink::{EventSink, SinkError};
use evforge_stream::nexus::{
    EpochAnchor, ExistingFile, NexusError, NexusOptions, NexusWriter, PulseOrigin, Reservation,
};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A NeXus writer that begins with the first events.
pub(crate) struct AnchoredNexus {
    options: NexusOptions,
    /// Nanoseconds since the Unix epoch at which the first packet was recorded; none for live input.
    recorded_ns: Option<u64>,
    /// True if the times of the detector are since the Unix epoch.
    carries_epoch: bool,
    writer: Option<NexusWriter>,
    /// Keeps others away from the file, from before it is there.
    _reservation: Reservation,
}

impl AnchoredNexus {
    /// A sink for the file that `options` describe. A file that an earlier, killed run has left there is
    /// recovered first, and the user is told.
    ///
    /// # Errors
    /// If there is a file that must not be replaced, another run is going to write it, or no file can be made there.
    pub(crate) fn new(
        mut options: NexusOptions,
        recorded_ns: Option<u64>,
        carries_epoch: bool,
    ) -> Result<Self, CommandError> {
        crate::output::check_writable("the NeXus file", &options.path)?;
        let reservation = match Reservation::take(&options.path, options.existing) {
            Err(NexusError::Exists { path, .. }) => {
                return Err(format!(
                    "the file {} exists already: choose another name, or say --if-exists overwrite or number",
                    path.display()
                )
                .into());
            }
            reservation => reservation?,
        };
        if let Some(recovered) = reservation.recovered() {
            eprintln!("{recovered}");
        }
        options.path = reservation.path().to_owned();
        if options.existing == ExistingFile::Number {
            // The number is settled.
            options.existing = ExistingFile::Refuse;
        }
        Ok(Self { options, recorded_ns, carries_epoch, writer: None, _reservation: reservation })
    }

    /// The writer; begun if this is the first call.
    fn writer(&mut self, first_ns: Option<u64>) -> Result<&mut NexusWriter, SinkError> {
        if self.writer.is_none() {
            self.options.anchor = if self.carries_epoch {
                EpochAnchor { nanoseconds: 0, clock: "the readout carries the epoch".to_owned() }
            } else {
                anchor(self.recorded_ns, first_ns)
            };
            self.writer = Some(NexusWriter::create(&self.options)?);
        }
        self.writer.as_mut().ok_or_else(|| "the NeXus file could not be begun".into())
    }

    /// The file, or the one that will be asked for.
    fn path(&self) -> &Path {
        self.writer.as_ref().map_or(&self.options.path, |writer| writer.path())
    }
}

/// What to add to detector times, and who says so.
fn anchor(recorded_ns: Option<u64>, first_event_ns: Option<u64>) -> EpochAnchor {
    let first_event = first_event_ns.unwrap_or(0);
    let (epoch_ns, clock) = match recorded_ns {
        Some(recorded) => (recorded, "arrival stamp of the first packet in the capture"),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (u64::try_from(now.as_nanos()).unwrap_or(u64::MAX), "wall clock at the first events")
        }
    };
    // Both are far below 2^63 nanoseconds, the year 2262.
    EpochAnchor { nanoseconds: epoch_ns as i64 - first_event as i64, clock: clock.to_owned() }
}

impl EventSink for AnchoredNexus {
    fn name(&self) -> String {
        format!("NeXus file {}", self.path().display())
    }

    fn take(&mut self, events: &EventBatch) -> Result<(), SinkError> {
        let first_pulse = events.pulses().first().map(|pulse| pulse.time_ns);
        if first_pulse.is_some() {
            self.options.pulse_origin = PulseOrigin::Readout;
        }
        let first_event = events.times_ns().first().copied();
        self.writer(first_pulse.or(first_event))?.take(events)
    }

    fn observe(&mut self, ledger: &DetectorLedger) -> Result<(), SinkError> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.observe(ledger))
    }

    fn finish(&mut self, ledger: &DetectorLedger) -> Result<(), SinkError> {
        self.writer(None)?.finish(ledger)
    }

    fn abandon(&mut self) -> Option<String> {
        self.writer.as_mut().and_then(|writer| writer.abandon())
    }
}
