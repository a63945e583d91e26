//! What the fuzzers are fed with.

mod arbitrary_bytes;
mod corpus;
mod json_files;
