//! What a server needs that lets others ask and change a run.

use crate::desk::ControlDesk;
use crate::token::Token;
use std::sync::Arc;

/// The desk that requests go through, and what somebody must know who wants to change something.
#[derive(Clone, Debug)]
pub struct ControlAccess {
    /// Where requests go.
    pub desk: Arc<ControlDesk>,
    /// What must be known for those that change something.
    pub token: Arc<Token>,
}
