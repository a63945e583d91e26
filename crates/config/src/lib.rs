//! Configuration files: TOML, one file per instrument, checked down to the last key.
//!
//! ```toml
//! name = "my-detector"            # in reports, metrics and files
//!
//! [input]                         # optional: how packets travel
//! packets_per_slab = 256
//! threads = 1                     # 1: read and form in turn; 2: a thread for each
//!
//! [receive]                       # optional: live packets
//! address = "0.0.0.0:6006"
//!
//! [sequence]                      # optional: how the numbers of packets are read
//! confirm = 1024
//!
//! [threads]                       # optional: where threads run, by name
//! receive.core = 1
//!
//! [pulses]                        # optional: the source's pulses
//! frequency = "14Hz"
//!
//! [[veto]]                        # optional: marks events, deletes none
//! name = "prompt pulse"
//! time_of_flight = ["0us", "300us"]
//!
//! [control]                       # optional: how a run can be asked while it goes on
//! command_port = "127.0.0.1:8888"
//!
//! [serve]                         # optional: a service that has one run after the other
//! run_topic = "runs"
//!
//! [log]                           # optional: what the program says, and where to
//! levels.parse = "debug"
//!
//! [[change]]                      # optional: from a time of the data on
//! at_ns = 60_000_000_000
//! key = "gdgem.clustering.x.adc_threshold"
//! value = 40
//!
//! [run]                           # optional: what the run is called, and whose it is
//! title = "first neutrons"
//!
//! [outputs.csv]                   # optional: where events go; the options of the command line are short forms of this
//! file = "events.csv"
//!
//! [simulation.beam]               # optional: how `evforge simulate` simulates the detector
//! neutrons = "20kHz"
//!
//! [gdgem]                         # the detector: exactly one such section
//! readout = "vmm3a"
//! ```
//!
//! Every key can be overridden with `--set key=value` (`--set gdgem.sorting.window=1ms`; `detector` stands for the
//! detector's section, whichever it is: `--set detector.sorting.window=1ms`). An error names the
//! file, the line and the column, what was found and what is expected.
//!
//! | you look for | it is in |
//! |---|---|
//! | a configuration, with or without a detector | [`Config`], [`CommonConfig`] |
//! | the list of detectors, and what each of them adds here | [`detectors`] |
//! | the settings of a detector | `settings` in its folder of `evforge_detect`, where they are also read |
//! | parameters that change at a time of the data | [`ChangeSettings`] |
//! | tables for all detectors | [`InputSettings`], [`ReceiveSettings`], [`ThreadSettings`], [`SequenceSettings`], [`ServeSettings`] |
//! | the text: tables, places, overrides | `document` |
//! | where each value comes from | `origins` |
//! | what a run of a service may set for itself | `of_runs` |
//! | a pool of threads that help the one that asks | `helpers` |
//! | threads that share the forming of events | [`forming_threads`] |
//! | the JSON Schema of a configuration | [`schema`] |
//! | threads for the regions of a partitioned panel | [`region_threads`] |

#![forbid(unsafe_code)]

mod change;
mod config;
pub mod detectors;
mod document;
mod error;
mod file_names;
pub mod forming_threads;
mod helpers;
mod input;
mod of_runs;
mod origins;
mod receive;
pub mod region_threads;
pub mod schema;
mod sequence;
mod serve;
pub mod shipped;
mod side_file;
mod threads;

pub use change::ChangeSettings;
pub use config::{CommonConfig, Config};
pub use detectors::plugin::PluginSettings;
pub use detectors::{ConfiguredDetector, DetectorSettings, PartsByOrigin};
pub use error::ConfigError;
pub use evforge_core::quantity::{ByteSize, Frequency, QuantityError, Rate, TimeSpan};
pub use file_names::NameParts;
pub use input::InputSettings;
pub use of_runs::check_of_run;
pub use receive::{MulticastGroup, ReceiveSettings};
pub use sequence::SequenceSettings;
pub use serve::ServeSettings;
pub use threads::{FormCount, FormThreads, ReceiveThreads, ThreadSettings};

#[cfg(test)]
mod tests;
