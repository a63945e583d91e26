//! The FlatBuffers messages of ESS and ISIS, without I/O: each schema has a module with one struct, for writing and reading.
//!
//! Writing copies columns into a buffer that an [`Encoder`] keeps; reading borrows from the message, after every check.
//!
//! ```
//! use evforge_messages::{Encoder, Ev44, Message, decode};
//!
//! let mut encoder = Encoder::new();
//! let bytes = Ev44 {
//!     source_name: "freia",
//!     message_id: 1,
//!     reference_time: (&[1_580_460_273_162_000_001]).into(),
//!     reference_time_index: (&[0]).into(),
//!     time_of_flight: (&[10, 20, 30]).into(),
//!     pixel_id: (&[1, 2, 3]).into(),
//! }
//! .encode(&mut encoder);
//!
//! let message = decode(bytes)?;
//! assert_eq!(message.to_string(), "ev44 freia #1 2020-01-31T08:44:33.162000001Z 1 pulse 3 events");
//! let Message::Ev44(events) = message else { panic!("another schema") };
//! assert_eq!(events.pixel_id, [1, 2, 3]);
//! # Ok::<(), evforge_messages::Refused>(())
//! ```

#![deny(unsafe_code)]

mod check;
mod column;
mod encoder;
pub mod ev44;
mod generated;
mod message;
mod open;
mod read;
mod refused;
mod schema;
mod show;

pub use check::TOO_LATE_NS;
pub use column::{Column, Element, Iter};
pub use encoder::Encoder;
pub use ev44::Ev44;
pub use message::{Message, decode};
pub use refused::{Refused, RefusedCounters, RefusedReason};
pub use schema::Schema;
