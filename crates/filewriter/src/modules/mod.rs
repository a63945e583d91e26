//! What happens to a message: which rows in which datasets.
//!
//! [`open`] makes the datasets of a module in its group, or opens them after a restart, and gives what writes its messages.
//! [`companions`](crate::structure::companions) says which modules come with others. All times are u64 nanoseconds with attributes `units` "ns" and `start`
//! "1970-01-01T00:00:00Z"; cues (`cue_index` and `cue_timestamp_zero`) are i64. The group gets `NX_class`, `topic`, `source` (a line
//! each if there are several) and `writer_module`, unless the structure has said them.
//!
//! # As the file writer of the ESS
//! | module | class | datasets | keys (default) |
//! |---|---|---|---|
//! | ev44 | NXevent_data | `event_id` i32, `event_time_offset` i32 ns, `event_time_zero`, `event_index` i64, cues | `chunk_size` (1 048 576), `cue_interval` (100 000 000 events) |
//! | f144 | NXlog | `value` (`units`), `time`, cues; at the close `minimum_value`, `maximum_value`, `average_value` f64 | `dtype` or `type` (double), `value_units` or `unit(s)`, `chunk_size` (1024), `cue_interval` (2^32 - 1), `meta_data` (true), `enable_alarm_info`, `enable_epics_con_info` (true) |
//! | al00 | NXlog | `alarm_message` 200 bytes, `alarm_time`, `alarm_severity` i16 | |
//! | ep01 | NXlog | `connection_status` i16, `connection_status_time` | |
//! | se00 | NXlog | `value`, `time`, cues: the first sample of each message | `dtype` (int64), `chunk_size` (4096) |
//! | tdct | NXlog | `time`, cues: the first time stamp of each message | `chunk_size` (4096), `enable_…` as f144 |
//! | ad00 | NXlog | `value` (frames), `time`, cues | `dtype` (float64), `array_size` (`[1, 1]`), `chunk_size` (1 048 576 values), `cue_interval` (1000) |
//! | da00 | NXdata | a dataset for each of `variables` and `constants`, `time`, cues | `variables`, `constants`, `attributes`, `title`, `chunk_size`, `cue_interval` (never) |
//!
//! What is different, because files must stay whole while others follow them, or because it cannot be read otherwise:
//! * The last chunk of an array is written whole with each commit. So arrays with one row for many of another (records of
//!   pulses, cues, times of frames) have at most 16 384 rows in a chunk, and frames and variables at most a mebibyte.
//! * Events without pixels get pixel 0, which is none: all arrays of events are equally long.
//! * An unknown `dtype` is an error, not "double". Numbers that a type cannot hold become the nearest one that it can.
//! * Values that are not numbers (NaN) count neither as extremes nor in the average.
//! * Type and shape of variables and constants must be in the configuration. Constants without `data` get that of the first
//!   message; a unit, label or source that is `null` is left out.
//! * A message of which one array does not fit is left out as a whole, and counted.
//!
//! # evforge's own
//! | module or key | |
//! |---|---|
//! | ev44, ev42 `"layout": "evforge"` | as `evforge run --nexus`: a record for every pulse, also without events; one that goes on in the next message is one record; `event_time_zero` has `offset` instead of `start`; `total_counts`; cues are the newest pulse of each commit |
//! | … `"pixels": [first, last]` | only events of these pixels, and all pulses |
//! | … `"vetoes": ["name", …]` | `event_veto` u8 with `bits`, from the da00 before its events (`docs/kafka.md`, "Vetoes") |
//! | ev42, f142, senv | as ev44, f144, se00; f142 with its alarms as texts in `alarm_status`, `alarm_severity`, `alarm_time` |
//! | hs01; da00 `"accumulate": true` | NXmonitor: `data` (sums), `integral`, edges. Keys: `shape` (needed), `dtype` (int64), `axes`, `edges`, `unit`, `edge_unit`, `signal`, `edge_variable` |
//! | ar51 | `data` u8, `data_index`, `message_id` |
//! | pu00 | `time`, `period_number` u32, `vetoes` u32, `proton_charge` f32, `period_log` (NXlog, from 1), `raw_frames`, `good_frames`, `good_proton_charge` |
//! | evforge_ledger | `time`, `source_name`, and a column for each variable of `docs/kafka.md`, "The ledger" |
//!
//! Several sources may come into one group of events. `event_time_zero` never goes back: pulses that are earlier than the newest one are in
//! `events_late` (NXcollection, in the group) with their events, in the order in which they came, with `total_counts`.

mod alarm;
mod array_attributes;
mod array_settings;
mod chopper;
mod connection;
mod data_array;
mod dtype;
mod event_vetoes;
mod events;
mod frames;
mod histogram;
mod late_grid;
mod ledger;
mod log;
mod module;
mod monitor;
mod open;
mod own_events;
mod packets;
mod places;
mod pulses;
mod samples;
mod settings;

pub use events::pulse_times;
pub use module::{Module, ModuleError, NotWritten, SkipReason, WindowRule};
pub use open::{Opened, open};
