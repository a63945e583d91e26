//! The page in a real browser: its pictures, its history, and what it can be asked.

use evforge_testkit::skip;
use std::path::Path;
use std::process::Command;

/// Runs a test of `tests/browser` on the example `live`. `EVFORGE_PICTURES_SCREENSHOTS` names a folder that keeps pictures of the
/// page.
fn in_a_browser(test: &str, program: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser");
    if !["playwright-core", "axe-core"].iter().all(|name| folder.join("node_modules").join(name).is_dir()) {
        return skip(test, "playwright-core and axe-core are not installed: run npm ci in tests/browser");
    }
    // Cargo builds the examples with the tests, in the folder beside theirs.
    let tests = std::env::current_exe().expect("a program has a place");
    let example = tests.parent().and_then(Path::parent).expect("a folder of a folder").join("examples/live");
    assert!(example.is_file(), "{} is not there: cargo test builds it", example.display());
    let mut node = Command::new("node");
    node.arg(program).arg(example).args(std::env::var_os("EVFORGE_PICTURES_SCREENSHOTS"));
    match node.current_dir(folder).output() {
        Err(error) => skip(test, &format!("node cannot be started: {error}")),
        Ok(page) => {
            let (out, error) = (String::from_utf8_lossy(&page.stdout), String::from_utf8_lossy(&page.stderr));
            assert!(page.status.success(), "{out}\n{error}");
            println!("{out}");
        }
    }
}

#[test]
fn pictures_are_chosen_and_binned_in_a_browser() {
    in_a_browser("pictures_are_chosen_and_binned_in_a_browser", "pictures_test.mjs");
}

#[test]
fn a_spike_is_visible_at_every_range_in_a_browser() {
    in_a_browser("a_spike_is_visible_at_every_range_in_a_browser", "history_test.mjs");
}

/// Regions, slices, windows, links, comparisons; keyboard and screen readers.
#[test]
fn what_is_looked_at_is_what_was_asked_for_in_a_browser() {
    in_a_browser("what_is_looked_at_is_what_was_asked_for_in_a_browser", "view_test.mjs");
}

/// Frames: what is known of them, and looks at some of them.
#[test]
fn frames_are_shown_and_chosen_in_a_browser() {
    in_a_browser("frames_are_shown_and_chosen_in_a_browser", "frames_test.mjs");
}

/// Views, several pictures at once, panels where they stand.
#[test]
fn views_show_what_they_say_in_a_browser() {
    in_a_browser("views_show_what_they_say_in_a_browser", "views_test.mjs");
}
