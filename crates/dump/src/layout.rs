//! How a table lies in a file, recognised by what the file declares.

use hdf5_metno::types::{CompoundType, H5Type, TypeDescriptor};
use hdf5_metno::{Dataset, Result};
use std::fmt::Write as _;
use std::ops::Range;

/// A row of one of the tables.
pub trait Row: H5Type + Copy + Send + std::fmt::Debug + 'static {
    /// Name of the table in the file.
    const TABLE: &'static str;
    /// The attribute `format_version` of the table, where it has one.
    const FORMAT_VERSION: Option<u16>;

    /// The layouts in which the table is found in files, the one that is written first.
    fn layouts() -> Vec<Layout<Self>>
    where
        Self: Sized;
}

/// One way in which rows of a table lie in files.
#[derive(Clone, Debug)]
pub struct Layout<R> {
    /// Its name, for messages.
    pub name: &'static str,
    declared: TypeDescriptor,
    read: fn(&Dataset, Range<usize>) -> Result<Vec<R>>,
}

impl<R: Row> Layout<R> {
    /// The layout of the rows themselves. HDF5 may convert: numbers of the other byte order are fine.
    pub(crate) fn written<S: H5Type + Into<R>>(name: &'static str) -> Self {
        let read = |table: &Dataset, range: Range<usize>| {
            Ok(table.read_slice_1d::<S, _>(range)?.into_iter().map(Into::into).collect())
        };
        Self { name, declared: S::type_descriptor(), read }
    }

    /// A layout whose rows are needed byte for byte, as they lie in the file, and taken apart by ourselves.
    pub(crate) fn raw<S: H5Type + Into<R>>(name: &'static str) -> Self {
        let read = |table: &Dataset, range: Range<usize>| {
            let rows = table.as_reader().no_convert().read_slice_1d::<S, _>(range)?;
            Ok(rows.into_iter().map(Into::into).collect())
        };
        Self { name, declared: S::type_descriptor(), read }
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.declared.size()
    }

    /// Reads rows; the range must lie in the table.
    pub(crate) fn read(&self, table: &Dataset, range: Range<usize>) -> Result<Vec<R>> {
        (self.read)(table, range)
    }

    /// The layout that a file declares, or none of them.
    pub(crate) fn recognise(declared: &TypeDescriptor) -> Option<Self> {
        R::layouts().into_iter().find(|layout| same(&layout.declared, declared))
    }

    /// The layout in words.
    pub(crate) fn describe(&self) -> String {
        format!("{} ({})", describe(&self.declared), self.name)
    }
}

/// A name as the library gives it: it takes the bytes of a file for UTF-8 without looking at them.
pub(crate) fn readable(name: &str) -> String {
    String::from_utf8_lossy(name.as_bytes()).into_owned()
}

/// Whether two compounds have the same members at the same places, in whatever order they are declared.
fn same(one: &TypeDescriptor, other: &TypeDescriptor) -> bool {
    let (TypeDescriptor::Compound(one), TypeDescriptor::Compound(other)) = (one, other) else {
        return false;
    };
    let members = |compound: &CompoundType| {
        let mut members = compound.fields.clone();
        members.sort_by_key(|member| member.offset);
        members.into_iter().map(|member| (member.name, member.ty, member.offset)).collect::<Vec<_>>()
    };
    one.size == other.size && members(one) == members(other)
}

/// A type in words: the size, and for each member name, type and place.
pub(crate) fn describe(declared: &TypeDescriptor) -> String {
    /// A hostile file may have any number of members.
    const MOST_MEMBERS: usize = 20;
    let TypeDescriptor::Compound(compound) = declared else {
        return readable(&format!("{declared}, not a compound"));
    };
    let mut text = format!("{} bytes:", compound.size);
    for member in compound.fields.iter().take(MOST_MEMBERS) {
        // Writing to a string cannot fail.
        let kind = member.ty.to_string();
        let _ = write!(text, " {} {} @{}", readable(&member.name), readable(&kind), member.offset);
    }
    if compound.fields.len() > MOST_MEMBERS {
        let _ = write!(text, " … {} members", compound.fields.len());
    }
    text
}
