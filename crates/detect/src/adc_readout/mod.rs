//! Sampled channels of 2018: runs of samples, of beam monitors for example (EFU formats of 2018, section 5).
//!
//! ```text
//! packet ─ wire::adc_readout ─► runs ─┬─ peak finder ─► events (time of the peak, channel) ─┐
//!                                     ├─ channel of the pulses ─► pulses (leading edge) ────┴─► in order, with their pulses
//!                                     └─ averaging ───► averaged waveforms with times ─► SampleSink
//! ```
//!
//! Every run makes one event: where its largest sample is. The pixel is the channel, counted from 1. The averaged
//! waveforms go to a [`SampleSink`] of the caller. Packets come from one source, in its order; so do events and
//! values. Only where pulses arrive on a channel are events put into the order of their times.
//!
//! | file | what is in it |
//! |---|---|
//! | [`settings`] | everything that can be configured, and its checks |
//! | [`sample_time`] | times of samples to nanoseconds |
//! | [`peak`] | the largest sample of a run |
//! | [`filing`] | the pulses of a channel: runs into order, events to their pulses |
//! | [`averaging`] | means over samples, through the ends of runs |
//! | [`counters`] | what is counted, with the laws |
//! | [`pipeline`] | [`AdcReadout`]: all of it as a [`Detector`](evforge_core::detector::Detector) |

pub mod averaging;
pub mod counters;
pub mod filing;
pub mod peak;
pub mod pipeline;
pub mod sample_time;
pub mod settings;

pub use averaging::{MeanValue, SampleSink};
pub use counters::AdcReadoutCounters;
pub use filing::PulseChannelCounters;
pub use pipeline::AdcReadout;
pub use settings::AdcReadoutSettings;
