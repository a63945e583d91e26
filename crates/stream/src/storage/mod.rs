//! What all HDF5 files written here have in common: arrays that grow, chunks that are compressed in threads of their own, room on
//! the disk that is made sure of first, a disk that is asked to keep what was written, and files that are let go or repaired
//! after a kill.
//!
//! | you look for | it is in |
//! |---|---|
//! | an array that grows along its first axis, of any type | [`growing`] |
//! | threads that compress chunks | [`workers`], [`packer`], [`chunk_write`] |
//! | datasets that are closed until they are needed | [`resting`] |
//! | groups, scalars and grids | [`dataset`]; texts and attributes in [`text`]; very many of all of them in [`bulk`] |
//! | what is in a file, in another one | [`copy`](mod@copy) |
//! | room on the disk before HDF5 needs it | [`space`] |
//! | asking the disk to keep what was written | [`syncer`] |
//! | a file that is made in memory and put on the disk as a whole | [`made_in_memory`] |
//! | a name only for a file that can be followed | [`making`] |
//! | a file whose writer was killed | [`superblock`]; one that a failed write has damaged: [`diversion`] |

pub mod bulk;
pub mod chunk_write;
pub mod copy;
pub mod dataset;
pub mod diversion;
pub mod growing;
pub mod made_in_memory;
pub mod making;
pub mod packer;
pub mod raw_rows;
pub mod resting;
pub mod space;
pub mod superblock;
pub mod syncer;
pub mod text;
pub mod workers;
