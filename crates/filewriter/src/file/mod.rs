//! The HDF5 file: columns that grow, commits, what a kill leaves, the end.

mod columns;

pub use columns::{ColumnId, ColumnPlan, Columns, GridId, ScalarId, ValueType};
