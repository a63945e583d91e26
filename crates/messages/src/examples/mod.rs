//! Messages of every schema and layout, for tests and fuzzing: a seed gives their values. With the feature `examples`.

pub mod foreign;
mod made;

pub use made::messages;
