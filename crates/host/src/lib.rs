//! The settings of a host that decide whether packets are lost: what they are, what they should be, why, and how to change them
//! so that it can be taken back.
//!
//! ```text
//!            Row (one line of a table: what, where, wanted, why, source, risk)
//!             │  expanded for each interface, queue, core of the host
//!             ▼
//! Host ──► Setting ──► Finding            evforge doctor
//!             │
//!             └──────► Change ──► Journal  evforge tune --apply, --revert
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | every setting: its papers' values, why it matters, what it risks | [`rows`] |
//! | this host, a saved one, and saving one | [`Host`], [`LocalHost`], [`SavedHost`], [`SavingHost`] |
//! | where a setting is, how it is read and written | [`Place`] |
//! | what is wanted of a value | [`Wanted`] |
//! | what is to be received on this host | [`HostNeeds`] |
//! | what is found | [`check_host`], [`Finding`] |
//! | which cores the kernel's work on packets is done on | [`interrupt_cores`] |
//! | what would be changed, changing it, and taking it back | [`tune`], [`Journal`] |
//!
//! Nothing here measures, and nothing but [`tune::apply`] and [`tune::revert`] changes anything. What only the running process knows (its
//! privileges, its cores, its clock) is in `evforge_net::host_check`.
//!
//! # Example
//! ```
//! use evforge_host::{HostNeeds, LocalHost, Profile, check_host};
//!
//! let needs = HostNeeds { buffer: 1000, ..HostNeeds::default() };
//! for finding in check_host(&LocalHost::new(), &needs, Profile::Evforge) {
//!     println!("{} {}: {}", finding.verdict.name(), finding.subject, finding.found);
//! }
//! ```

#![forbid(unsafe_code)]

mod card;
mod check;
pub mod cores;
pub mod ethtool;
mod finding;
mod host;
mod interrupts;
mod journal;
mod needs;
mod place;
mod processor;
mod profile;
pub mod rows;
mod saved;
mod saving;
mod setting;
pub mod tune;
mod wanted;
mod writers;

pub use check::check_host;
pub use finding::{Finding, Verdict, most_important};
pub use host::{Host, LocalHost};
pub use interrupts::interrupt_cores;
pub use journal::{Journal, JournalError, Recorded};
pub use needs::{HostNeeds, XdpNeed};
pub use place::{Place, Reading};
pub use profile::Profile;
pub use saved::SavedHost;
pub use saving::SavingHost;
pub use setting::{Setting, settings};
pub use wanted::Wanted;
