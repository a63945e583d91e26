//! Results against the papers, and those of the documents.

mod documents;
mod table_1;
