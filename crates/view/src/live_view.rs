//! A live view: its server's life, and the handles to it.

use crate::error::ViewError;
use crate::options::ViewOptions;
use crate::server;
use crate::shared::Shared;
use crate::sink::LiveSink;
use serde::Serialize;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::watch;

/// A running live view. It is shut down when dropped.
///
/// ```
/// use evforge_core::event::{Event, EventBatch};
/// use evforge_core::geometry::LogicalGeometry;
/// use evforge_core::output::Output;
/// use evforge_core::pulse::PulseTrain;
/// use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
/// use evforge_view::{LiveView, ViewOptions};
///
/// let geometry = LogicalGeometry::flat(256, 256)?;
/// let mut options = ViewOptions::new("Demonstration", geometry, PulseTrain::ess());
/// options.address = "127.0.0.1:0".parse()?;
/// let view = LiveView::start(options)?;
/// println!("http://{}", view.address());
///
/// let mut sink = view.sink();
/// let mut events = EventBatch::new(1);
/// assert!(events.push(Event { time_ns: 1_000, pixel_id: geometry.pixel_2d(3, 4) }));
/// let settings = PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout);
/// PulseStage::new(settings).hand_on(&events, None, &mut |batch| {
///     sink.take(&batch.into()).expect("a picture takes everything");
/// });
/// view.shutdown();
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug)]
pub struct LiveView {
    shared: Arc<Shared>,
    address: SocketAddr,
    shutdown: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// What the browsers have done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientCounts {
    /// Browsers watching now.
    pub connected: u64,
    /// Browsers dropped because they acknowledged nothing in time or broke the protocol.
    pub dropped: u64,
    /// Browsers turned away because there were too many.
    pub refused: u64,
    /// Updates sent to all browsers.
    pub updates_sent: u64,
    /// Updates that browsers missed because they were slow.
    pub updates_skipped: u64,
    /// Connections open now, those of browsers that watch among them.
    pub connections: u64,
    /// Connections turned away because too many were open: all together, from one address, or for the descriptors that the
    /// process may have.
    pub connections_refused: u64,
    /// Connections cut because they asked for nothing, or took no part of an answer, for too long.
    pub connections_timed_out: u64,
}

impl LiveView {
    /// Takes the address, starts the server's thread and returns at once.
    ///
    /// # Errors
    /// If an option is outside its range, the address cannot be taken, or the system gives no thread.
    pub fn start(options: ViewOptions) -> Result<Self, ViewError> {
        options.check()?;
        let cannot_listen = |source| ViewError::Listen { address: options.address, source };
        let cannot_start = |source| ViewError::Start { source };
        let listener = TcpListener::bind(options.address).map_err(cannot_listen)?;
        listener.set_nonblocking(true).map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        let shared = Arc::new(Shared::new(options));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(cannot_start)?
        };
        let (shutdown, stop) = watch::channel(false);
        let server = server::run(Arc::clone(&shared), listener, stop);
        let thread = std::thread::Builder::new()
            .name("evforge-view".into())
            .spawn(move || runtime.block_on(server))
            .map_err(cannot_start)?;
        Ok(Self { shared, address, shutdown, thread: Some(thread) })
    }

    /// Where the page is: `http://` and this. With port 0 in the options, the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A sink for the only stream.
    pub fn sink(&self) -> LiveSink {
        self.sink_for("")
    }

    /// A sink for one of several streams, whose sources the page shows with the stream's name in front. The
    /// picture is the sum of all sinks; each takes 8 bytes per pixel.
    pub fn sink_for(&self, stream: &str) -> LiveSink {
        let counts = self.shared.add_stream(stream);
        let name = format!("live view at http://{}", self.address);
        LiveSink::new(counts, self.shared.bins, name)
    }

    /// What the browsers have done since the start.
    pub fn clients(&self) -> ClientCounts {
        self.shared.clients.snapshot()
    }

    /// Says goodbye to all browsers and stops the server, within about a second. Sinks go on counting.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.shutdown.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the server has been printed by its thread; it must not take the run down.
            let _ = thread.join();
        }
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        self.stop();
    }
}
