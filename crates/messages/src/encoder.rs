//! Where messages are written: one buffer, used again for each message.

use crate::column::{Column, Element};
use crate::head::Heads;
use crate::schema::Schema;
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, UnionWIPOffset, Vector, WIPOffset};

/// A vector of bytes in the message that is being written.
pub(crate) type Bytes = Option<WIPOffset<Vector<'static, u8>>>;

/// A member of a union in the message that is being written.
pub(crate) type Member = Option<WIPOffset<UnionWIPOffset>>;

/// Writes messages, one at a time, into a buffer that it keeps. A message is as long as its contents need.
pub struct Encoder {
    pub(crate) builder: FlatBufferBuilder<'static>,
    /// Of messages that are made again and again.
    pub(crate) heads: Heads,
}

impl Encoder {
    /// An encoder whose buffer grows with the messages.
    pub fn new() -> Self {
        Self::with_capacity(1024)
    }

    /// An encoder with room for messages of this many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { builder: FlatBufferBuilder::with_capacity(bytes), heads: Heads::default() }
    }

    /// Forgets the previous message.
    pub(crate) fn begin(&mut self) -> &mut Self {
        self.builder.reset();
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> Option<WIPOffset<&'static str>> {
        Some(self.builder.create_string(text))
    }

    pub(crate) fn text_if(&mut self, text: Option<&str>) -> Option<WIPOffset<&'static str>> {
        text.map(|text| self.builder.create_string(text))
    }

    pub(crate) fn texts(
        &mut self,
        texts: &[&str],
    ) -> Option<WIPOffset<Vector<'static, ForwardsUOffset<&'static str>>>> {
        let texts: Vec<_> = texts.iter().map(|text| self.builder.create_string(text)).collect();
        Some(self.builder.create_vector(&texts))
    }

    /// An empty column becomes an empty vector, never an absent one: readers exist that do not survive those.
    pub(crate) fn column<T: Element>(
        &mut self,
        column: Column<'_, T>,
    ) -> Option<WIPOffset<Vector<'static, T>>> {
        Some(match column.as_slice() {
            Some(values) => self.builder.create_vector(values),
            None => self.builder.create_vector_from_iter(column.iter()),
        })
    }

    /// The little-endian bytes of a column.
    pub(crate) fn bytes<T: Element>(
        &mut self,
        column: Column<'_, T>,
    ) -> Option<WIPOffset<Vector<'static, u8>>> {
        // On a machine of the other byte order numbers are turned on the way.
        Some(match column.le_bytes() {
            Some(bytes) => self.builder.create_vector(bytes),
            None => {
                let mut bytes: Vec<u8> = Vec::with_capacity(column.len() * size_of::<T>());
                for value in column.iter() {
                    bytes.extend(zerocopy::IntoBytes::as_bytes(&value).iter().rev());
                }
                self.builder.create_vector(&bytes)
            }
        })
    }

    pub(crate) fn finish<T>(&mut self, root: WIPOffset<T>, schema: Schema) -> &[u8] {
        self.builder.finish(root, Some(schema.id()));
        self.builder.finished_data()
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}
