//! Events out: the files and messages in which neutron events leave evforge.
//!
//! | you want to | look at |
//! |---|---|
//! | write NeXus (HDF5) event files, follow them, repair one that a killed writer left | [`nexus`] |
//!
//! An output is created from its options and then driven as an [`Output`](evforge_core::output::Output), which says what
//! it must and may do. One that fails says what is safe and what is lost, and leaves the others alone.
//!
//! Start with [`nexus`]: it draws the layout of a file as a tree and has an example.

pub mod nexus;
pub mod storage;
