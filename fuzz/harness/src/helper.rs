//! What the helper with privileges reads: requests of evforge, and the rules of the administrator.

use evforge_net::helper::{check_request, check_rules};

/// Reads `bytes` as a request and as rules. What is not UTF-8 is replaced in rules.
///
/// # Panics
/// If an error says nothing, or if a request is another one after it was sent.
pub fn helper(bytes: &[u8]) {
    match check_request(bytes) {
        Ok(sent) => assert_eq!(check_request(&sent).as_ref(), Ok(&sent), "a request that changes on its way"),
        Err(problem) => assert!(!problem.trim().is_empty(), "an error that says nothing"),
    }
    if let Err(problem) = check_rules(&String::from_utf8_lossy(bytes)) {
        assert!(!problem.trim().is_empty(), "an error that says nothing");
    }
}
