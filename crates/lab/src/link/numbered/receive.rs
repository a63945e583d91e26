//! Numbered packets received over UDP, in one thread, with a stated work for each of them.

use super::account::Account;
use crate::link::error::LinkReceiveError;
use crate::link::receive::{LinkProgress, LinkReceiving, ReceivedLink, receive_links};
use evforge_net::live_receiver::LiveReceiver;
use std::sync::atomic::AtomicBool;

/// Receives until the time is over, nothing has come for long enough or `stop` is set. `watch` is called in this thread some
/// 50 times per second; another one receives.
///
/// # Errors
/// If the core cannot be had, or the kernel fails to receive.
pub fn receive(
    receiver: LiveReceiver,
    settings: &LinkReceiving,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&LinkProgress),
) -> Result<ReceivedLink<Account>, LinkReceiveError> {
    let links = receive_links(vec![receiver], settings, Account::default, stop, watch, |_, _, _| {})?;
    // One thread has received.
    links
        .into_iter()
        .next()
        .ok_or_else(|| LinkReceiveError::NoThread(std::io::Error::other("none has begun")))
}
