//! Texts of a library.

use std::ffi::{CStr, c_char};

/// A text of the library; none if it is null, empty or not UTF-8.
///
/// # Safety
/// `text` is null or points to bytes that end with 0.
pub(crate) unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, so it ends with 0.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().ok().filter(|text| !text.is_empty()).map(str::to_owned)
}
