//! Trains of several senders (train builders) to several receivers (nodes of the PC layer) at once, with the programs that users have (`evforge
//! train send`, `evforge train receive`): the experiment of the European XFEL's slides *10GE network tests with UDP*.
//!
//! ```text
//!  sender 0 ──► trains in turn ──┐          ┌──► receiver 0      which pair loses packets,
//!  sender 1 ──► trains in turn ──┤ switch   ├──► receiver 1      in the first packets or later,
//!  …                             ┘          └──► …               and where its time goes
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | what is sent to whom | [`TrainsPlan`] |
//! | running it | [`TrainsRunner`] |
//! | what was measured | [`MeasuredTrains`], [`Flow`], [`TrainSender`], [`TrainReceiver`] |
//! | reports of the programs joined to that | `account` |

mod account;
mod measured;
mod plan;
mod runner;

pub use measured::{Flow, MeasuredTrains, TimeOfReader, TrainReceiver, TrainSender};
pub use plan::TrainsPlan;
pub use runner::TrainsRunner;
