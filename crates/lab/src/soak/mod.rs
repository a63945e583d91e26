//! Hours to days of DROP streams, with counts that outlive the program: the long run of the XDP paper.
//!
//! ```text
//!  jump ──► segment ──► segment ──► … ──► segment ──► jump        each: evforge drop send, evforge drop receive
//!    │         │           │                 │          │
//!    └─────────┴───────────┴── Checkpoint ───┴──────────┘ ──► SoakTotal: counts, merged histograms, the verdict
//! ```
//!
//! The run is cut into segments of minutes, and a checkpoint is the list of what finished segments have reported. Each segment consists
//! of whole turns of all words and ends in order, so that the sender says how many packets there were, and every check can be made of
//! it: a checkpoint is true by itself. Counts written in the middle of a stream could not be held against a sender that was
//! killed with the receiver: nobody would know what was on its way. The price is a pause of about two seconds between segments, in which
//! both programs end and start again. What a killed segment had received is not counted, and never estimated; only the number
//! of such segments is kept.
//!
//! | you look for | it is in |
//! |---|---|
//! | what is asked for | [`SoakSettings`] |
//! | a segment, what a provoked jump has shown | [`Segment`], [`ProvokedJump`] |
//! | running both with the programs that users have | [`SoakRunner`] |
//! | the file that a run goes on from | [`Checkpoint`] |
//! | all segments together, and whether every check has passed | [`SoakTotal`] |

mod checkpoint;
mod figures;
mod runner;
mod settings;
mod total;

pub use checkpoint::{CHECKPOINT, Checkpoint, CheckpointError};
pub use figures::{JumpSeen, ProvokedJump, Segment, SegmentStream, WordArea};
pub use runner::{SoakError, SoakRunner};
pub use settings::SoakSettings;
pub use total::{SoakTotal, StreamTotal};
