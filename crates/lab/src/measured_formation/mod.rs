//! The formation of events over the wire, with the programs that users have: `evforge simulate` or `evforge replay` sends, `evforge run`
//! receives, forms events and hands them to an output.
//!
//! ```text
//!  load ──► evforge simulate --repeat   (packets that can be moved in time go on as long as asked for)
//!           evforge replay FILE         (others are a capture)
//!              └──► UDP ──► evforge run ──► events ──► nothing, NeXus, live view, Kafka
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | what is sent | [`FormationLoad`], [`LoadSource`] |
//! | where events go | [`Destination`] |
//! | the topic of those that go to Kafka | [`KafkaTopic`] |
//! | the highest rate without loss | [`highest_rate`], [`HighestRate`] |
//! | a point, and running it | [`FormationPoint`], [`FormationRunner`] |

mod destination;
mod highest;
mod load;
mod reports;
mod runner;

pub use destination::Destination;
pub use highest::{HighestRate, highest_rate};
pub use load::{FormationLoad, LoadSource};
pub use reports::FormationPoint;
pub use runner::{FormationRunner, KafkaTopic};
pub(crate) use runner::{ReadyRun, Watch, WatchedRun};
