//! The pictures of the page in a real browser.

use evforge_testkit::skip;
use std::path::Path;
use std::process::Command;

/// `EVFORGE_PICTURES_SCREENSHOTS` names a folder that keeps pictures of the page.
#[test]
fn pictures_are_chosen_and_binned_in_a_browser() {
    let test = "pictures_are_chosen_and_binned_in_a_browser";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser");
    if !folder.join("node_modules/playwright-core").is_dir() {
        return skip(test, "playwright-core is not installed: run npm ci in tests/browser");
    }
    // Cargo builds the examples with the tests, in the folder beside theirs.
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().and_then(Path::parent).unwrap().join("examples/live");
    assert!(example.is_file(), "{} is not there: cargo test builds it", example.display());
    let mut node = Command::new("node");
    node.arg("pictures_test.mjs").arg(example).args(std::env::var_os("EVFORGE_PICTURES_SCREENSHOTS"));
    match node.current_dir(folder).output() {
        Err(error) => skip(test, &format!("node cannot be started: {error}")),
        Ok(page) => {
            let (out, error) = (String::from_utf8_lossy(&page.stdout), String::from_utf8_lossy(&page.stderr));
            assert!(page.status.success(), "{out}\n{error}");
            println!("{out}");
        }
    }
}
