//! Numbered packets received over UDP: a thread for each receiver, with a stated work for each packet.

use super::account::Account;
use super::received::ReceivedNumbers;
use crate::link::error::LinkReceiveError;
use crate::link::receive::{LinkProgress, LinkReceiving, receive_links};
use evforge_net::live_receiver::LiveReceiver;
use evforge_wire::numbered::NumberedLayout;
use std::sync::atomic::AtomicBool;

/// Receives until the time is over, nothing has come for long enough or `stop` is set. `watch` is called in this thread some
/// 50 times per second; others receive.
///
/// # Errors
/// If a core cannot be had, or the kernel fails to receive.
pub fn receive(
    receivers: Vec<LiveReceiver>,
    layout: NumberedLayout,
    settings: &LinkReceiving,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&LinkProgress),
) -> Result<ReceivedNumbers, LinkReceiveError> {
    let links = receive_links(receivers, settings, || Account::new(layout), stop, watch, |_, _, _| {})?;
    ReceivedNumbers::of(links)
        .ok_or_else(|| LinkReceiveError::NoThread(std::io::Error::other("none has begun")))
}
