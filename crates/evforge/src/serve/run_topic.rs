//! Starts and ends of runs that are heard on a topic of Kafka: pl72 and 6s4t, as file writers hear them.
//!
//! Nothing is answered: the file writer of the facility does that, and two answers to one command would be one too many.

use super::phase::Phase;
use crate::CommandError;
use evforge_config::Config;
use evforge_control::{Refusal, RunService as _, Runs, WantedRun};
use evforge_kafka::client::{ClientError, ClientSettings, Deadline};
use evforge_kafka::topic::{Begin, Next, TopicReader, Until};
use evforge_log::group;
use evforge_messages::{Message, Pl72, S6s4t, decode};
use evforge_net::clock::wall_clock_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a message is waited for before other things are looked at.
const TURN: Duration = Duration::from_millis(200);
/// From one try to the next, where the topic cannot be read.
const AGAIN: Duration = Duration::from_secs(5);

/// Listens until it is dropped.
pub(super) struct RunTopic {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RunTopic {
    /// Follows the topic of a configuration, from now on, unless `end` is set before it is open; none if it has none.
    ///
    /// # Errors
    /// If the topic cannot be read now, or `[kafka]` is wrong.
    pub(super) fn follow(
        config: &Config,
        runs: &Runs<Phase>,
        end: &Arc<AtomicBool>,
    ) -> Result<Option<Self>, CommandError> {
        let Some(topic) = config.serve.run_topic.clone() else { return Ok(None) };
        let client: ClientSettings = config.table("kafka")?;
        if client.brokers.is_none() {
            return Err(format!(
                "serve.run_topic = {topic:?} needs brokers: [kafka] brokers = \"HOST:9092\""
            )
            .into());
        }
        let reader = open(&client, &topic, end)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let mut listener = Listener {
            runs: runs.clone(),
            service_id: config.serve.service_id.clone(),
            job: None,
            stop_ms: None,
        };
        let ends = Arc::clone(&is_over);
        let thread = std::thread::Builder::new()
            .name("run topic".into())
            .spawn(move || listener.listen(reader, &client, &topic, &ends))?;
        Ok(Some(Self { is_over, thread: Some(thread) }))
    }
}

/// Opens the topic at its end.
fn open(client: &ClientSettings, topic: &str, end: &Arc<AtomicBool>) -> Result<TopicReader, ClientError> {
    let deadline = Deadline::of_opening().or_when(end);
    TopicReader::open(client, topic, Begin::Newest, Until::Forever, &deadline)
}

impl Drop for RunTopic {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What went wrong there has been said.
            let _ = thread.join();
        }
    }
}

struct Listener {
    runs: Runs<Phase>,
    /// The name of this service; messages for another one are not followed.
    service_id: Option<String>,
    /// The job that goes on, by the name that its start gave it.
    job: Option<String>,
    /// When it ends, milliseconds since 1970.
    stop_ms: Option<u64>,
}

impl Listener {
    fn listen(
        &mut self,
        reader: TopicReader,
        client: &ClientSettings,
        topic: &str,
        is_over: &Arc<AtomicBool>,
    ) {
        let mut reader = Some(reader);
        while !is_over.load(Ordering::Relaxed) {
            if self.stop_ms.is_some_and(|stop| now_ms() >= stop) {
                self.stop();
            }
            let Some(open) = &mut reader else {
                std::thread::sleep(AGAIN);
                reader = open(client, topic, is_over).ok();
                continue;
            };
            match open.next(TURN) {
                Ok(Next::Message(record)) => self.hear(&record.payload),
                Ok(Next::Changed(change)) => {
                    tracing::warn!(target: group::CONTROL, "starts of runs: {change}");
                }
                Ok(Next::Idle | Next::End) => {}
                Err(error) => {
                    tracing::warn!(target: group::CONTROL, "starts of runs are not heard: {error}. Tried again.");
                    reader = None;
                }
            }
        }
    }

    fn hear(&mut self, payload: &[u8]) {
        match decode(payload) {
            Ok(Message::Pl72(start)) if self.is_for_this(start.service_id) => self.hear_start(&start),
            Ok(Message::S6s4t(end)) if self.is_for_this(end.service_id) => self.hear_end(&end),
            // Topics of commands have other things, too.
            Ok(_) => {}
            Err(refused) => {
                tracing::warn!(target: group::CONTROL, "a message on the topic of runs cannot be read: {refused}")
            }
        }
    }

    fn is_for_this(&self, service_id: Option<&str>) -> bool {
        let (asked, own) = (service_id.filter(|id| !id.is_empty()), self.service_id.as_deref());
        asked.is_none() || own.is_none() || asked == own
    }

    fn hear_start(&mut self, start: &Pl72<'_>) {
        let Some(job) = start.job_id.filter(|job| !job.is_empty()) else {
            // Its end could not be told from that of another one.
            tracing::warn!(target: group::CONTROL, "a start on the topic of runs has no job_id and is not followed");
            return;
        };
        let name = start.run_name.unwrap_or_default();
        let number = name.parse().ok();
        let wanted = WantedRun {
            title: Some(name.to_owned()).filter(|name| number.is_none() && !name.is_empty()),
            number,
            ..WantedRun::default()
        };
        match self.runs.start(wanted) {
            Ok(run) => {
                self.job = Some(job.to_owned());
                self.stop_ms = Some(start.stop_time).filter(|stop| *stop > 0);
                let number = run.number.unwrap_or_default();
                tracing::info!(target: group::CONTROL, notice = true, "run {number} was started by the topic of runs");
            }
            Err(refusal) => {
                tracing::warn!(target: group::CONTROL, "the topic of runs asked for a run: refused: {refusal}")
            }
        }
    }

    fn hear_end(&mut self, end: &S6s4t<'_>) {
        if self.job.is_none() || self.job.as_deref() != end.job_id {
            // It is the end of a run that was not started here.
            return;
        }
        if end.stop_time > now_ms() {
            self.stop_ms = Some(end.stop_time);
        } else {
            self.stop();
        }
    }

    fn stop(&mut self) {
        (self.job, self.stop_ms) = (None, None);
        match self.runs.stop() {
            Ok(_) => {
                tracing::info!(target: group::CONTROL, notice = true, "the run was ended by the topic of runs")
            }
            // Somebody has ended it before.
            Err(Refusal::NoRun) => {}
            Err(refusal) => {
                tracing::warn!(target: group::CONTROL, "the topic of runs asked for the end of the run: {refusal}")
            }
        }
    }
}

fn now_ms() -> u64 {
    wall_clock_ns() / 1_000_000
}
