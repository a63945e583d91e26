//! Summaries of trains, as messages to a topic of Kafka.

use crate::CommandError;
use clap::Args;
use evforge_config::ByteSize;
use evforge_kafka::client::{Brokers, ClientSettings};
use evforge_kafka::sending::{MessageOutlet, MessageOutletCounters, Offered, Outgoing};
use evforge_log::group;
use evforge_messages::da00::Variable;
use evforge_messages::{Da00, Encoder};
use evforge_train::file::source_name;
use evforge_train::node::{NodeTrain, SinkError, TrainSink};
use evforge_train::sinks::{NotSummed, TrainSummary};
use evforge_wire::train::TrainDetector;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

evforge_core::counters! {
    /// Trains, and the summaries made of them.
    pub struct SummaryCounters: "train summaries" {
        trains_offered: Enters(Outputs), Times, "Trains of single modules of which there could be a summary.";
        summaries_made: Leaves(Outputs), Times, "Summaries of trains of single modules that were made, to be sent.";
        trains_not_whole: Discarded(Outputs), Times, "Incomplete trains that are kept: summaries are of whole ones only.";
        trains_of_other_images: Discarded(Outputs), Times, "Trains whose images do not have the size of the detector's.";
    }
}

/// How long brokers may take at the end to acknowledge what waits.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Summaries, on the command line.
#[derive(Args)]
pub(super) struct SummaryArguments {
    /// Send a summary of each whole train, as da00, to these brokers: HOST, HOST:PORT, or several with commas
    #[arg(long, value_name = "BROKERS", requires = "kafka_topic", conflicts_with_all = ["image_size", "packets_per_train"], help_heading = "Kafka")]
    kafka: Option<Brokers>,
    /// The topic of the summaries, which must be there unless the brokers make it
    #[arg(long, value_name = "TOPIC", requires = "kafka", help_heading = "Kafka")]
    kafka_topic: Option<String>,
    /// Send the mean image, too: 256 KiB in each message
    #[arg(long, requires = "kafka", help_heading = "Kafka")]
    kafka_image: bool,
    /// Memory for summaries that brokers have not acknowledged; what finds it full is left out, and counted
    #[arg(long, value_name = "SIZE", default_value = "16MiB", requires = "kafka", help_heading = "Kafka")]
    kafka_memory: ByteSize,
}

impl SummaryArguments {
    /// Where summaries go, if they are asked for.
    pub(super) fn sink(
        &self,
        detector: TrainDetector,
        source: String,
    ) -> Result<Option<SummarySink>, CommandError> {
        let (Some(brokers), Some(topic)) = (&self.kafka, &self.kafka_topic) else { return Ok(None) };
        let outlet = MessageOutlet::new(&ClientSettings::new(brokers.clone()), self.kafka_memory.bytes, &[])?;
        Ok(Some(SummarySink {
            detector,
            source,
            with_image: self.kafka_image,
            topic: topic.clone(),
            outlet,
            summary: TrainSummary::default(),
            made: SummaryMessage::default(),
            counters: SummaryCounters::default(),
            trouble: None,
            sent: Arc::default(),
        }))
    }
}

/// What has become of trains and of their summaries.
#[derive(Clone, Debug, Default)]
pub(super) struct SummariesSent {
    /// From trains to summaries.
    pub(super) made: SummaryCounters,
    /// From summaries to the brokers.
    pub(super) sent: MessageOutletCounters,
    /// What stood between this program and the brokers last, if anything did.
    pub(super) trouble: Option<String>,
}

/// Sends a summary of each whole train. Brokers that are slow or not there hold nothing up.
pub(super) struct SummarySink {
    detector: TrainDetector,
    /// Detector and instrument that sources are named after.
    source: String,
    with_image: bool,
    topic: String,
    outlet: MessageOutlet,
    summary: TrainSummary,
    made: SummaryMessage,
    counters: SummaryCounters,
    trouble: Option<String>,
    sent: Arc<Mutex<SummariesSent>>,
}

impl SummarySink {
    /// What has become of them, to be looked at once the node has ended, or while it runs.
    pub(super) fn sent(&self) -> Arc<Mutex<SummariesSent>> {
        Arc::clone(&self.sent)
    }

    fn tell(&mut self) {
        let trouble = self.outlet.trouble();
        // Once for each trouble, and not once for each train.
        if let Some(trouble) = trouble.as_ref().filter(|_| self.trouble.is_none()) {
            tracing::warn!(target: group::KAFKA, "summaries of trains do not reach the brokers: {trouble}");
        }
        self.trouble.clone_from(&trouble);
        let told = SummariesSent { made: self.counters, sent: self.outlet.counters(), trouble };
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }
}

impl TrainSink for SummarySink {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        self.counters.trains_offered += 1;
        match self.summary.renew(train, self.detector) {
            Ok(()) => {}
            Err(why) => {
                *match why {
                    NotSummed::NotWhole => &mut self.counters.trains_not_whole,
                    NotSummed::OtherImages => &mut self.counters.trains_of_other_images,
                } += 1;
                return Ok(());
            }
        }
        self.counters.summaries_made += 1;
        let time_ns = i64::try_from(train.train.report().opened_ns).unwrap_or(i64::MAX);
        let source = source_name(&self.source, train.module);
        let shape = self.with_image.then(|| self.detector.shape());
        let payload = self.made.of(&self.summary, &source, time_ns, shape);
        let (topic, key, timestamp_ms) = (self.topic.as_str(), Some(source.as_bytes()), time_ns / 1_000_000);
        let message = Outgoing { topic, key, payload, timestamp_ms, ..Outgoing::default() };
        if self.outlet.offer(&message) == Offered::NoRoom {
            self.outlet.leave_out();
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<(), SinkError> {
        self.outlet.poll(Duration::ZERO);
        self.tell();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.outlet.finish(LAST_PATIENCE, &AtomicBool::new(false));
        self.tell();
        Ok(())
    }
}

/// A summary as da00, with memory that is used again.
#[derive(Default)]
struct SummaryMessage {
    encoder: Encoder,
    pulses: Vec<u64>,
    intensities: Vec<u64>,
    image: Vec<f32>,
}

impl SummaryMessage {
    /// The message of a train whose first packet came at this time; with the mean image, of this shape, if it is wanted.
    fn of(&mut self, summary: &TrainSummary, source: &str, time_ns: i64, shape: Option<[usize; 3]>) -> &[u8] {
        let Self { encoder, pulses, intensities, image } = self;
        pulses.clear();
        pulses.extend(summary.pulses().iter().map(|pulse| pulse.pulse));
        intensities.clear();
        intensities.extend(summary.pulses().iter().map(|pulse| pulse.sum));
        image.clear();
        let (train, of_pulses) = ([summary.train()], [pulses.len() as i64]);
        let mut data = vec![
            Variable::single("train", None, &train),
            Variable::new("intensity", None, vec!["pulse"], &of_pulses, &*intensities),
            Variable::new("pulse", None, vec!["pulse"], &of_pulses, &*pulses),
        ];
        let of_image = shape.map_or([0, 0], |[_, rows, columns]| [rows as i64, columns as i64]);
        if shape.is_some() {
            image.extend(summary.means().map(|mean| mean as f32));
            data.push(Variable::new("image", None, vec!["y", "x"], &of_image, &*image));
        }
        Da00 { source_name: source, timestamp: time_ns, data }.encode(encoder)
    }
}
