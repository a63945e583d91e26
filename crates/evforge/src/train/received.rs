//! What a node has received: the verdict, for people and for programs.

use super::sent_here::SentHere;
use super::summaries::SummariesSent;
use evforge_core::counter::{CounterInfo, CounterSet, CounterSnapshot, Law, Role};
use evforge_net::live_receiver::ReceiveLosses;
use evforge_pipeline::report::{grouped, scaled};
use evforge_train::assembly::{AssemblyCounters, TrainReport, TrainSource};
use evforge_train::bridge::BridgeCounters;
use evforge_train::file::TrainFileCounters;
use evforge_train::node::{
    FirstTrain, ModulePort, ReaderProfile, ReaderStep, ReceivedTrains, SourceCounts, SourceReport,
    ThreadReport,
};
use evforge_train::sinks::{ContentFound, ForwardCounters, NewestCounters, Processed};
use evforge_train::tcp::StreamCounters;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What a node has received.
pub(super) struct Received {
    trains: ReceivedTrains,
    modules: Vec<ModulePort>,
    /// What the content check found, if there was one.
    content: Option<ContentFound>,
    /// What is in files, if there are any, and where.
    files: Option<(TrainFileCounters, PathBuf)>,
    /// What the sender's report says was sent to here, if there is one, or why it cannot be read.
    sent: Option<Result<SentHere, String>>,
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
    fn findings(&self) -> Vec<String> {
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

fn counters<C: CounterSet>(counted: &C) -> Map<String, Value> {
    CounterSnapshot::of(counted).iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect()
}

fn thread(thread: &ThreadReport) -> Value {
    json!({
        "addresses": thread.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "received_by": thread.way,
        "assembly": counters(&thread.assembly),
        "profile": thread.profile.as_ref().map(profile),
        "processor_s": thread.processor.as_secs_f64(),
        "irregular": thread.irregular.iter().map(irregular).collect::<Vec<_>>(),
        "sources": thread.sources.iter().map(source).collect::<Vec<_>>(),
        "further_sources": source_counts(&thread.further_sources),
        "notes": thread.state.notes,
    })
}

fn profile(profile: &ReaderProfile) -> Value {
    let steps: Map<String, Value> = ReaderStep::ALL
        .into_iter()
        .map(|step| (step.name().to_owned(), json!(profile.time(step).as_secs_f64())))
        .collect();
    json!({"seconds": steps, "batches": profile.batches, "empty": profile.empty, "largest_batch": profile.largest})
}

fn source_name(source: TrainSource) -> String {
    match source {
        TrainSource::Module(module) => format!("module {module}"),
        TrainSource::Sender(address) => address.to_string(),
    }
}

fn source(report: &SourceReport) -> Value {
    let first = |train: &FirstTrain| {
        let missing: Vec<_> = train.missing.iter().map(|range| [range.start, range.end]).collect();
        json!({"frame": train.frame, "packets": train.packets, "span": train.span, "missing": missing, "known": train.known})
    };
    json!({
        "source": source_name(report.source),
        "counts": source_counts(&report.counts),
        "first_trains": report.first_trains.iter().map(first).collect::<Vec<_>>(),
    })
}

fn source_counts(counts: &SourceCounts) -> Value {
    json!({
        "trains_good": counts.trains_good,
        "trains_rejected": counts.trains_rejected,
        "trains_incomplete": counts.trains_incomplete,
        "packets_in_trains": counts.packets_in_trains,
        "packets_repeated": counts.packets_repeated,
        "packets_late": counts.packets_late,
        "packets_rejected": counts.packets_rejected,
    })
}

fn irregular(report: &TrainReport) -> Value {
    json!({
        "source": source_name(report.source),
        "frame": report.frame,
        "train": report.number,
        "outcome": format!("{:?}", report.outcome),
        "packets": report.packets,
        "missing": report.missing,
        "is_size_known": report.is_size_known,
        "has_first": report.has_first,
        "has_last": report.has_last,
        "images": report.images,
        "images_touched": report.images_touched,
    })
}

/// The report for people.
pub(super) fn text(received: &Received) -> String {
    let mut text = String::new();
    let assembly: AssemblyCounters = received.trains.assembly();
    // Writing to a string cannot fail.
    let came = match &received.trains.streams {
        None => {
            format!("({} modules), {} packets", received.modules.len(), grouped(assembly.packets_received))
        }
        Some(streams) => {
            let StreamCounters { connections_accepted, waits_for_buffer, .. } = streams.counters;
            let (connections, waits) = (grouped(connections_accepted), grouped(waits_for_buffer));
            format!("({connections} connections, {waits} waits for a buffer)")
        }
    };
    let _ = writeln!(
        text,
        "trains        {} good of {} {came}, {} bytes of trains",
        grouped(assembly.trains_good),
        grouped(assembly.trains_opened),
        grouped(assembly.bytes_used),
    );
    for thread in &received.trains.threads {
        let addresses: Vec<String> = thread.addresses.iter().map(ToString::to_string).collect();
        let _ = write!(text, "received      at {}: {}", addresses.join(", "), thread.way);
        if let Some(profile) = &thread.profile {
            let parts: Vec<String> = ReaderStep::ALL
                .into_iter()
                .map(|step| format!("{} {:.0} %", step.name(), 100.0 * profile.part(step)))
                .collect();
            let _ = write!(text, "\n  its time    {}", parts.join(", "));
        }
        text.push('\n');
    }
    if let Some(content) = &received.content {
        let (right, all) = (content.counters.images_right, content.counters.images_received);
        let _ = writeln!(
            text,
            "content       {} of {} images are right, every byte of them",
            grouped(right),
            grouped(all)
        );
    }
    if let Some((files, folder)) = &received.files {
        let _ = writeln!(
            text,
            "files         {} in {}: {} trains of single modules, {} images, {}B",
            grouped(files.files_finished),
            folder.display(),
            grouped(files.trains_committed),
            grouped(files.images_taken),
            scaled(assembly.bytes_used as f64),
        );
    }
    if let Some(Processed { counters, .. }) = &received.processed {
        let rejected = counters.images_in - counters.images_kept;
        let (all, kept) = (grouped(counters.images_in), grouped(counters.images_kept));
        let _ = writeln!(text, "processing    {all} images: {kept} kept, {} rejected", grouped(rejected));
    }
    if let Some(forwarded) = &received.forwarded {
        let trains = grouped(forwarded.trains_sent);
        let way = match forwarded.connections_made + forwarded.connections_not_made {
            0 => format!("in {} packets", grouped(forwarded.packets_sent)),
            _ => format!("over {} connections", grouped(forwarded.connections_made)),
        };
        let _ = writeln!(text, "passed on     {trains} trains {way}");
    }
    if let Some(shown) = &received.shown {
        let (whole, replies) = (grouped(shown.whole_trains), grouped(shown.replies));
        let _ = writeln!(
            text,
            "bridge        {whole} whole trains, sent {replies} times to {} clients",
            grouped(shown.clients)
        );
    }
    if let Some(pictured) = &received.pictured {
        let (summed, offered) = (grouped(pictured.trains_summed), grouped(pictured.trains_offered));
        let _ = writeln!(text, "page          {summed} of {offered} trains were in its picture");
    }
    if let Some(SummariesSent { made, sent, .. }) = &received.summarised {
        let (acknowledged, all) = (grouped(sent.messages_acknowledged), grouped(made.summaries_made));
        let _ = writeln!(text, "kafka         {acknowledged} of {all} summaries are with the brokers");
    }
    let findings = received.findings();
    for finding in &findings {
        let _ = writeln!(text, "{finding}");
    }
    text.push_str(match findings.is_empty() {
        true => "passed: every train that was sent here came whole and good\n",
        false => "FAILED: see above\n",
    });
    text
}
