//! The table of counters in `docs/counters.md`, made from their declarations.

use crate::outputs::ImageCounters;
use evforge_core::counter::{CounterInfo, CounterSet, Law, Role};
use evforge_core::pulsed::PulseCounters;
use evforge_core::run_state::OutputCounters;
use evforge_detect::adc_readout::AdcReadoutCounters;
use evforge_detect::beam_monitors::{BeamMonitorCounters, NeutronCounters};
use evforge_detect::ess::{FilingCounters, HeaderCounters, TimeSourceCounters, VmmCounters};
use evforge_detect::gdgem::{GdGemCounters, TrackCounters};
use evforge_detect::multiblade::{CassetteCounters, MultiBladeCounters};
use evforge_detect::multigrid::{CncsCounters, ColumnCounters, MesytecCounters, OutletCounters};
use evforge_detect::packet_gate::PacketCounters;
use evforge_detect::sonde::SondeCounters;
use evforge_detect::source_clocks::SourceClockCounters;
use evforge_filewriter::job::WriterCounters;
use evforge_kafka::packets::TopicCounters;
use evforge_lab::link::drop::DropCounters;
use evforge_lab::link::numbered::NumberedCounters;
use evforge_lab::simulated_source::SimulationCounters;
use evforge_messages::RefusedCounters;
use evforge_net::capture::CaptureCounters;
use evforge_net::departure_counters::DepartureCounters;
use evforge_net::interfaces::InterfaceCounters;
use evforge_net::kernel_counters::KernelCounters;
use evforge_net::record::RecordCounters;
use evforge_net::socket::ReceiverCounters;
use evforge_net::xdp::XdpCounters;
use evforge_outputs::csv::CsvCounters;
use evforge_outputs::packet_tap::PacketTapCounters;
use evforge_plugin::PluginCounters;
use evforge_stream::nexus::NexusCounters;
use evforge_view::ViewCounters;
use std::fmt::Write as _;

/// Markdown: a section with a table for each stage.
pub fn counter_table() -> String {
    let mut text = String::new();
    add_stage::<CaptureCounters>(&mut text, "Reading a capture file");
    add_stage::<TopicCounters>(&mut text, "Reading raw packets from a topic");
    add_stage::<ReceiverCounters>(&mut text, "Receiving from the network");
    add_stage::<XdpCounters>(&mut text, "Receiving by AF_XDP");
    add_stage::<KernelCounters>(&mut text, "What the kernel lost");
    add_stage::<InterfaceCounters>(&mut text, "What the network interfaces lost");
    add_stage::<DepartureCounters>(&mut text, "What the kernel lost of what it was given to send");
    add_stage::<RecordCounters>(&mut text, "Recording packets");
    add_stage::<PacketCounters>(&mut text, "Packets of any detector");
    add_stage::<SourceClockCounters>(&mut text, "Putting the hits of several sources into order");
    add_stage::<GdGemCounters>(&mut text, "Packets and readouts of a Gd-GEM with SRS");
    add_stage::<TrackCounters>(&mut text, "Forming events of the tracks in a Gd-GEM");
    add_stage::<MesytecCounters>(&mut text, "Forming events of a Multi-Grid with VMMR modules");
    add_stage::<CncsCounters>(&mut text, "Forming events of the Multi-Grid demonstrator at CNCS");
    add_stage::<OutletCounters>(&mut text, "Handing out the events of a Multi-Grid");
    add_stage::<ColumnCounters>(&mut text, "Forming events of a Multi-Grid with the ESS readout");
    add_stage::<SondeCounters>(&mut text, "Forming events of a SoNDe");
    add_stage::<MultiBladeCounters>(&mut text, "Readouts of a Multi-Blade with CAEN digitisers");
    add_stage::<CassetteCounters>(&mut text, "Forming events of a Multi-Blade");
    add_stage::<HeaderCounters>(&mut text, "Headers of the ESS readout");
    add_stage::<TimeSourceCounters>(&mut text, "Pulses and time source of the ESS readout");
    add_stage::<VmmCounters>(&mut text, "VMM3a records of the ESS readout");
    add_stage::<FilingCounters>(&mut text, "Filing events under the pulses of the ESS readout");
    add_stage::<BeamMonitorCounters>(&mut text, "Records of beam monitors");
    add_stage::<NeutronCounters>(&mut text, "Single neutrons of beam monitors");
    add_stage::<AdcReadoutCounters>(&mut text, "Forming events of sampled channels");
    add_stage::<SimulationCounters>(&mut text, "Simulating a detector");
    add_stage::<DropCounters>(&mut text, "Packets of a DROP stream");
    add_stage::<NumberedCounters>(&mut text, "Numbered packets");
    add_stage::<PluginCounters>(&mut text, "Forming events of a plugin");
    add_stage::<PulseCounters>(&mut text, "Giving events their pulses and times of flight");
    add_stage::<OutputCounters>(&mut text, "Any output");
    add_stage::<PacketTapCounters>(&mut text, "Raw packets for outputs");
    add_stage::<RefusedCounters>(&mut text, "Messages that are not read");
    add_stage::<NexusCounters>(&mut text, "A NeXus file");
    add_stage::<WriterCounters>(&mut text, "The file writer");
    add_stage::<CsvCounters>(&mut text, "A CSV file");
    add_stage::<ViewCounters>(&mut text, "The live view");
    add_stage::<ImageCounters>(&mut text, "The image of a detector");
    text
}

fn add_stage<C: CounterSet>(text: &mut String, title: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n## {title} (`{}`)\n", C::STAGE);
    text.push_str("| counter | unit | part in the laws | meaning |\n|---|---|---|---|\n");
    for CounterInfo { name, unit, help, role } in C::infos() {
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
