//! Refusals as JSON: what, why, and what to do.

use super::answers::ChangeOutcome;
use crate::json_object::json_object;
use crate::page::with_type;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use evforge_control::Refusal;
use evforge_core::change::ChangeRefusal;
use serde::Serialize;

json_object! {
    /// Why a request is refused.
    #[derive(Debug, Serialize)]
    pub(crate) struct ErrorAnswer {
        /// What is wrong.
        pub(crate) error: ErrorState,
        /// Of several changes, what happened to each; absent otherwise.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub(crate) changes: Vec<ChangeOutcome>,
    }
}

json_object! {
    /// What is wrong, and what to do.
    #[derive(Debug, Serialize)]
    pub(crate) struct ErrorState {
        /// For programs: "invalid", "no_token", "wrong_token", "read_only", "not_found", "wrong_method", "too_slow", "not_possible", "too_early",
        /// "no_run", "ended", "too_large", "too_many", "timed_out" or "busy".
        pub(crate) code: &'static str,
        /// For people: what is wrong.
        pub(crate) message: String,
        /// For people: what to do.
        pub(crate) remedy: String,
    }
}

/// A refusal before it is answered.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) remedy: String,
    pub(crate) changes: Vec<ChangeOutcome>,
}

impl Refused {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { status, code, message: message.into(), remedy: remedy.into(), changes: Vec::new() }
    }

    pub(crate) fn invalid(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message, remedy)
    }

    pub(crate) fn not_found(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message, remedy)
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let Self { status, code, message, remedy, changes } = self;
        let answer = ErrorAnswer { error: ErrorState { code, message, remedy }, changes };
        // Plain structs: their JSON cannot fail.
        let text = serde_json::to_vec(&answer).unwrap_or_default();
        let mut response = with_type(status, "application/json", Body::from(text));
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                headers
                    .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"evforge\""));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            // What is left of the body is not waited for.
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let (status, code, remedy) = match refusal {
            Refusal::Change(refusal) => match refusal {
                ChangeRefusal::Unknown { .. } | ChangeRefusal::OutOfRange { .. } => (
                    StatusCode::BAD_REQUEST,
                    "invalid",
                    "GET /api/control/parameters lists what can be changed",
                ),
                ChangeRefusal::TooEarly { .. } => (
                    StatusCode::CONFLICT,
                    "too_early",
                    "leave the time out, or ask GET /api/control/changes/earliest",
                ),
                ChangeRefusal::Ended => (StatusCode::CONFLICT, "ended", "begin a new run"),
                ChangeRefusal::NotOffered(_) | ChangeRefusal::NoTimeYet | ChangeRefusal::TooMany => (
                    StatusCode::CONFLICT,
                    "not_possible",
                    "docs/control.md says what can be changed, and when",
                ),
            },
            Refusal::NotPossible(_) => {
                (StatusCode::CONFLICT, "not_possible", "docs/control.md says what this needs")
            }
            Refusal::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid", "correct the value, and ask again"),
            Refusal::NoRun => (StatusCode::CONFLICT, "no_run", "POST /api/control/runs starts a run"),
            Refusal::TimedOut(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "timed_out",
                "look what the run waits for (GET /api/control/state), and ask again",
            ),
            Refusal::Ended => (StatusCode::CONFLICT, "ended", "begin a new run"),
        };
        Self::new(status, code, message, remedy)
    }
}
