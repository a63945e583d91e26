//! Who may ask how often, and who may change anything.

use super::body;
use super::refused::Refused;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use evforge_control::allowance::{Allowances, Rate};
use evforge_control::desk::ControlCounters;
use evforge_control::{ControlAccess, ControlDesk, Origin};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::Semaphore;

/// Requests of one address below `/api/control`, and those that change something.
pub(crate) const REQUESTS: Rate = Rate { at_once: 2000, per_second: 2000.0 };
/// Wrong tokens of one address; beyond, the right one is refused as well.
pub(crate) const WRONG_TOKENS: Rate = Rate { at_once: 10, per_second: 1.0 };
/// Requests that are worked on at a time: others wait.
pub(crate) const AT_WORK: usize = 16;

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Peer {
    /// As the notes have it.
    pub(crate) fn origin(self) -> Origin {
        Origin { way: "HTTP", peer: Some(self.0) }
    }
}

/// How a refusal is counted.
type Count = fn(&mut ControlCounters);

/// Looks at every request that asks a run or changes anything.
#[derive(Debug)]
pub(crate) struct Door {
    access: Option<ControlAccess>,
    requests: Mutex<Allowances>,
    wrong: Mutex<Allowances>,
    /// Places for those that are worked on.
    pub(crate) places: Arc<Semaphore>,
}

impl Door {
    pub(crate) fn new(access: Option<ControlAccess>) -> Self {
        Self {
            access,
            requests: Mutex::new(Allowances::new(REQUESTS)),
            wrong: Mutex::new(Allowances::new(WRONG_TOKENS)),
            places: Arc::new(Semaphore::new(AT_WORK)),
        }
    }

    /// The desk that requests go to.
    pub(crate) fn desk(&self) -> Option<&Arc<ControlDesk>> {
        self.access.as_ref().map(|access| &access.desk)
    }

    /// Judges a request by what can be known of it without its body.
    pub(crate) fn admit(&self, request: &Request, changes: bool) -> Result<(), Refused> {
        let peer = request.extensions().get::<Peer>().copied();
        let from = peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.ip());
        let turn_away = |refused: Refused, count: Count| {
            if let (Some(desk), Some(peer)) = (self.desk(), peer) {
                let what = format!("{} {}", request.method(), request.uri().path());
                desk.turned_away(&peer.origin(), &what, &refused.message, count);
            }
            Err(refused)
        };
        if !crate::lock::lock(&self.requests).take(from, Instant::now()) {
            let refused = Refused::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many",
                format!("more than {} requests in a second come from {from}", REQUESTS.per_second),
                "ask less often; several changes fit into one request",
            );
            return turn_away(refused, |counts| counts.requests_limited += 1);
        }
        if changes && let Err((refused, count)) = self.judge(request, from) {
            return turn_away(refused, count);
        }
        if body::is_announced_too_large(request) {
            return turn_away(body::too_large(), |counts| counts.requests_too_large += 1);
        }
        Ok(())
    }

    /// Judges the token of a request.
    fn judge(&self, request: &Request, from: IpAddr) -> Result<(), (Refused, Count)> {
        let unauthorised: Count = |counts| counts.requests_unauthorised += 1;
        let Some(access) = &self.access else {
            let message =
                "nothing can be changed here: this page was started without a way to change anything";
            let remedy = "ask a run of evforge run or evforge demo";
            return Err((Refused::new(StatusCode::FORBIDDEN, "read_only", message, remedy), unauthorised));
        };
        let remedy = "send `Authorization: Bearer TOKEN`. evforge ctl finds the token of a run of the same user on the same \
                      host by itself; else it is what follows #token= in the address that evforge said when it started, or \
                      in the file control.token_file";
        let given = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let Some(given) = given.and_then(bearer) else {
            let message = "this changes something, and needs the token of the run";
            return Err((Refused::new(StatusCode::UNAUTHORIZED, "no_token", message, remedy), unauthorised));
        };
        let now = Instant::now();
        if !crate::lock::lock(&self.wrong).has_left(from, now) {
            let message = format!("{from} has sent too many wrong tokens");
            let refused =
                Refused::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message, "wait some seconds");
            return Err((refused, unauthorised));
        }
        if access.token.is(given) {
            return Ok(());
        }
        crate::lock::lock(&self.wrong).take(from, now);
        let refused =
            Refused::new(StatusCode::UNAUTHORIZED, "wrong_token", "this is not the token of the run", remedy);
        Err((refused, |counts| {
            counts.requests_unauthorised += 1;
            counts.tokens_wrong += 1;
        }))
    }
}

/// The token of `Bearer TOKEN`.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}
