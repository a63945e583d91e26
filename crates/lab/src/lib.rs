//! Simulations of configured detectors, how right and how fast their events are, and measurements of links and receivers.
//!
//! | you look for | it is in |
//! |---|---|
//! | the simulation of the configured detector, and its events | [`simulation`] |
//! | a simulation as a source of packets | [`simulated_source`] |
//! | what `evforge simulate` simulates, and the table of instruments | [`simulated`] |
//! | the true neutrons and the faults of a simulation, in files | [`truth_files`] |
//! | simulated packets on the network, and the demonstration | [`electronics_sender`], [`demonstration`] |
//! | a capture laid over itself | [`overlay`] |
//! | gaps and matching windows that fit a capture | [`windows`] |
//! | ends and corrections of helium-3 tubes from a capture behind a mask | [`calibrate`] |
//! | how right the events in files are, as text, JSON and picture; how right they have to be | [`scored_runs`], [`demands`] |
//! | plots, and the figures that they are drawn from | [`plots`] |
//! | how right events are, against the truth of a simulation | [`accuracy`] |
//! | whether the rates of the instruments of the EFU paper fit the shipped configurations | [`paper_rates`] |
//! | how fast events are formed, against the reference | [`benchmark`] |
//! | tests of links: numbered packets, and streams whose every 16-bit word is accounted for (DROP) | [`link`] |
//! | a capture sent again and again, later each time | [`looped_capture`] |
//! | a link and its receiver measured point by point, with the programs that users have | [`measured_link`] |
//! | streams measured point by point: what comes of each, and which threads receive it | [`measured_streams`] |
//! | trains of several senders to several receivers: which pair loses packets, and when | [`measured_trains`] |
//! | the formation of events over the wire, with the programs that users have | [`measured_formation`] |
//! | how long it takes from a packet to its event, to an output and to the page | [`measured_latency`] |
//! | what looking at a run costs it | [`measured_observer`] |
//! | a client of the live page without a screen | [`page_client`] |
//! | which thread and which interrupt on which core: topologies, assignments, rules | [`placement`] |
//! | the highest peak of pulses that a receive buffer keeps, with the programs that users have | [`measured_pulses`] |
//! | hours to days of DROP streams, checkpointed and resumed | [`soak`] |
//! | the sender of a measurement on another host | [`remote_host`] |
//! | two hosts on one machine, for measurements | [`two_hosts`] |
//! | several hosts at a switch, on one machine | [`switched_hosts`] |

#![forbid(unsafe_code)]

pub mod accuracy;
pub mod benchmark;
pub mod calibrate;
pub mod demands;
pub mod demonstration;
pub mod electronics_sender;
pub mod link;
pub mod looped_capture;
pub mod measured_formation;
pub mod measured_latency;
pub mod measured_link;
pub mod measured_observer;
pub mod measured_pulses;
pub mod measured_streams;
pub mod measured_trains;
pub mod overlay;
pub mod page_client;
pub mod paper_rates;
pub mod placement;
pub mod plots;
pub mod remote_host;
pub mod scored_runs;
pub mod simulated;
pub mod simulated_source;
pub mod simulation;
pub mod soak;
pub mod switched_hosts;
pub mod truth_files;
pub mod two_hosts;
pub mod windows;

/// Why something cannot be done here, in words for a person.
pub type LabError = Box<dyn std::error::Error>;
