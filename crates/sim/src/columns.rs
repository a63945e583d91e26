//! CSV files with named columns: truth and events.

use std::io::{BufRead, Read};

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ColumnError {
    /// The system says so.
    #[error("{0}")]
    Unreadable(std::io::Error),
    /// A line is not what it should be.
    #[error("line {line}: {problem}")]
    Invalid {
        /// The line, from 1.
        line: usize,
        /// What was found and what is expected.
        problem: String,
    },
}

/// Reads a file line by line. `names` are the columns that `parse` needs, in its order; the file may have more, and in
/// any order. `what` is the file, for errors: "a truth file of evforge".
///
/// # Errors
/// The first line that is not what it should be.
pub(crate) fn read<T, const N: usize>(
    reader: impl BufRead,
    names: [&str; N],
    what: &str,
    parse: impl Fn([&str; N]) -> Option<T>,
) -> Result<Vec<T>, ColumnError> {
    let mut lines = Lines(reader).enumerate();
    let (_, header) = lines.next().unwrap_or((0, Ok(String::new())));
    let header = header.map_err(ColumnError::Unreadable)?;
    let found: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut columns = [0; N];
    for (column, name) in columns.iter_mut().zip(names) {
        *column = found.iter().position(|found| *found == name).ok_or_else(|| ColumnError::Invalid {
            line: 1,
            problem: format!(
                "no column `{name}` in `{}`: {what} has `{}`",
                beginning(&header),
                names.join(",")
            ),
        })?;
    }
    let mut rows = Vec::new();
    for (index, line) in lines {
        let line = line.map_err(ColumnError::Unreadable)?;
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let mut own = [""; N];
        let is_whole = own.iter_mut().zip(columns).all(|(own, column)| match fields.get(column) {
            Some(field) => {
                *own = field;
                true
            }
            None => false,
        });
        rows.push(is_whole.then(|| parse(own)).flatten().ok_or_else(|| ColumnError::Invalid {
            line: index + 1,
            problem: format!("`{}` is not a line of `{}`", beginning(&line), beginning(&header)),
        })?);
    }
    Ok(rows)
}

/// Bytes of a line: more are no line of a table, but a device, or a file of another kind.
const LONGEST_LINE: usize = 64 << 10;

/// Lines, none of which is longer than [`LONGEST_LINE`].
struct Lines<R>(R);

impl<R: BufRead> Iterator for Lines<R> {
    type Item = std::io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = String::new();
        let length = match (&mut self.0).take(LONGEST_LINE as u64 + 1).read_line(&mut line) {
            Ok(0) => return None,
            Ok(length) => length,
            Err(error) => return Some(Err(error)),
        };
        if length > LONGEST_LINE {
            let problem = format!("a line has more than {LONGEST_LINE} bytes: it is no table");
            return Some(Err(std::io::Error::other(problem)));
        }
        let end = line.trim_end_matches('\n').trim_end_matches('\r').len();
        line.truncate(end);
        Some(Ok(line))
    }
}

/// As much of a line as is of use in a message.
fn beginning(line: &str) -> String {
    const MOST: usize = 120;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
