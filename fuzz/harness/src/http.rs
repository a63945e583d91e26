//! The page's server: requests, and what a browser says at its WebSocket.

use crate::packet_stream::pieces;
use crate::quiet_run;
use evforge_control::{ControlAccess, Token};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulse::PulseTrain;
use evforge_view::ViewOptions;
use evforge_view::exercise::UnconnectedView;
use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The token of the corpus.
pub const TOKEN: &str = "0123456789abcdef";

/// Pieces of an input at most.
const MOST_PIECES: usize = 64;
/// Bytes of answers at most, for each piece: the longest is the document of the interface.
const MOST_ANSWERED: usize = 4 << 20;

thread_local! {
    static VIEW: RefCell<(UnconnectedView, u32)> = RefCell::new((view(), 1));
}

/// A view of 8 x 6 pixels of a run that answers everything.
fn view() -> UnconnectedView {
    let geometry = LogicalGeometry::flat(8, 6).expect("a small geometry");
    let token = Arc::new(Token::new(TOKEN, "the exercise").expect("a token"));
    let options = ViewOptions {
        event_memory: 1 << 20,
        detector: "sonde".into(),
        control: Some(ControlAccess { desk: quiet_run::desk().0, token }),
        ..ViewOptions::new("Exercise", geometry, PulseTrain::ess())
    };
    let view = UnconnectedView::new(options).expect("the options of the exercise are sound");
    view.update(1);
    view
}

/// Sends the pieces in `bytes` over one connection, each behind its length (u16, little-endian; the last one may be cut).
///
/// # Panics
/// If the server does not end the connection, a task of it panics, a browser stays counted, it says something that is no answer of
/// HTTP, or more than its answers can have.
pub fn http(bytes: &[u8]) {
    let pieces: Vec<&[u8]> = pieces(bytes).take(MOST_PIECES).collect();
    let conversation = VIEW.with_borrow_mut(|(view, number)| {
        // From another address each time: what one address may ask is bounded.
        *number = number.wrapping_add(1);
        let peer = SocketAddr::from((Ipv4Addr::from_bits(*number), 4000));
        view.converse(peer, &pieces)
    });
    assert!(conversation.ended_well, "the connection did not end, or its task has panicked");
    assert_eq!(conversation.browsers, 0, "browsers that have left are counted");
    let answer = &conversation.answer;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "no answer of HTTP: {answer:?}");
    assert!(answer.len() <= MOST_ANSWERED * pieces.len().max(1), "{} bytes were answered", answer.len());
}
