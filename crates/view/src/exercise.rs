//! The server without a network, for exercises: connections are memory, and whatever bytes come on them are answered as over TCP.

use crate::accept;
use crate::control::door::Peer;
use crate::error::ViewError;
use crate::http_api;
use crate::looks::worker::Update;
use crate::options::ViewOptions;
use crate::server;
use crate::shared::Shared;
use crate::shown_run::{Showing, ShownRun};
use axum::{Extension, Router};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::timeout;

/// Bytes that a connection holds, each way: as little as makes both ends wait now and then.
const HELD: usize = 4096;
/// How often the server may go on before it is taken to have nothing to do.
const TURNS: usize = 64;
/// A server that has not ended a conversation after so long hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// A live view that nobody reaches over a network.
#[derive(Debug)]
pub struct UnconnectedView {
    runtime: Runtime,
    shared: Arc<Shared>,
    router: Router,
    showing: Showing,
    shutdown: watch::Sender<bool>,
}

/// What came of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// What the server said.
    pub answer: Vec<u8>,
    /// Whether it has ended the conversation, and no task of it has panicked.
    pub ended_well: bool,
    /// Browsers that are still counted.
    pub browsers: u64,
}

impl UnconnectedView {
    /// A view with these options, none of which is about a network.
    ///
    /// # Errors
    /// If an option is outside its range, or the system gives no runtime.
    pub fn new(options: ViewOptions) -> Result<Self, ViewError> {
        options.check()?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(1).build();
        let runtime = runtime.map_err(|source| ViewError::Start { source })?;
        let shared = Arc::new(Shared::new(options, Arc::default())?);
        let (shown, showing) = ShownRun::begin(Arc::clone(&shared), http_api::openapi().to_string().into());
        let router = server::router(shown);
        Ok(Self { runtime, shared, router, showing, shutdown: watch::Sender::new(false) })
    }

    /// Sends these pieces from `peer`, one after the other, each once the server has nothing more to do for those before, and notes what
    /// it says. The connection ends behind the last one.
    pub fn converse(&self, peer: SocketAddr, pieces: &[&[u8]]) -> Conversation {
        let router = self.router.clone().layer(Extension(Peer(peer)));
        let shared = Arc::clone(&self.shared);
        self.runtime.block_on(async {
            let (here, there) = tokio::io::duplex(HELD);
            let served = tokio::spawn(accept::converse(there, shared, router, self.shutdown.subscribe()));
            let (answer, ended) = match timeout(PATIENCE, talk(here, pieces)).await {
                Ok(answer) => (answer, timeout(PATIENCE, served).await),
                Err(elapsed) => (Vec::new(), Err(elapsed)),
            };
            // A WebSocket is a task of its own.
            for _ in 0..TURNS {
                if self.browsers() == 0 {
                    break;
                }
                yield_now().await;
            }
            Conversation { answer, ended_well: matches!(ended, Ok(Ok(()))), browsers: self.browsers() }
        })
    }

    /// Makes an update of what is shown, which browsers get.
    pub fn update(&self, number: u64) {
        let now = Some(Arc::new(self.shared.now()));
        self.showing.show(Update { number, now, ..Update::default() });
    }

    fn browsers(&self) -> u64 {
        self.shared.clients.connected()
    }
}

/// Sends pieces and returns what the other end says until it ends the connection.
async fn talk(here: DuplexStream, pieces: &[&[u8]]) -> Vec<u8> {
    let (mut from, mut to) = tokio::io::split(here);
    let mut answer = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            tokio::select! {
                biased;
                read = from.read_buf(&mut answer) => if ends(&read) { return answer },
                written = to.write(rest) => match written {
                    Ok(written) => rest = &rest[written..],
                    Err(_) => return answer,
                },
            }
        }
        for _ in 0..TURNS {
            tokio::select! {
                biased;
                read = from.read_buf(&mut answer) => if ends(&read) { return answer },
                () = yield_now() => {}
            }
        }
    }
    let _ = to.shutdown().await;
    while !ends(&from.read_buf(&mut answer).await) {}
    answer
}

fn ends(read: &io::Result<usize>) -> bool {
    matches!(read, Ok(0) | Err(_))
}
