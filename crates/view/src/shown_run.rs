//! The run that a server shows: one after the other.

use crate::control::door::Door;
use crate::handlers::Server;
use crate::history;
use crate::looks::board::Board;
use crate::looks::worker::{Update, make_updates};
use crate::shared::Shared;
use crate::waiting;
use axum::extract::FromRef;
use bytes::Bytes;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// What is shown now: a server has one run after the other. Clones are the same place.
#[derive(Clone, Debug)]
pub(crate) struct ShownRun(Arc<RwLock<Server>>);

impl ShownRun {
    /// The first run. Who may ask is the same for all of them.
    pub(crate) fn begin(shared: Arc<Shared>, openapi: Bytes) -> (Self, Showing) {
        let door = Arc::new(Door::new(shared.options.control.clone()));
        let (server, showing) = Showing::of(shared, door, openapi);
        (Self(Arc::new(RwLock::new(server))), showing)
    }

    /// Another run is shown from now on.
    pub(crate) fn change(&self, shared: Arc<Shared>) -> Showing {
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let (server, showing) = Showing::of(shared, Arc::clone(&now.door), now.openapi.clone());
        *now = server;
        showing
    }
}

impl FromRef<ShownRun> for Server {
    fn from_ref(shown: &ShownRun) -> Self {
        // Nobody holds the lock while a request is answered.
        shown.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The other ends of what requests see of a run.
#[derive(Debug)]
pub(crate) struct Showing {
    shared: Arc<Shared>,
    updates: watch::Sender<Update>,
    is_over: watch::Sender<bool>,
}

/// Says that a run is not shown any more.
#[derive(Debug)]
pub(crate) struct LastUpdate {
    is_over: watch::Sender<bool>,
    board: Arc<Board>,
}

impl LastUpdate {
    /// Its last update is made now, and its browsers are told.
    pub(crate) fn make(&self) {
        self.is_over.send_replace(true);
        self.board.hurry();
    }
}

impl Showing {
    fn of(shared: Arc<Shared>, door: Arc<Door>, openapi: Bytes) -> (Server, Self) {
        let (sender, updates) = watch::channel(Update::default());
        let (is_over, shutdown) = watch::channel(false);
        let server = Server { shared: Arc::clone(&shared), door, openapi, updates, shutdown };
        (server, Self { shared, updates: sender, is_over })
    }

    /// Shows an update.
    #[cfg(feature = "exercise")]
    pub(crate) fn show(&self, update: Update) {
        self.updates.send_replace(update);
    }

    /// Makes the pictures in a thread of its own, and keeps the history, as long as somebody may want them.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn make_updates(self, runtime: &Handle) -> std::io::Result<LastUpdate> {
        let Self { shared, updates, is_over } = self;
        runtime.spawn(history::task::record(Arc::clone(&shared), is_over.subscribe()));
        runtime.spawn(waiting::ask(Arc::clone(&shared), is_over.subscribe()));
        let (board, stop) = (Arc::clone(&shared.board), is_over.subscribe());
        let work = move || make_updates(&shared, &updates, &stop);
        std::thread::Builder::new().name("evforge-looks".into()).spawn(work)?;
        Ok(LastUpdate { is_over, board })
    }
}
