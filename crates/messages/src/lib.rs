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

pub mod ad00;
pub mod al00;
pub mod an44;
pub mod answ;
pub mod ar51;
mod array;
mod check;
mod column;
pub mod da00;
mod encoder;
pub mod ep00;
pub mod ep01;
pub mod ev42;
pub mod ev43;
pub mod ev44;
#[cfg(any(test, feature = "examples"))]
pub mod examples;
pub mod f142;
pub mod f144;
pub mod hs00;
pub mod hs01;
pub mod json;
pub mod mo01;
pub mod pl72;
pub mod pu00;
pub mod s6s4t;
pub mod se00;
pub mod senv;
pub mod tdct;
pub mod un00;
pub mod vc00;
pub mod wrdn;
pub mod x5f2;

mod generated;
mod head;
mod histogram;
mod log_values;
mod message;
mod named;
mod open;
mod read;
mod refused;
mod samples;
mod schema;
mod show;

pub use ad00::Ad00;
pub use al00::Al00;
pub use an44::An44;
pub use answ::Answ;
pub use ar51::Ar51;
pub use array::{Array, Data, Scalar};
pub use check::TOO_LATE_NS;
pub use column::{Column, Element, Iter};
pub use da00::Da00;
pub use encoder::Encoder;
pub use ep00::Ep00;
pub use ep01::Ep01;
pub use ev42::Ev42;
pub use ev43::Ev43;
pub use ev44::Ev44;
pub use f142::F142;
pub use f144::F144;
pub use hs00::Hs00;
pub use hs01::Hs01;
pub use json::Json;
pub use message::{Message, decode};
pub use mo01::Mo01;
pub use pl72::Pl72;
pub use pu00::Pu00;
pub use refused::{Refused, RefusedCounters, RefusedReason};
pub use s6s4t::S6s4t;
pub use samples::Location;
pub use schema::Schema;
pub use se00::Se00;
pub use senv::Senv;
pub use tdct::Tdct;
pub use un00::Un00;
pub use vc00::Vc00;
pub use wrdn::Wrdn;
pub use x5f2::X5f2;

#[cfg(test)]
mod tests;
