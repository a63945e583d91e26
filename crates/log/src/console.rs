//! The one place that writes on standard error: whole lines, which do not break up the line that shows the state of a run.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Takes away what a display has drawn, calls what it is given, and draws again.
pub type Around = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// What stands on the terminal below the last line.
struct Screen {
    /// The line of the state, if one is shown.
    state: Option<String>,
    /// A display that draws by itself.
    around: Option<Around>,
}

static SCREEN: Mutex<Screen> = Mutex::new(Screen { state: None, around: None });

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes whole lines.
///
/// # Errors
/// If standard error does not take them: a terminal that has gone away, a pipe that nobody reads.
pub fn write(text: &str) -> std::io::Result<()> {
    let screen = screen();
    let mut written = Ok(());
    let mut write = || {
        let mut error = std::io::stderr().lock();
        written = match &screen.state {
            Some(state) => write!(error, "\r\x1b[K{text}{state}"),
            None => error.write_all(text.as_bytes()),
        }
        .and_then(|()| error.flush());
    };
    match &screen.around {
        Some(around) => around(&mut write),
        None => write(),
    }
    written
}

/// Shows the state in the last line of a terminal, in the place of what was there.
pub fn show_state(line: &str) {
    let mut screen = screen();
    let mut error = std::io::stderr().lock();
    // A terminal that has gone away is no reason to stop a run.
    let _ = write!(error, "\r\x1b[K{line}").and_then(|()| error.flush());
    screen.state = Some(line.to_owned());
}

/// Leaves the line of the state where it is: what follows comes below it.
pub fn end_state() {
    if screen().state.take().is_some() {
        let _ = writeln!(std::io::stderr());
    }
}

/// Has everything written by way of `around`, as long as a display draws by itself; none when it has ended.
pub fn draw_around(around: Option<Around>) {
    screen().around = around;
}
