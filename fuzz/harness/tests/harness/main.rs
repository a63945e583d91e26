//! What the fuzzers are fed with.

mod arbitrary_bytes;
mod corpus;
mod hdf5;
mod json_files;
