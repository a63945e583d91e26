//! What is declared of a path.

use crate::shown_run::ShownRun;
use axum::routing::{MethodFilter, MethodRouter};

/// How a path is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
}

impl Method {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }

    pub(super) const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
        }
    }
}

/// A parameter behind the `?`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) range: &'static str,
    pub(super) default: &'static str,
}

/// An answer, and when it is given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) when: &'static str,
}

impl Answer {
    pub(super) const fn json(when: &'static str) -> Self {
        Self { status: 200, content_type: "application/json", when }
    }

    /// A refusal as an object.
    pub(super) const fn refusal(status: u16, when: &'static str) -> Self {
        Self { status, content_type: "application/json", when }
    }

    /// A refusal in words.
    pub(super) const fn words(status: u16, when: &'static str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", when }
    }
}

/// What an answer holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// The JSON object of this name.
    Object(&'static str),
    /// A list of them.
    List(&'static str),
    /// This, in words.
    Other(&'static str),
}

/// Parts of paths that stand for something: their names, and what they are.
pub(super) const PATH_PARAMETERS: [(&str, &str); 3] = [
    ("name", "name of a counter, as `/api/control/counters` has it"),
    ("group", "name of a group, as `/api/control/log` has it"),
    ("file", "a file of the page"),
];

impl Route {
    /// Whether it asks or changes a run: then what is refused is said as an object.
    pub(super) fn is_guarded(&self) -> bool {
        self.changes || self.path.starts_with(CONTROL)
    }
}

/// Where the paths begin that ask and change a run.
pub(super) const CONTROL: &str = "/api/control";

/// A path: the router and the document are made of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// Whether it changes anything: then it needs the token.
    pub(super) changes: bool,
    /// The JSON object that its body is; none if nobody looks at a body.
    pub(super) body: Option<&'static str>,
    pub(super) purpose: &'static str,
    /// None where nobody looks at them.
    pub(super) parameters: Option<&'static [Parameter]>,
    pub(super) content: Content,
    pub(super) answers: &'static [Answer],
    /// What the document asks `curl` for: the end of the address, and what follows it in the shell.
    pub(super) example: (&'static str, &'static str),
    pub(super) handler: fn(MethodFilter) -> MethodRouter<ShownRun>,
}
