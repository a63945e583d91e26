//! Which thread runs on which core: assignments measured, the rules that they give, and which one to use. The task assignment of the XDP
//! paper.
//!
//! Assignments are listed and measured by [`evforge_lab::placement`]; here they are judged. With few streams, rules are found; with more, only
//! assignments that follow them are measured.
//!
//! | you look for | it is in |
//! |---|---|
//! | what was measured so far, and the rules found | [`PlacementStudy`] |
//! | the figure that assignments are compared by, with its interval | [`Figure`], [`Spread`] |
//! | whether something is a rule | [`RuleFinding`], [`RuleOutcome`] |
//! | which assignment to use, or why none is named | [`Recommendation`] |
//! | the measurement as a result | [`result`] |
//! | assignments that are listed, and not measured | [`listed`] |
//!
//! # When something is a rule
//! Rules choose what is measured of more streams, so they must never leave out the best assignment. That is what is asked: is the best assignment
//! that breaks the rule clearly worse than the best one that follows it? Then nothing is lost by following it. *Clearly* means that the
//! intervals of both (95 %, over the rounds) do not overlap. A comparison of groups as a whole would find rules that are none: where most
//! assignments with the receiver on the interrupt's core are bad for another reason, their median is, too. Medians of both groups are in
//! the table, for a person.

mod findings;
mod learned;
mod list;
mod recommendation;
mod spread;
mod study;
mod tables;

pub use findings::{PlacementSetting, result};
pub use learned::{RuleFinding, RuleOutcome, Side};
pub use list::{ListedStage, listed};
pub use recommendation::Recommendation;
pub use spread::{Figure, Spread};
pub use study::{PlacementStage, PlacementStudy};
