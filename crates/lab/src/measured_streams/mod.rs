//! Streams of DROP packets measured point by point, with the programs that users have (`evforge drop send`, `evforge drop receive`): how
//! many packets come of each stream, where others were lost, and what the cores did meanwhile.
//!
//! | you look for | it is in |
//! |---|---|
//! | one point, which threads receive it, and what it measured | [`StreamPoint`], [`StreamThreads`], [`MeasuredStreams`] |
//! | running a point | [`StreamRunner`] |
//! | both programs, for whoever runs them otherwise | `programs` |

mod point;
pub(crate) mod programs;
mod reports;
mod runner;

pub use point::{MeasuredStreams, StreamPoint, StreamThreads};
pub use runner::StreamRunner;
