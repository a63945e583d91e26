//! Why a structure is refused, or cannot be made.

/// Why a structure is refused: a sentence for whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// It is no JSON.
    #[error("the structure is no JSON: {what} in line {line}, column {column}")]
    Json {
        /// What is wrong.
        what: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// It is JSON, and something in it is not what it should be.
    #[error("{path}: found {found}, expected {expected}")]
    Refused {
        /// Where: names of groups, places of nodes without a name in brackets (from 0), then keys.
        path: String,
        /// What is there.
        found: String,
        /// What should be there.
        expected: String,
    },
}

/// Why a structure cannot be made in a file.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The file has something of this name already.
    #[error("{path}: found {found} of this name in the file, expected none")]
    Exists {
        /// The path in the file.
        path: String,
        /// What it is.
        found: &'static str,
    },
    /// What a link is to lead to is not there.
    #[error("{link}: found no {target} in the file, expected what the link leads to")]
    NoTarget {
        /// The path of the link.
        link: String,
        /// The path of what it is to lead to.
        target: String,
    },
    /// A link that HDF5 could make, and that readers could not follow to an end.
    #[error("{link}: found a link to {target}, in which it is itself, expected one to something else")]
    Circle {
        /// The path of the link.
        link: String,
        /// The path of what it is to lead to.
        target: String,
    },
    /// Groups in groups deeper than a parsed structure can have them.
    #[error("{path}: found more than {most} groups in each other, expected fewer")]
    TooDeep {
        /// The path of the group.
        path: String,
        /// The most that can be.
        most: usize,
    },
    /// A time of the run that has no date.
    #[error("{0} ms after 1970 is no date before the year 10000")]
    Time(u64),
    /// HDF5 refuses.
    #[error("{path}: HDF5 reports: {error}")]
    Hdf5 {
        /// The path in the file.
        path: String,
        /// What it says.
        error: hdf5_metno::Error,
    },
}

impl CreateError {
    /// With the path at which HDF5 refused.
    pub(super) fn at(path: &str) -> impl FnOnce(hdf5_metno::Error) -> Self {
        move |error| Self::Hdf5 { path: if path.is_empty() { "/".into() } else { path.into() }, error }
    }
}
