//! What a file is to contain.
//!
//! ```text
//! NeXus structure JSON ──► parse ──► Structure ──► create ──► groups, datasets, attributes of the file, places of the modules
//!                                        │             modules make their datasets
//!                                        └───────► create_links ──► links
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | the content of a file | `content`, modules in `kind` |
//! | JSON to nodes: the tree, then what each node is | `tree`, `parse`, `group`, `node`, `stream`, `attributes`; logs in `logs` |
//! | lists of numbers in JSON to arrays | `array`, `number`, `dtype` |
//! | where something is, what is refused, what is noted | `path`, `error`, `notes` |
//! | objects in the file | `create`, `write`, `links`, `times`; how many bytes they take in `bound` |

mod array;
mod attributes;
mod bound;
mod content;
mod create;
mod dtype;
mod error;
mod group;
mod kind;
mod links;
mod logs;
mod name;
mod node;
mod notes;
mod number;
mod parse;
mod path;
mod stream;
mod times;
mod tree;
mod write;

pub use bound::bytes_at_most;
pub use content::{
    Array, Attribute, Dataset, Dialects, Group, Link, Node, RunTime, StreamModule, Structure, Values,
};
pub use create::{Created, Place, create, reopen};
pub use error::{CreateError, StructureError};
pub use kind::ModuleKind;
pub use links::create_links;
pub use logs::companions;
pub use parse::parse;
pub use times::{RunTimes, TimeText};
pub use tree::DEEPEST;
