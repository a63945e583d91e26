//! Which thread runs on which logical core: the assignments that a host allows, and rules that choose among them. The task of the XDP
//! paper's section on the optimization of task assignment.
//!
//! ```text
//!  Topology ──► assignments of 1 stream ──► measured ──► rules ──► assignments of 2 streams that follow them ──► measured ──► …
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | the logical cores of a host, or of a file | [`Topology`], [`LogicalCore`] |
//! | who runs where | [`Assignment`] |
//! | all assignments of some streams, under rules | [`Enumeration`] |
//! | what may be a rule | [`Rule`] |
//! | measuring them in turns | [`PlacementPlan`], [`OfferedRate`], [`MeasuredAssignment`] |
//!
//! # Why 16, and then 6
//! The paper has a core complex of four positions: 0 is the logical core of the interrupt, 1 its sibling, 2 and 3 are the second core. For
//! one stream, the receiving thread and the worker may be on all four: 4 × 4 = 16 assignments. Measured, they gave one rule: a worker has
//! its position alone, "not shared with any other workload".
//!
//! Three readings of this rule, with the workers in order (that of stream 0 on the lower position), for two streams:
//!
//! | reading | receiver on 0 | receiver on 1, 2 or 3 | all |
//! |---|---|---|---|
//! | every thread has its position alone, the receiver too | none | 1 each | 3 |
//! | a worker shares with no other thread of the program, but may be with the interrupt | 3 | 3 each | 12 |
//! | a worker shares with nobody, the interrupt included; **the receiver may share with the interrupt** | 2 of the 3 free ones: 3 | the 2 free ones: 1 each | **6** |
//!
//! The paper counts six, and says how: receiver on position 0, three; on each other position, one. So the third reading it is, which is
//! [`Rule::WorkerAlone`]. The receiver on the interrupt's position lost nothing there. Whether it does elsewhere is a rule of its
//! own ([`Rule::ReceiverOffInterrupt`]), to be found by measurement.

mod assignment;
mod enumeration;
mod plan;
mod rule;
mod topology;

pub use assignment::Assignment;
pub use enumeration::{Enumeration, EnumerationError};
pub use plan::{MeasuredAssignment, OfferedRate, PlacementPlan, PlacementRound};
pub use rule::Rule;
pub use topology::{LogicalCore, Topology, TopologyError};
