//! Every parser of evforge, exercised with arbitrary bytes.
//!
//! An exercise takes any bytes, feeds them to a parser and panics if something does not hold that must hold
//! whatever the input is. The fuzz targets in `fuzz/` call the exercises, and so does `cargo test`, with every
//! file of `fuzz/corpus` and with packets by chance (`tests/harness/arbitrary_bytes.rs`). Part of that corpus is made by our own encoders and simulators ([`corpus`]); the
//! rest are inputs that once broke something.
//!
//! | exercise | parser | what must hold |
//! |---|---|---|
//! | [`srs_vmm`](srs_vmm::srs_vmm) | packets of SRS front-end cards | numbering agrees; encoding again gives the same content |
//! | [`mesytec`](mesytec::mesytec) | datagrams of the SIS3153 | every word is accounted for; encoding again gives the same triggers |
//! | [`cncs`](cncs::cncs) | packets of the demonstrator at CNCS | every byte is accounted for; encoding again gives the same groups |
//! | [`drop`](drop::drop) | packets of DROP | encoding again gives the same packet; the reports of jumps add up |
//! | [`train`](train::train) | trains, their packets, and what stands before one over TCP | every block lies in the train; encoding again gives the same bytes |
//! | [`isis`](isis::isis) | datagrams of the ISIS streaming readout | every byte is accounted for; encoding again gives the same frames and events |
//! | [`messages`](messages::messages) | FlatBuffers messages | the same at any alignment; encoding again gives the same message |
//! | [`numbered`](numbered::numbered) | numbered packets | encoding again gives the same bytes |
//! | [`caen`](caen::caen) | packets of CAEN digitisers | numbering agrees; encoding again gives the same bytes |
//! | [`adc_readout`](adc_readout::adc_readout) | packets of sampled channels | numbering agrees; encoding again gives the same bytes |
//! | [`adc_readout_stream`](adc_readout::adc_readout_stream) | streams of them | as `gdgem` |
//! | [`ess_header_vmm3a`](ess::ess_header_vmm3a) | packets of the ESS readout with VMM3a records | numbering and relaxed rules agree; encoding again gives the same bytes |
//! | [`ess_beam_monitor`](ess::ess_beam_monitor) | packets of the ESS readout with records of beam monitors | the same |
//! | [`ess_r5560`](ess::ess_r5560) | packets of the ESS readout with records of CAEN R5560 | the same; every byte is accounted for |
//! | [`ess_stream`](ess_stream::ess_stream) | streams of packets of the ESS readout | as `gdgem`; every event has its pulse |
//! | [`recognise`](recognise::recognise) | packets of any format | the most certain comes first; what is sound is read by its parser |
//! | [`multiblade`](multiblade::multiblade) | streams of packets of a Multi-Blade | as `gdgem` |
//! | [`sonde`](sonde::sonde) | packets of SoNDe | numbering agrees; encoding again gives the same bytes |
//! | [`sonde_stream`](sonde::sonde_stream) | streams of them | as `gdgem` |
//! | [`multigrid`](multigrid::multigrid) | streams of packets of a Multi-Grid | as `gdgem` |
//! | [`gdgem`](gdgem::gdgem) | streams of packets | the laws after every packet; the same events however the packets are handed over |
//! | [`gdgem_panels`](gdgem::gdgem_panels) | the same with panels of one plane, of three planes and of pads | as `gdgem` |
//! | [`shipped_detectors`](shipped::shipped_detectors) | streams of packets into the detectors of all shipped configurations | as `gdgem` |
//! | [`capture`](capture::capture) | capture files | every frame is delivered or counted; errors stay and say something |
//! | [`vmm_files`](vmm_files::vmm_files) | wirings and calibrations in JSON | errors say something; channels and strips agree |
//! | [`structure`](structure::structure) | NeXus structure JSON | errors say something and where; what was read is sound |
//! | [`commands`](commands::commands) | text commands of the EFU | both generations agree; the words alone mean the same |
//! | [`later`](later::later) | packets that are sent again, later | nothing but packets is changed; their numbers and times stay as many |
//! | [`command_port`](command_port::command_port) | the port of these commands | a reply for each request; what is counted adds up |
//! | [`http`](http::http) | the page's server, and its WebSocket | every connection ends, no browser stays counted, answers are of HTTP |
//! | [`kafka_events`](kafka_events::kafka_events) | messages of topics for the page | the laws after every message; what is noted is bounded |
//! | [`kafka_aggregate`](kafka_aggregate::kafka_aggregate) | messages of boards into frames | the laws after every message; no frame twice, also with restarts |
//! | [`writer_modules`](writer_modules::writer_modules) | structures and messages of the file writer | a refused message leaves nothing; HDF5 takes the rows |
//! | [`templates`](templates::templates) | names with something of a run in them | no folder comes in; a recording knows its files |
//! | [`small_texts`](small_texts::small_texts) | options, lines, tables, views of the page | errors say something; what is written reads the same |
//! | [`helper`](helper::helper) | requests to the helper with privileges, and its rules | errors say something; a request stays the same on its way |
//! | [`kernel_texts`](kernel_texts::kernel_texts) | texts of the kernel about the host | no more is found than the text can have |
//! | [`configuration`](configuration::configuration) | configuration files, `--set` | errors say something and where; what was read reads the same again |
//!
//! [`hdf5_files`] is none of them: damaged HDF5 files are read by a child process, as the library crashes on some.

#![forbid(unsafe_code)]

pub mod adc_readout;
pub mod caen;
pub mod capture;
pub mod cncs;
pub mod command_port;
pub mod commands;
pub mod configuration;
pub mod corpus;
pub mod dictionaries;
pub mod drop;
pub mod ess;
pub mod ess_stream;
pub mod found_keys;
pub mod gdgem;
pub mod hdf5_files;
pub mod helper;
pub mod http;
pub mod isis;
pub mod kafka_aggregate;
pub mod kafka_events;
pub mod kernel_texts;
pub mod later;
pub mod messages;
pub mod mesytec;
pub mod multiblade;
pub mod multigrid;
pub mod numbered;
pub mod packet_stream;
pub mod quiet_run;
pub mod recognise;
pub mod shipped;
pub mod small_texts;
pub mod sonde;
pub mod srs_vmm;
pub mod structure;
pub mod templates;
mod topic_messages;
pub mod train;
pub mod vmm_files;
pub mod writer_modules;

use corpus::Seed;

/// An exercise with its corpus. Fuzz target and corpus folder have its name.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name.
    pub name: &'static str,
    /// Takes any bytes; panics if something does not hold.
    pub exercise: fn(&[u8]),
    /// Makes the inputs to begin with.
    pub seeds: fn() -> Vec<Seed>,
}

/// A target for each exercise of a module, with the function that makes its inputs.
macro_rules! targets {
    ($($module:ident :: $exercise:ident, $($seeds:ident)::+;)*) => {
        [$(Target {
            name: stringify!($exercise),
            exercise: $module::$exercise,
            seeds: corpus::$($seeds)::+,
        }),*]
    };
}

/// All exercises.
pub const TARGETS: [Target; 38] = targets! {
    srs_vmm::srs_vmm, srs_vmm::seeds;
    recognise::recognise, recognise::seeds;
    mesytec::mesytec, mesytec::seeds;
    cncs::cncs, cncs::seeds;
    drop::drop, drop::seeds;
    train::train, train::seeds;
    messages::messages, messages::seeds;
    numbered::numbered, numbered::seeds;
    caen::caen, caen::seeds;
    adc_readout::adc_readout, adc_readout::seeds;
    adc_readout::adc_readout_stream, adc_readout::stream_seeds;
    ess::ess_header_vmm3a, ess::vmm3a_seeds;
    ess::ess_beam_monitor, ess::beam_monitor_seeds;
    ess::ess_r5560, ess::r5560_seeds;
    ess_stream::ess_stream, ess_stream::seeds;
    multiblade::multiblade, multiblade::seeds;
    isis::isis, isis::seeds;
    sonde::sonde, sonde::seeds;
    sonde::sonde_stream, sonde::stream_seeds;
    multigrid::multigrid, multigrid::seeds;
    gdgem::gdgem, gdgem::seeds;
    gdgem::gdgem_panels, gdgem::panels_seeds;
    shipped::shipped_detectors, shipped::seeds;
    capture::capture, capture::seeds;
    configuration::configuration, configuration::seeds;
    helper::helper, by_hand;
    vmm_files::vmm_files, vmm_files::seeds;
    structure::structure, by_hand;
    kernel_texts::kernel_texts, by_hand;
    commands::commands, by_hand;
    later::later, later::seeds;
    command_port::command_port, command_port::seeds;
    http::http, http::seeds;
    kafka_events::kafka_events, topics::event_seeds;
    kafka_aggregate::kafka_aggregate, topics::aggregate_seeds;
    writer_modules::writer_modules, topics::writer_seeds;
    templates::templates, templates::seeds;
    small_texts::small_texts, small_texts::seeds;
};
