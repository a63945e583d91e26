//! Measurements of a link and its receiver, point by point: the programs that users have (`evforge send`, `evforge receive`) on two
//! hosts, and what their reports say.
//!
//! ```text
//!  plan ──► points, in turns ──► evforge receive ◄── evforge send ──► what each point measured ──► medians
//! ```
//!
//! Each point starts both programs again, so that no buffer, counter or warmed cache of one point is in another. Points of one plan
//! are run in turns ([`Sweep`]): what else the machine does meets all methods alike.
//!
//! | you look for | it is in |
//! |---|---|
//! | ways to send and receive, side by side | [`LinkMethod`] |
//! | one point, and what it measured | [`LinkPoint`], [`MeasuredPoint`] |
//! | running a point | [`PointRunner`] |
//! | sizes × methods × buffers, in rounds | [`Sweep`] |
//! | MTU × buffers × methods × directions, in rounds | [`BufferSeries`] |
//! | what the cores did meanwhile | [`ProcessorAccount`], [`CoreShares`] |
//! | what the threads of a program did meanwhile | [`ThreadTimes`] |
//! | the highest rate without loss, and what counts as that | [`highest_loss_free`], [`LossFreeCriterion`] |

mod error;
mod loss_free;
mod method;
mod point;
mod processor;
pub(crate) mod program;
pub(crate) mod reports;
mod runner;
mod series;
mod sweep;
mod threads;
mod train_link;

pub use error::MeasureError;
pub use loss_free::{LossFree, LossFreeCriterion, LossFreeSearch, highest_loss_free};
pub use method::LinkMethod;
pub use point::{FirstSecondPoint, LinkPoint, MeasuredPoint};
pub use processor::{CoreShares, ProcessorAccount};
pub use runner::PointRunner;
pub use series::{BufferSeries, Direction};
pub use sweep::{GROWING, PAPER_SIZES, Sweep, SweptPoint};
pub use threads::ThreadTimes;
