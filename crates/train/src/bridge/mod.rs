//! A server for the `karabo-bridge` client of the European XFEL, unchanged: whole trains over ZeroMQ, for a look while a run goes on.
//!
//! Source: the karabo-bridge package (version 0.7), protocol 2.2; ZMTP 3.0 (RFC 23 of ZeroMQ).
//!
//! ```text
//!  trains of modules ──► collector ──► shelf: the newest whole trains ──► one thread for each client
//!    (not whole: counted)  (given up: counted)  (bounded)                  "next" ──► train (skipped: counted)
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | the server | [`Bridge`], [`BridgeOptions`] |
//! | what was served, and what was not | [`BridgeCounters`] |
//!
//! # What a client gets
//! For each module a source such as `FXE_DET_LPD1M-1/DET/0CH0:xtdf`, with the keys that EXtra-data has for files: `image.data` (images, 1
//! or 2, rows, columns; raw values), `image.cellId`, `image.pulseId`, `image.status`, `image.length`, `image.trainId` (images, 1),
//! `detector.data`, `trailer.checksum`, and numbers of header and trailer. A train without images has arrays without rows. The time is that
//! of its arrival.
//!
//! A client that asks gets the oldest train on the shelf that it has not had, or waits for the next one. The shelf has room for one
//! train unless configured otherwise: always the newest. A client that asks more seldom gets fewer trains, and holds up neither
//! the others nor whoever offers them. Only whole trains are shown: of all modules, with all images.
//!
//! # Why ZeroMQ's protocol is spoken here, and not by a library
//! One thread for each client sends the images from where they lie. The socket for replies of a library answers one client after
//! the other, so that a slow one holds up all. What is needed of the protocol is a greeting and frames.

mod collector;
mod counters;
mod message;
mod pack;
mod server;
mod shelf;
mod zmtp;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evforge_wire::train::TrainDetector;

use crate::file::{ArrivedTrain, default_source, source_name};
use collector::{Added, Collector};
use message::Message;
use server::{Shared, accept, end};

pub use counters::BridgeCounters;

/// How the bridge is to serve.
#[derive(Clone, Debug)]
pub struct BridgeOptions {
    /// Where it listens; port 0 is any free one. Whoever reaches it gets all trains: there is no password.
    pub listen: SocketAddr,
    /// The detector: it says the shape of an image.
    pub detector: TrainDetector,
    /// Detector and instrument that sources are named after: `FXE_DET_LPD1M-1`.
    pub source: String,
    /// Modules of a whole train, at least 1: those below this number.
    pub modules: u8,
    /// Whole trains that a client may be behind, at least 1. Each takes the memory of a whole train.
    pub queue: usize,
    /// Clients at most. Each can hold one more whole train in memory while it gets it.
    pub most_clients: usize,
    /// How long a client may take for its greeting, or without taking anything of what is sent to it.
    pub patience: Duration,
}

impl BridgeOptions {
    /// For all 16 modules of a detector, on this machine only.
    pub fn new(detector: TrainDetector) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 4545)),
            detector,
            source: default_source(detector).to_owned(),
            modules: 16,
            queue: 1,
            most_clients: 8,
            patience: Duration::from_secs(10),
        }
    }
}

/// Why the bridge cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// It cannot listen.
    #[error("cannot listen for clients of the bridge at {address}: {cause}. Choose another address or port")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        cause: std::io::Error,
    },
    /// An option makes no sense.
    #[error("{0} of the bridge must be at least 1")]
    Option(&'static str),
}

/// Serves trains to clients until it is dropped.
#[derive(Debug)]
pub struct Bridge {
    options: BridgeOptions,
    sources: Vec<String>,
    collector: Collector,
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Begins to listen.
    ///
    /// # Errors
    /// If an option is 0 that must not be, or the address cannot be had.
    pub fn start(options: BridgeOptions) -> Result<Self, BridgeError> {
        for (name, value) in [
            ("modules", usize::from(options.modules)),
            ("queue", options.queue),
            ("most_clients", options.most_clients),
        ] {
            if value == 0 {
                return Err(BridgeError::Option(name));
            }
        }
        if options.patience.is_zero() {
            return Err(BridgeError::Option("patience (in nanoseconds)"));
        }
        let failed = |cause| BridgeError::Listen { address: options.listen, cause };
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::new(options.queue, options.most_clients, options.patience));
        let builder = thread::Builder::new().name("bridge".into());
        let acceptor = builder.spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        let acceptor = Some(acceptor.map_err(failed)?);
        let sources = (0..options.modules).map(|module| source_name(&options.source, module)).collect();
        Ok(Self { collector: Collector::new(options.modules), options, sources, shared, address, acceptor })
    }

    /// Where it listens: `tcp://` and this is what a client needs.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Offers the train of a module. It is copied; that a client is slow holds nothing up.
    pub fn offer(&mut self, arrived: &ArrivedTrain<'_>) {
        let images = arrived.train.layout().images();
        let mut counters = self.shared.counters();
        counters.trains_offered += 1;
        let Some(source) = self.sources.get(usize::from(arrived.module)) else {
            counters.trains_of_no_module += 1;
            return;
        };
        if arrived.train.layout().image_bytes() != self.options.detector.image_bytes() {
            counters.trains_of_other_images += 1;
            return;
        }
        if arrived.not_whole.iter().any(|&image| image < images) {
            counters.trains_not_whole += 1;
            return;
        }
        // Clients count, too, and need not wait for the copy.
        drop(counters);
        let message = Message::new(&arrived.train, self.options.detector, source, arrived.arrival_ns);
        let number = arrived.train.header().train;
        let (added, given_up) = self.collector.add(arrived.module.into(), number, message);
        let mut counters = self.shared.counters();
        counters.trains_alone += given_up;
        match added {
            Added::Late => counters.trains_late += 1,
            Added::Held => {}
            Added::Whole(message) => {
                counters.trains_shown += u64::from(self.options.modules);
                counters.whole_trains += 1;
                drop(counters);
                self.shared.shelf.show(message);
            }
        }
    }

    /// What was served, and what was not.
    pub fn counters(&self) -> BridgeCounters {
        let clients_now = self.shared.clients_now();
        BridgeCounters { trains_held: self.collector.held(), clients_now, ..*self.shared.counters() }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            end(&self.shared, acceptor);
        }
    }
}
