//! Looks: a picture with its spectra, as a browser or a script wants to see it.
//!
//! ```text
//! LookWanted ──► Look ──┬─ Selection ──► Cut: counts of the events that belong to it ──┐
//!  (JSON)    (checked)  └─ part, points ───────────────────────────────────────────────┴─► frame
//! ```
//!
//! Looks that select the same events share their counts, equal looks share their frames: ten browsers cost as much as one. One
//! thread counts and draws for all of them ([`worker`]); the run's thread only fills the
//! [memory](crate::event_memory) that it reads.
//!
//! | you look for | it is in |
//! |---|---|
//! | what can be asked, and how it is refused | [`wanted`], [`look`], in an address [`asked`] |
//! | which pixels a region has | [`region`] |
//! | which frames, where the readout tells them | [`frame_rule`] |
//! | counting | [`cut`] |
//! | which looks are wanted now, and how much memory they may take | [`board`] |
//! | what browsers get | [`shown`], [`look_frame`](crate::look_frame) |

pub(crate) mod asked;
pub(crate) mod board;
pub(crate) mod cut;
pub(crate) mod frame_rule;
pub(crate) mod limits;
pub(crate) mod look;
pub(crate) mod pictured;
pub(crate) mod region;
pub(crate) mod shown;
pub(crate) mod wanted;
pub(crate) mod worker;
