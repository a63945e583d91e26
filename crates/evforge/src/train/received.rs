//! What a node has received: the verdict, for people and for programs.

use super::received_threads::{counters, thread};
use super::sent_here::SentHere;
use super::summaries::SummariesSent;
use evforge_core::counter::{CounterInfo, CounterSet, CounterSnapshot, Law, Role};
use evforge_net::live_receiver::ReceiveLosses;
use evforge_pipeline::report::grouped;
use evforge_train::bridge::BridgeCounters;
use evforge_train::file::TrainFileCounters;
use evforge_train::node::{ModulePort, ReceivedTrains};
use evforge_train::sinks::{ContentFound, ForwardCounters, NewestCounters, Processed};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What a node has received.
pub(super) struct Received {
    pub(super) trains: ReceivedTrains,
    pub(super) modules: Vec<ModulePort>,
    /// What the content check found, if there was one.
    pub(super) content: Option<ContentFound>,
    /// What is in files, if there are any, and where.
    pub(super) files: Option<(TrainFileCounters, PathBuf)>,
    /// What the sender's report says was sent to here, if there is one, or why it cannot be read.
    pub(super) sent: Option<Result<SentHere, String>>,
    /// What clients of the karabo-bridge were shown, if there was one.
    pub(super) shown: Option<BridgeCounters>,
    /// What was passed on to the next node, if there is one.
    pub(super) forwarded: Option<ForwardCounters>,
    /// What steps over images have done, if there were some.
    pub(super) processed: Option<Processed>,
    /// What the page showed, if there was one.
    pub(super) pictured: Option<NewestCounters>,
    /// What happened to summaries for Kafka, if there were some.
    pub(super) summarised: Option<SummariesSent>,
}

impl Received {
    pub(super) fn new(
        trains: ReceivedTrains,
        modules: Vec<ModulePort>,
        content: Option<&Arc<Mutex<ContentFound>>>,
        files: Option<(&Arc<Mutex<TrainFileCounters>>, PathBuf)>,
        sent: Option<Result<SentHere, String>>,
    ) -> Self {
        let content = content.map(|found| found.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let files = files
            .map(|(counters, folder)| (*counters.lock().unwrap_or_else(PoisonError::into_inner), folder));
        Self {
            trains,
            modules,
            content,
            files,
            sent,
            shown: None,
            forwarded: None,
            processed: None,
            pictured: None,
            summarised: None,
        }
    }

    /// True if there were trains, every one was good and went everywhere, and nothing was lost or of no use.
    pub(super) fn passed(&self) -> bool {
        self.findings().is_empty()
    }

    /// What this host has lost before it could be received.
    fn losses(&self) -> ReceiveLosses {
        let mut losses = ReceiveLosses::default();
        self.trains.threads.iter().for_each(|thread| losses.add(&thread.state.losses));
        losses
    }

    /// What is not as it should be, in sentences.
    pub(super) fn findings(&self) -> Vec<String> {
        let assembly = self.trains.assembly();
        let mut findings = Vec::new();
        if assembly.trains_good == 0 {
            findings.push("no train was good".to_owned());
        }
        findings.extend(not_zero(&assembly, &MISSING));
        findings.extend(not_zero(&self.trains.counters, &["packets_of_further_ports"]));
        let streams = self.trains.streams.iter();
        findings.extend(streams.flat_map(|streams| not_zero(&streams.counters, &["trains_skipped"])));
        let losses = self.losses();
        let lost = losses.socket.count + losses.by_xdp();
        if lost > 0 {
            findings.push(format!("{} packets were lost in this host's receive buffers", grouped(lost)));
        }
        if let Some(content) = &self.content {
            findings.extend(not_zero(&content.counters, &["trains_without_images"]));
            let first = content.wrong.first();
            findings.extend(first.map(|wrong| {
                format!(
                    "the first wrong image is {} of train {} of module {}: byte {} is {:#04x}, expected {:#04x}",
                    wrong.image, wrong.train, wrong.module, wrong.fault.at, wrong.fault.found, wrong.fault.expected
                )
            }));
        }
        if let Some((files, _)) = &self.files {
            findings.extend(not_zero(files, &["images_left_out", "images_marked", "files_given_up"]));
        }
        findings
            .extend(self.forwarded.iter().flat_map(|forwarded| not_zero(forwarded, &["packets_refused"])));
        if let Some(SummariesSent { sent, trouble, .. }) = &self.summarised {
            let lost = not_zero(sent, &[]);
            let why = trouble.as_ref().filter(|_| !lost.is_empty());
            findings.extend(why.map(|why| format!("summaries did not reach the brokers: {why}")));
            findings.extend(lost);
        }
        match &self.sent {
            Some(Ok(sent)) => findings.extend(sent.missing(&assembly)),
            Some(Err(problem)) => findings.push(problem.clone()),
            None => {}
        }
        findings.extend(self.trains.failure.as_ref().map(ToString::to_string));
        findings.extend(self.trains.threads.iter().flat_map(|thread| thread.state.alarms.iter().cloned()));
        let unaccounted = self.unaccounted();
        if unaccounted > 0 {
            findings.push(format!("{unaccounted} packets or trains are unaccounted for: please report this"));
        }
        findings
    }

    /// What the laws leave over.
    fn unaccounted(&self) -> u128 {
        let of = |snapshot: CounterSnapshot| -> u128 {
            Law::ALL.into_iter().map(|law| snapshot.imbalance(law).unsigned_abs()).sum()
        };
        of(CounterSnapshot::of(&self.trains.assembly()))
            + of(CounterSnapshot::of(&self.trains.counters))
            + self.trains.streams.map_or(0, |streams| of(CounterSnapshot::of(&streams.counters)))
            + self.content.as_ref().map_or(0, |content| of(CounterSnapshot::of(&content.counters)))
            + self.processed.as_ref().map_or(0, |processed| of(CounterSnapshot::of(&processed.counters)))
            + self.forwarded.as_ref().map_or(0, |forwarded| of(CounterSnapshot::of(forwarded)))
            + self.pictured.as_ref().map_or(0, |pictured| of(CounterSnapshot::of(pictured)))
            + self.summarised.as_ref().map_or(0, |summarised| {
                of(CounterSnapshot::of(&summarised.made)) + of(CounterSnapshot::of(&summarised.sent))
            })
            + self.shown.as_ref().map_or(0, |shown| of(CounterSnapshot::of(shown)))
            + self.files.as_ref().map_or(0, |(files, _)| of(CounterSnapshot::of(files)))
    }

    /// As JSON.
    pub(super) fn json(&self) -> Value {
        let losses = self.losses();
        json!({
            "schema": 1,
            "passed": self.passed(),
            "findings": self.findings(),
            "modules": self.modules.iter().map(|at| json!({"module": at.module, "port": at.port})).collect::<Vec<_>>(),
            "assembly": counters(&self.trains.assembly()),
            "node": counters(&self.trains.counters),
            "streams": self.trains.streams.as_ref().map(|streams| {
                json!({"counters": counters(&streams.counters), "waited_s": streams.waited.as_secs_f64()})
            }),
            "lost_in_host": {
                "socket buffer": losses.socket.count,
                "is_lower_bound": losses.socket.is_lower_bound,
                "AF_XDP": losses.by_xdp(),
            },
            "content": self.content.as_ref().map(|content| counters(&content.counters)),
            "files": self.files.as_ref().map(|(files, folder)| {
                json!({"folder": folder.display().to_string(), "counters": counters(files)})
            }),
            "sent": self.sent.as_ref().and_then(|sent| sent.as_ref().ok()).map(SentHere::json),
            "processing": self.processed.as_ref().map(|processed| counters(&processed.counters)),
            "forwarded": self.forwarded.as_ref().map(counters),
            "view": self.pictured.as_ref().map(counters),
            "kafka": self.summarised.as_ref().map(|summarised| json!({
                "trains": counters(&summarised.made),
                "messages": counters(&summarised.sent),
                "trouble": summarised.trouble,
            })),
            "bridge": self.shown.as_ref().map(counters),
            "worker_busy_s": self.trains.busy.as_secs_f64(),
            "threads": self.trains.threads.iter().map(thread).collect::<Vec<_>>(),
            "unaccounted": u64::try_from(self.unaccounted()).unwrap_or(u64::MAX),
        })
    }
}

/// Counters of the assembly that discard nothing, and say that something is missing all the same.
const MISSING: [&str; 5] = [
    "packets_missing",
    "images_touched",
    "trains_without_buffer",
    "train_number_gaps",
    "train_number_restarts",
];

/// What was discarded, or was counted by one of these, each with its meaning.
fn not_zero<C: CounterSet>(counted: &C, others: &[&str]) -> Vec<String> {
    let snapshot = CounterSnapshot::of(counted);
    let is_in_question =
        |info: &CounterInfo| matches!(info.role, Role::Discarded(_)) || others.contains(&info.name);
    let all = snapshot.iter().filter(|(info, value)| *value > 0 && is_in_question(info));
    all.map(|(info, value)| format!("{} {}: {}", info.name, grouped(value), info.help)).collect()
}
