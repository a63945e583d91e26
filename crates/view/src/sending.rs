//! How much of answers may be under way at a time.
//!
//! An answer is made whole, and stays in memory until its last byte has been taken: with a client that takes none, until that is
//! cut. Small ones are bounded by the number of connections; large ones, as of pictures with millions of pixels, have a bounded room
//! together. Who comes when it is taken is asked to come again.

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Response, header};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of large answers that may be under way.
const ROOM: usize = 64 << 20;
/// Answers up to this size are not counted; larger ones are, in pieces of it.
const PIECE: usize = 64 << 10;

/// Bytes that large answers take at most, of which the largest has `largest` bytes: one always has room. The small ones are
/// [`PIECE`] for each connection, which is little to what connections take anyway.
pub(crate) fn most(largest: usize) -> usize {
    ROOM.max(largest)
}

/// The room that is left.
#[derive(Clone, Debug)]
pub(crate) struct Sending(Arc<Semaphore>);

impl Default for Sending {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM / PIECE)))
    }
}

impl Sending {
    /// The answer, which keeps its room until it has been sent or is dropped; none if there is none left for it.
    pub(crate) fn admit(&self, answer: Response<Body>) -> Option<Response<Body>> {
        let bytes = answer.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let Some(bytes) = bytes.filter(|&bytes| bytes > PIECE) else { return Some(answer) };
        let pieces = bytes.div_ceil(PIECE).min(ROOM / PIECE);
        let permit = Arc::clone(&self.0).try_acquire_many_owned(u32::try_from(pieces).ok()?).ok()?;
        Some(answer.map(|body| Body::new(Counted { body, left: Bytes::new(), _room: permit })))
    }
}

/// What is said where there is no room: when to come again.
pub(crate) fn come_again(answer: &mut Response<Body>) {
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
}

/// A body that takes room. It is given in pieces: who sends it would otherwise take it whole at once, and drop it while its bytes still
/// wait for the client.
struct Counted {
    body: Body,
    /// What has come of it and is not given yet.
    left: Bytes,
    /// Given back with the body.
    _room: OwnedSemaphorePermit,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            if !self.left.is_empty() {
                let length = self.left.len().min(PIECE);
                return Poll::Ready(Some(Ok(Frame::data(self.left.split_to(length)))));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.left = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let of_body = self.body.size_hint();
        let left = self.left.len() as u64;
        of_body.exact().map_or(of_body, |bytes| SizeHint::with_exact(bytes + left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: usize) -> Response<Body> {
        Response::new(Body::from(vec![0_u8; bytes]))
    }

    #[tokio::test]
    async fn a_large_answer_is_what_it_was_and_has_its_room_until_its_end() {
        let bytes: Vec<u8> = (0..3 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        let sending = Sending::default();
        let taken = |sending: &Sending| ROOM / PIECE - sending.0.available_permits();
        let mut body = sending.admit(Response::new(Body::from(bytes.clone()))).unwrap().into_body();
        let mut found = Vec::new();
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            assert_eq!(taken(&sending), 4);
            let data = frame.unwrap().into_data().unwrap();
            assert!(data.len() <= PIECE);
            found.extend_from_slice(&data);
            let left = (bytes.len() - found.len()) as u64;
            assert_eq!(body.size_hint().exact(), Some(left));
        }
        assert!(found == bytes && body.is_end_stream());
        drop(body);
        assert_eq!(taken(&sending), 0);
    }

    #[test]
    fn large_answers_have_a_bounded_room_which_comes_back_with_them() {
        let sending = Sending::default();
        let half = sending.admit(of(ROOM / 2)).unwrap();
        assert_eq!(half.body().size_hint().exact(), Some(ROOM as u64 / 2));
        let other = sending.admit(of(ROOM / 2)).unwrap();
        assert!(sending.admit(of(PIECE + 1)).is_none());
        // Small ones always have room.
        let small: Vec<_> = (0..100).map(|_| sending.admit(of(PIECE)).unwrap()).collect();
        drop(half);
        assert!(sending.admit(of(ROOM / 2 + 1)).is_none());
        drop((other, small));
        // One that is larger than the room has it for itself.
        let largest = sending.admit(of(2 * ROOM)).unwrap();
        assert!(sending.admit(of(PIECE + 1)).is_none());
        drop(largest);
        assert!(sending.admit(of(ROOM)).is_some());
    }
}
