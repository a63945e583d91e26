//! The child: it reads files whose names come on its standard input, and says how each went.

use super::Reader;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{BufRead, Write};
use std::path::Path;

/// Memory that the child may take, in bytes.
pub const LARGEST_MEMORY: u64 = 2 << 30;
/// Seconds of processor time that it may take.
pub const LONGEST_CPU: u64 = 60;

/// Reads each file that is named on standard input by the reader in front of it (`view PATH`), and answers with a line: `read`, or
/// `refused` and why.
///
/// # Errors
/// If the limits cannot be set, or nobody listens any more.
pub fn serve_child() -> std::io::Result<()> {
    let limit = |most| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::As, limit(LARGEST_MEMORY))?;
    setrlimit(Resource::Cpu, limit(LONGEST_CPU))?;
    setrlimit(Resource::Core, limit(0))?;
    setrlimit(Resource::Fsize, limit(1 << 30))?;
    let mut answers = std::io::stdout().lock();
    // Whatever the program has said before, an answer is a line of its own.
    writeln!(answers)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let Some((name, path)) = line.split_once(' ') else { continue };
        let Some(reader) = Reader::ALL.into_iter().find(|reader| reader.name() == name) else { continue };
        match reader.read(Path::new(path)) {
            Ok(()) => writeln!(answers, "read")?,
            Err(problem) if problem.trim().is_empty() => panic!("an error that says nothing"),
            Err(problem) => writeln!(answers, "refused {}", problem.replace(['\n', '\r'], " "))?,
        }
        answers.flush()?;
    }
    Ok(())
}
