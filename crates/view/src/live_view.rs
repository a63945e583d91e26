//! A live view: its server's life, and the handles to it.

use crate::beam::BeamTold;
use crate::client_counts::ClientCounts;
use crate::error::ViewError;
use crate::guard::Guard;
use crate::http_api;
use crate::lock::lock;
use crate::options::ViewOptions;
use crate::server;
use crate::shared::Shared;
use crate::shown_run::{LastUpdate, ShownRun};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::runtime::Handle;
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
    address: SocketAddr,
    shown: ShownRun,
    now: Mutex<Now>,
    runtime: Handle,
    shutdown: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The run that is shown.
#[derive(Debug)]
struct Now {
    shared: Arc<Shared>,
    last_update: LastUpdate,
}

impl LiveView {
    /// Takes the address, starts the server's thread and returns at once.
    ///
    /// # Errors
    /// If an option is outside its range, views are of pictures that are not there, the address cannot be taken, or the system gives
    /// no thread.
    pub fn start(options: ViewOptions) -> Result<Self, ViewError> {
        options.check()?;
        let cannot_listen = |source| ViewError::Listen { address: options.address, source };
        let cannot_start = |source| ViewError::Start { source };
        let listener = TcpListener::bind(options.address).map_err(cannot_listen)?;
        listener.set_nonblocking(true).map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        let shared = Arc::new(Shared::new(options, Arc::default())?);
        let (shown, showing) = ShownRun::begin(Arc::clone(&shared), http_api::openapi().to_string().into());
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(cannot_start)?
        };
        let (shutdown, stop) = watch::channel(false);
        let server = server::run(shown.clone(), listener, stop);
        let handle = runtime.handle().clone();
        let last_update = showing.make_updates(&handle).map_err(cannot_start)?;
        let now = Mutex::new(Now { shared, last_update });
        let thread = std::thread::Builder::new()
            .name("evforge-view".into())
            .spawn(move || runtime.block_on(server))
            .map_err(cannot_start)?;
        Ok(Self { address, shown, now, runtime: handle, shutdown, thread: Some(thread) })
    }

    /// Shows another run from now on, at the same address: browsers are greeted with it, and scripts ask it. What belongs to the
    /// server (address, limits, names, and who may change anything) stays as it was.
    ///
    /// # Errors
    /// If an option is outside its range, or the system gives no thread.
    pub fn show(&self, options: ViewOptions) -> Result<(), ViewError> {
        options.check()?;
        let mut now = lock(&self.now);
        let shared = Arc::new(Shared::new(options, Arc::clone(&now.shared.clients))?);
        let showing = self.shown.change(Arc::clone(&shared));
        let last_update =
            showing.make_updates(&self.runtime).map_err(|source| ViewError::Start { source })?;
        let before = std::mem::replace(&mut *now, Now { shared, last_update });
        before.last_update.make();
        Ok(())
    }

    /// What is shown.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&lock(&self.now).shared)
    }

    /// Tells what is known besides the events, in the place of what was told before.
    pub fn tell_beam(&self, told: BeamTold) {
        self.shared().beam.tell(told);
    }

    /// Where the page is: `http://` and this. With port 0 in the options, the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What whoever starts it should know: that others than browsers on this host can reach it, what they can do, and how to have it
    /// otherwise. None if they cannot.
    pub fn warning(&self) -> Option<String> {
        if self.address.ip().to_canonical().is_loopback() {
            return None;
        }
        let shared = self.shared();
        let options = &shared.options;
        let switch = match options.control {
            Some(_) => ", and whoever has the token of the run may change it and end it",
            None => "",
        };
        let port = self.address.port();
        let guard = Guard::new(&options.host_names, &options.origins);
        let own_name = guard.names().last().map_or("HOST", String::as_str);
        Some(format!(
            "everybody who can reach {} may look at the live view{switch}; nothing is encrypted, so that whoever listens on the way \
             may, too. With --view 127.0.0.1:{port} only this host may, and others by a tunnel: \
             ssh -L {port}:127.0.0.1:{port} {own_name}. It is called by an address in numbers or as {}: --view-name NAME, or \
             host_names = [\"NAME\"] in its output, allows another name",
            self.address,
            guard.names().join(", ")
        ))
    }

    /// What the browsers have done since the start.
    pub fn clients(&self) -> ClientCounts {
        self.shared().clients.snapshot()
    }

    /// Says goodbye to all browsers and stops the server, within about a second. Sinks go on counting.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        lock(&self.now).last_update.make();
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
