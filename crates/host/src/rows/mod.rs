//! Every setting that is looked at, in tables: where it is, what evforge wants, what the papers had, why, and what it risks.
//!
//! | table | of |
//! |---|---|
//! | `kernel` | the kernel's memory and queues for packets |
//! | `interface` | network interfaces and their cards |
//! | `processor` | cores |
//! | `services` | services that change what others have set |

mod interface;
mod kernel;
mod processor;
mod row;
mod services;

pub use kernel::RECEIVE_BUFFER;
pub use row::{At, Context, Paper, Row};

/// All rows, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = &'static Row> {
    kernel::ROWS.iter().chain(interface::ROWS).chain(processor::ROWS).chain(services::ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_why_where_from_and_what_it_risks() {
        let mut names = std::collections::BTreeSet::new();
        for row in all() {
            assert!(names.insert(row.name), "{} twice", row.name);
            for text in [row.subject, row.why, row.source, row.risk] {
                assert!(text.len() >= 3, "{}", row.name);
            }
        }
        assert!(names.len() >= 25, "{}", names.len());
    }
}
