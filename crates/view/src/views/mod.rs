//! Views: what somebody looks at for a purpose, under a name. The page offers them.
//!
//! | you look for | it is in |
//! |---|---|
//! | which keys a file has | `wanted.rs` |
//! | reading a file, and its errors with line and key | `file.rs` |
//! | what is checked; what the page gets | `offered.rs`; `state.rs` |
//! | the files of `views/` in the repository, by detector | `shipped.rs` |
//!
//! What a view asks of the server is checked by the rules of looks: it is one.

mod file;
mod offered;
mod shipped;
mod state;
mod wanted;

pub use file::{ViewFile, ViewFileError};
pub(crate) use offered::offered;
pub(crate) use state::ViewState;
