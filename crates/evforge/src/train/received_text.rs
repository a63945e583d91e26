//! What a node has received, for people.

use super::received::Received;
use super::summaries::SummariesSent;
use evforge_pipeline::report::{grouped, scaled};
use evforge_train::assembly::{AssemblyCounters, TrainSource};
use evforge_train::node::ReaderStep;
use evforge_train::sinks::Processed;
use evforge_train::tcp::StreamCounters;
use std::fmt::Write as _;

/// Whose trains came: a port has one module, or as many as there are senders.
fn who(received: &Received) -> String {
    let sources = received.trains.threads.iter().flat_map(|thread| &thread.sources);
    let senders = sources.filter(|report| matches!(report.source, TrainSource::Sender(_))).count();
    let (count, one) = if senders > 0 { (senders, "sender") } else { (received.modules.len(), "module") };
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// The report for people.
pub(super) fn text(received: &Received) -> String {
    let mut text = String::new();
    let assembly: AssemblyCounters = received.trains.assembly();
    // Writing to a string cannot fail.
    let came = match &received.trains.streams {
        None => format!("({}), {} packets", who(received), grouped(assembly.packets_received)),
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
