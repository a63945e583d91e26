//! The HDF5 file: columns that grow, commits, what a kill leaves, the end.
//!
//! A file is made with all its groups and datasets, can be followed from then on (SWMR), and grows by commits. A commit brings
//! all rows that wait to the file, waits for the disk, and then writes a record of it into the [`Journal`]: how many rows each column has,
//! and what the job needs to go on from there. After a kill the file is opened again and cut back to its last record.

mod columns;
mod commit;
mod completeness;
mod cost;
mod ending;
mod error;
mod finishing;
mod journal;
mod names;
mod plan;
mod reopening;
mod value_type;
mod writer_file;

pub use columns::{ColumnId, ColumnPlan, Columns, GridId, ScalarId};
pub use completeness::{Completeness, GapRow, SOURCE_COUNTS, SourceRow};
pub use cost::Cost;
pub(crate) use ending::rename_unless_there;
pub use error::FileError;
pub use finishing::Ending;
pub use journal::Journal;
pub use names::{Names, is_there};
pub use plan::{Base, FilePlan, Storage};
pub use reopening::Reopened;
pub use value_type::ValueType;
pub use writer_file::{OWN_GROUP, OpenModule, WriterFile};
