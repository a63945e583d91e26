//! What happened, a line for each thing: time in microseconds since the start, the thread, what.

use crate::real;
use std::fmt::Write;

/// Gathers lines and writes them into a file.
pub(crate) struct Trace {
    descriptor: Option<i32>,
    text: String,
}

/// Written at the latest when so many bytes have been gathered.
const AT_ONCE: usize = 1 << 16;

impl Trace {
    /// Into the file of this descriptor; nowhere without one.
    pub(crate) fn new(descriptor: Option<i32>) -> Self {
        Self { descriptor, text: String::new() }
    }

    pub(crate) fn line(&mut self, now: u64, thread: usize, what: std::fmt::Arguments<'_>) {
        if self.descriptor.is_none() {
            return;
        }
        // Writing into a text does not fail.
        let _ = writeln!(self.text, "{} t{thread} {what}", now / 1000);
        if self.text.len() >= AT_ONCE {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        if let Some(descriptor) = self.descriptor {
            let mut rest = self.text.as_bytes();
            while !rest.is_empty() {
                // SAFETY: the bytes are those of the slice.
                let written = unsafe { real::write(descriptor, rest.as_ptr().cast(), rest.len()) };
                let Ok(written @ 1..) = usize::try_from(written) else { break };
                rest = &rest[written..];
            }
        }
        self.text.clear();
    }
}
