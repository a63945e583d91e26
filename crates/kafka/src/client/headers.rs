//! What travels with a message: names and values.

use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Name and value.
pub type Header = (Cow<'static, str>, Option<Vec<u8>>);

/// Hands over what travels with a message. None where a name is no UTF-8, at which the client library panics.
pub(crate) fn with_headers<'m, T>(
    message: &'m BorrowedMessage<'_>,
    read: impl FnOnce(&mut dyn Iterator<Item = (&'m str, Option<&'m [u8]>)>) -> T,
) -> Option<T> {
    let Some(headers) = message.headers() else { return Some(read(&mut std::iter::empty())) };
    catch_unwind(AssertUnwindSafe(|| read(&mut headers.iter().map(|header| (header.key, header.value))))).ok()
}

/// All of them, with memory of their own; none if they cannot be read.
pub(crate) fn headers_of(message: &BorrowedMessage<'_>) -> Vec<Header> {
    let own = |(name, value): (&str, Option<&[u8]>)| (name.to_owned().into(), value.map(<[u8]>::to_vec));
    with_headers(message, |headers| headers.map(own).collect()).unwrap_or_default()
}
