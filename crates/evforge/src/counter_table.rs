//! All stages that count; the table in `docs/counters.md`, made from their declarations.

use crate::outputs::ImageCounters;
use crate::train::SummaryCounters;
use evforge_config::detectors::counted_stages;
use evforge_control::desk::ControlCounters;
use evforge_core::counter::{CountedStage, CounterInfo, CounterSet, Law, Role};
use evforge_core::pulsed::PulseCounters;
use evforge_core::run_state::OutputCounters;
use evforge_detect::ess::{FilingCounters, HeaderCounters, TimeSourceCounters, VmmCounters};
use evforge_detect::packet_gate::PacketCounters;
use evforge_detect::source_clocks::SourceClockCounters;
use evforge_filewriter::job::WriterCounters;
use evforge_kafka::aggregate::AggregateCounters;
use evforge_kafka::events::EventTopicCounters;
use evforge_kafka::packets::TopicCounters;
use evforge_kafka::producer::KafkaCounters;
use evforge_kafka::sending::MessageOutletCounters;
use evforge_lab::link::drop::DropCounters;
use evforge_lab::link::numbered::NumberedCounters;
use evforge_lab::simulated_source::SimulationCounters;
use evforge_log::LogCounters;
use evforge_messages::RefusedCounters;
use evforge_metrics::boards::Stage;
use evforge_metrics::graphite::GraphiteCounters;
use evforge_net::capture::CaptureCounters;
use evforge_net::departure_counters::DepartureCounters;
use evforge_net::interfaces::InterfaceCounters;
use evforge_net::kernel_counters::KernelCounters;
use evforge_net::record::RecordCounters;
use evforge_net::socket::ReceiverCounters;
use evforge_net::xdp::XdpCounters;
use evforge_outputs::csv::CsvCounters;
use evforge_outputs::packet_tap::PacketTapCounters;
use evforge_stream::nexus::{FollowCounters, NexusCounters};
use evforge_train::assembly::AssemblyCounters;
use evforge_train::bridge::BridgeCounters;
use evforge_train::file::TrainFileCounters;
use evforge_train::generate::SentCounters;
use evforge_train::node::NodeCounters;
use evforge_train::processing::ProcessingCounters;
use evforge_train::sinks::{ContentCounters, ForwardCounters, NewestCounters};
use evforge_train::tcp::StreamCounters;
use evforge_view::ViewCounters;
use std::fmt::Write as _;

/// What the metrics of detectors and of outputs belong to.
const DETECTOR: Option<&str> = Some("detector");
const OUTPUT: Option<&str> = Some("output");
/// Stages of commands that have no metrics.
const NONE: Option<&str> = None;

/// All stages that count.
pub fn counter_stages() -> Vec<Stage> {
    let mut stages = vec![
        stage::<CaptureCounters>("Reading a capture file", Some("capture")),
        stage::<TopicCounters>("Reading raw packets from a topic", Some("topic")),
        stage::<ReceiverCounters>("Receiving from the network", Some("receive")),
        stage::<XdpCounters>("Receiving by AF_XDP", Some("xdp")),
        stage::<KernelCounters>("What the kernel lost", Some("kernel")),
        stage::<InterfaceCounters>("What the network interfaces lost", Some("interface")),
        stage::<DepartureCounters>("What the kernel lost of what it was given to send", NONE),
        stage::<RecordCounters>("Recording packets", NONE),
        stage::<PacketCounters>("Packets of any detector", DETECTOR),
        stage::<SourceClockCounters>("Putting the hits of several sources into order", DETECTOR),
        stage::<HeaderCounters>("Headers of the ESS readout", DETECTOR),
        stage::<TimeSourceCounters>("Pulses and time source of the ESS readout", DETECTOR),
        stage::<VmmCounters>("VMM3a records of the ESS readout", DETECTOR),
        stage::<FilingCounters>("Filing events under the pulses of the ESS readout", DETECTOR),
    ];
    let of_detector =
        |CountedStage { title, name, counters }| Stage { title, name, group: DETECTOR, counters };
    stages.extend(counted_stages().into_iter().map(of_detector));
    stages.extend([
        stage::<SimulationCounters>("Simulating a detector", NONE),
        stage::<DropCounters>("Packets of a DROP stream", NONE),
        stage::<NumberedCounters>("Numbered packets", NONE),
        stage::<SentCounters>("Sending trains", NONE),
        stage::<AssemblyCounters>("Putting trains together", NONE),
        stage::<StreamCounters>("Connections over which trains come", NONE),
        stage::<NodeCounters>("Trains of a node", NONE),
        stage::<ContentCounters>("The content of trains", NONE),
        stage::<ProcessingCounters>("Steps over the images of trains", NONE),
        stage::<TrainFileCounters>("Files of trains", NONE),
        stage::<ForwardCounters>("Trains for the next node", NONE),
        stage::<BridgeCounters>("Trains for clients of the karabo-bridge", NONE),
        stage::<NewestCounters>("Trains for the page", NONE),
        stage::<SummaryCounters>("Summaries of trains", NONE),
        stage::<MessageOutletCounters>("Messages that nothing waits for", NONE),
        stage::<PulseCounters>("Giving events their pulses and times of flight", DETECTOR),
        stage::<OutputCounters>("Any output", OUTPUT),
        stage::<ControlCounters>("What is asked of a run while it goes on", Some("control")),
        stage::<LogCounters>("What the program says", Some("log")),
        stage::<PacketTapCounters>("Raw packets for outputs", Some("packet_tap")),
        stage::<RefusedCounters>("Messages that are not read", NONE),
        stage::<FollowCounters>("Showing a NeXus file", NONE),
        stage::<EventTopicCounters>("Showing the events of topics", NONE),
        stage::<AggregateCounters>("Putting frames together", NONE),
        stage::<NexusCounters>("A NeXus file", OUTPUT),
        stage::<WriterCounters>("The file writer", NONE),
        stage::<KafkaCounters>("Messages for Apache Kafka", OUTPUT),
        stage::<GraphiteCounters>("Lines for Graphite", OUTPUT),
        stage::<CsvCounters>("A CSV file", OUTPUT),
        stage::<ViewCounters>("The live view", OUTPUT),
        stage::<ImageCounters>("The image of a detector", OUTPUT),
    ]);
    stages
}

fn stage<C: CounterSet>(title: &'static str, group: Option<&'static str>) -> Stage {
    Stage { title, name: C::STAGE, group, counters: C::infos() }
}

/// Markdown: a section with a table for each stage.
pub fn counter_table() -> String {
    let mut text = String::new();
    counter_stages().iter().for_each(|stage| add_stage(&mut text, stage));
    text
}

fn add_stage(text: &mut String, stage: &Stage) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n## {} (`{}`)\n", stage.title, stage.name);
    text.push_str("| counter | unit | part in the laws | meaning |\n|---|---|---|---|\n");
    for CounterInfo { name, unit, help, role } in stage.counters {
        let help = help.replace('|', "\\|");
        let _ = writeln!(text, "| `{name}` | {} | {} | {help} |", unit.name(), part(*role));
    }
}

/// A counter's part in the laws, in words.
fn part(role: Role) -> String {
    let side = |law: Law, side: &str| format!("{}: {side}", law.name());
    match role {
        Role::Enters(law) => side(law, "in"),
        Role::Leaves(law) => side(law, "out"),
        Role::Joins(before, after) => format!("{}, {}", side(before, "out"), side(after, "in")),
        Role::Discarded(law) => side(law, "discarded"),
        Role::Held(law) => side(law, "held"),
        Role::HandedOut => "events: handed out".to_owned(),
        Role::Information => "–".to_owned(),
        Role::Now => "– (at this moment)".to_owned(),
    }
}
