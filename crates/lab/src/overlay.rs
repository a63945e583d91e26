//! A capture, laid several times over itself, with its isolated events as truth: the capture read, its events formed, the
//! overlay written.

use crate::LabError;
use evforge_config::Config;
use evforge_core::detector;
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use evforge_detect::measured_windows::HitSource;
use evforge_net::capture::CaptureWriter;
use evforge_pipeline::report::{grouped, scaled};
use evforge_sim::overlay::caen_records::CaenRecordCapture;
use evforge_sim::overlay::format::{CaptureFormat, RecordedReadout};
use evforge_sim::overlay::recording::Recording;
use evforge_sim::overlay::srs_vmm::SrsVmmCapture;
use evforge_sim::overlay::{Overlay, OverlayOptions};
use evforge_sim::truth::Neutron;
use std::path::Path;

/// What to lay over itself, and where to.
pub struct OverlayRun<'a> {
    /// The capture.
    pub input: Box<dyn PacketSource>,
    /// Its name.
    pub path: &'a Path,
    /// Forms the events that become the truth.
    pub config: &'a Config,
    /// Silence around an isolated neutron, in multiples of the largest gap of time of the configuration.
    pub isolation: f64,
    /// How copies are laid over each other.
    pub options: OverlayOptions,
    /// The capture to write: pcapng, or .pkts by its name.
    pub output: &'a Path,
}

/// What has happened to it.
pub struct OverlayOutcome {
    /// The true neutrons of the overlay.
    pub truth: Vec<Neutron>,
    /// Packets that were written.
    pub packets: u64,
    /// What was read and what was made of it, for people.
    pub text: String,
}

/// What was read of a capture.
struct Captured<C> {
    packets: u64,
    /// Readouts, with those that have no place or no time.
    read: u64,
    readouts: Vec<RecordedReadout<C>>,
    events: Vec<Event>,
}

/// What a capture consists of that can be laid over itself.
pub enum OverlayFormat {
    /// SRS packets with VMM data.
    SrsVmm(Box<SrsVmmCapture>),
    /// Records of CAEN digitisers.
    CaenRecords(Box<CaenRecordCapture>),
}

impl OverlayFormat {
    /// The format of the captures of a configured detector.
    ///
    /// # Errors
    /// If they cannot be overlaid.
    pub fn of(config: &Config) -> Result<Self, LabError> {
        Ok(match config.detector.measured_windows()?.map(|windows| windows.hits) {
            Some(HitSource::Srs(settings)) => Self::SrsVmm(Box::new(SrsVmmCapture::new(settings)?)),
            Some(HitSource::CaenRecords(settings)) => {
                Self::CaenRecords(Box::new(CaenRecordCapture::new(settings)?))
            }
            Some(HitSource::Ess { .. }) | None => {
                let section = config.section;
                return Err(
                    format!("captures of a detector with a section [{section}] cannot be overlaid").into()
                );
            }
        })
    }
}

impl OverlayRun<'_> {
    /// Reads the capture and writes the overlay.
    ///
    /// # Errors
    /// If the capture cannot be read or tells no times, or the overlay cannot be written.
    pub fn run(self, format: OverlayFormat) -> Result<OverlayOutcome, LabError> {
        match format {
            OverlayFormat::SrsVmm(format) => self.run_format(*format),
            OverlayFormat::CaenRecords(format) => self.run_format(*format),
        }
    }

    fn run_format<F: CaptureFormat>(mut self, mut format: F) -> Result<OverlayOutcome, LabError> {
        let Captured { packets, read, readouts, events } = self.read(&mut format)?;
        let recording = Recording::new(&format, readouts, &events, self.isolation);
        let overlay = Overlay::new(&format, &recording, &self.options)
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        let mut text = capture_text(&recording, packets, read, events.len());
        text.push_str(&overlay_text(&overlay, &self.options));
        let mut writer = CaptureWriter::create(self.output)?;
        let mut outcome = Ok(());
        overlay.write(&mut format, |packet| {
            if outcome.is_ok() {
                outcome = writer.write(&packet.packet());
            }
        });
        outcome?;
        let packets = writer.finish()?.packets;
        Ok(OverlayOutcome { truth: overlay.truth, packets, text })
    }

    /// Reads the capture and forms its events.
    fn read<F: CaptureFormat>(&mut self, format: &mut F) -> Result<Captured<F::Content>, LabError> {
        let config = self.config;
        let mut detector = config.build_detector()?;
        let mut captured = Captured { packets: 0, read: 0, readouts: Vec::new(), events: Vec::new() };
        let mut slab =
            PacketSlab::new(config.input.packets_per_slab, config.input.bytes_per_slab.bytes as usize);
        let mut batch = EventBatch::new(config.input.events_per_batch);
        loop {
            slab.clear();
            let fill = self.input.fill(&mut slab)?;
            for packet in slab.batch().iter() {
                captured.packets += 1;
                captured.read += format.read(&packet, &mut captured.readouts);
            }
            let events = &mut captured.events;
            detector::form(detector.as_mut(), &slab.batch(), &mut batch, |batch| take(batch, events));
            if fill == Fill::End {
                break;
            }
        }
        detector::form_rest(detector.as_mut(), &mut batch, |batch| take(batch, &mut captured.events));
        let restarts = detector.ledger().counters.value("clock_restarts").unwrap_or(0);
        if restarts > 0 {
            return Err(format!(
                "{}: a clock of the electronics was restarted in it ({restarts} times), so that its times say nothing \
                 about what was together: cut the capture there",
                self.path.display()
            )
            .into());
        }
        Ok(captured)
    }
}

fn take(batch: &mut EventBatch, events: &mut Vec<Event>) {
    events.extend(batch.iter());
    batch.clear();
}

fn capture_text<C: Copy>(recording: &Recording<C>, packets: u64, read: u64, events: usize) -> String {
    let (seconds, labels) = (recording.seconds(), recording.label_count());
    let placed = recording.readouts.len() as u64;
    let mut text = format!(
        "capture       {} packets, {} readouts in {:.3} ms: {}readouts/s\n  left out    {} readouts without a place or a \
         time\nevents        {}: {}events/s\n  isolated    {}, with {:.0} ns of silence around them: {}events/s\n",
        grouped(packets),
        grouped(read),
        seconds * 1e3,
        scaled(placed as f64 / seconds),
        grouped(read.saturating_sub(placed)),
        grouped(events as u64),
        scaled(events as f64 / seconds),
        grouped(labels as u64),
        recording.silence_ps as f64 / 1e3,
        scaled(labels as f64 / seconds),
    );
    if recording.stray_events > 0 {
        let strays = grouped(recording.stray_events);
        text.push_str(&format!("  left out    {strays} events of readouts that were left out\n"));
    }
    if let Some(shortest) = recording.shortest_repetition_ps {
        let shortest = shortest as f64 / 1e3;
        text.push_str(&format!(
            "  one channel no two readouts closer than {shortest:.1} ns (see --dead-time)\n"
        ));
    }
    text
}

fn overlay_text<C: Copy>(overlay: &Overlay<'_, C>, options: &OverlayOptions) -> String {
    let neutrons = overlay.truth.len();
    let resolvable = overlay.truth.iter().filter(|neutron| neutron.resolvable).count();
    let mut text = format!(
        "overlay       {} copies, times {} as long: {:.3} ms\nneutrons      {}: {}neutrons/s\n  resolvable  {} \
         ({:.1} %)\nreadouts      {}: {}readouts/s\n",
        grouped(u64::from(options.copies)),
        options.stretch,
        overlay.seconds * 1e3,
        grouped(neutrons as u64),
        scaled(neutrons as f64 / overlay.seconds),
        grouped(resolvable as u64),
        100.0 * resolvable as f64 / neutrons.max(1) as f64,
        grouped(overlay.readout_count() as u64),
        scaled(overlay.readout_count() as f64 / overlay.seconds),
    );
    if overlay.left_out > 0 {
        let left_out = grouped(overlay.left_out);
        text.push_str(&format!(
            "  left out    {left_out} groups that would be torn at the edge of the detector\n"
        ));
    }
    if overlay.lost_in_dead_time > 0 {
        let lost = grouped(overlay.lost_in_dead_time);
        text.push_str(&format!("  lost        {lost} readouts in the dead time of their channel\n"));
    }
    text
}
