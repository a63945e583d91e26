//! One browser at the WebSocket.

use crate::client_looks::ClientLooks;
use crate::lock::lock;
use crate::looks::worker::Update;
use crate::protocol::{LooksRefused, Status};
use crate::shared::Shared;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use evforge_core::seats::{self, Limits, NoneLeft};
use evforge_log::group::VIEW;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tokio::sync::watch;
use tokio::time::{sleep_until, timeout};

/// Why a browser's connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Farewell {
    /// It left, or the network did.
    Gone,
    /// It read or acknowledged nothing for too long.
    TooSlow,
    /// It said what it should not.
    Misspoke,
    /// The view is shut down.
    Shutdown,
}

struct Client {
    shared: Arc<Shared>,
    socket: WebSocket,
    /// Numbers of the updates that wait for an acknowledgement, and when they were sent.
    unacknowledged: VecDeque<(u64, Instant)>,
    last_number: u64,
    looks: ClientLooks,
    next_point: u64,
    skipped: u64,
}

/// Counts a browser in, and out when dropped.
pub(crate) struct Seat {
    shared: Arc<Shared>,
    #[expect(dead_code, reason = "it counts while it is there")]
    seat: seats::Seat<()>,
}

impl Seat {
    /// A seat for a browser of this address.
    ///
    /// # Errors
    /// If all seats are taken, or those of one address; that is counted.
    pub(crate) fn take(shared: &Arc<Shared>, from: IpAddr) -> Result<Self, NoneLeft> {
        let (clients, options) = (&shared.clients, &shared.options);
        let limits = Limits { most: options.most_clients, most_of_one: options.most_clients_of_one_address };
        let taken = clients.browsers.take(from, limits, (), Instant::now());
        // Who watches has asked for it.
        match taken.and_then(|(seat, _)| seat.keep().then_some(seat).ok_or(NoneLeft::AtAll)) {
            Ok(seat) => Ok(Self { shared: Arc::clone(shared), seat }),
            Err(none_left) => {
                clients.refused.fetch_add(1, Relaxed);
                Err(none_left)
            }
        }
    }
}

/// Serves a browser until it leaves, is dropped or the view is shut down.
pub(crate) async fn serve(
    seat: Seat,
    socket: WebSocket,
    mut updates: watch::Receiver<Update>,
    mut shutdown: watch::Receiver<bool>,
) {
    let mut client = Client {
        shared: Arc::clone(&seat.shared),
        socket,
        unacknowledged: VecDeque::new(),
        last_number: updates.borrow().number,
        looks: ClientLooks::of_everything(&seat.shared),
        next_point: 0,
        skipped: 0,
    };
    tracing::debug!(target: VIEW, clients = seat.shared.clients.connected(), "a browser watches");
    let farewell = match client.greet().await {
        Ok(()) => client.run(&mut updates, &mut shutdown).await,
        Err(farewell) => farewell,
    };
    client.looks.keep();
    if farewell == Farewell::Shutdown {
        client.say_how_it_ended(&mut updates).await;
    }
    // The seat is free before the browser hears of it.
    tracing::debug!(target: VIEW, clients = seat.shared.clients.connected().saturating_sub(1), why = ?farewell, "a browser has left");
    drop(seat);
    client.part(farewell).await;
}

impl Client {
    async fn greet(&mut self) -> Result<(), Farewell> {
        let (hello, next_point) = self.shared.hello();
        self.next_point = next_point;
        self.send(text(&hello)?).await
    }

    async fn run(
        &mut self,
        updates: &mut watch::Receiver<Update>,
        shutdown: &mut watch::Receiver<bool>,
    ) -> Farewell {
        loop {
            let patience = self.shared.options.client_timeout;
            let oldest = self.unacknowledged.front().map(|&(_, sent)| sent + patience);
            let room = self.unacknowledged.len() < self.shared.options.window;
            let result = tokio::select! {
                () = stopped(shutdown) => Err(Farewell::Shutdown),
                message = self.socket.recv() => self.hear(message).await,
                changed = updates.changed(), if room => match changed {
                    Ok(()) => {
                        let update = updates.borrow_and_update().clone();
                        self.show(update).await
                    }
                    Err(_) => Err(Farewell::Shutdown),
                },
                () = sleep_until(oldest.unwrap_or_else(Instant::now).into()), if oldest.is_some() => {
                    Err(Farewell::TooSlow)
                }
            };
            if let Err(farewell) = result {
                return farewell;
            }
        }
    }

    async fn hear(&mut self, message: Option<Result<Message, axum::Error>>) -> Result<(), Farewell> {
        match message {
            Some(Ok(Message::Text(text))) if text.starts_with('{') => {
                match self.looks.hear(&text, &self.shared) {
                    Ok(()) => Ok(()),
                    Err(message) => {
                        self.send(self::text(&LooksRefused { r#type: "refused", message })?).await
                    }
                }
            }
            Some(Ok(Message::Text(text))) => {
                let number: Option<u64> = text.strip_prefix("ack ").and_then(|number| number.parse().ok());
                let number = number.filter(|&number| number <= self.last_number).ok_or(Farewell::Misspoke)?;
                while self.unacknowledged.front().is_some_and(|&(sent, _)| sent <= number) {
                    self.unacknowledged.pop_front();
                }
                Ok(())
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => Err(Farewell::Misspoke),
            Some(Ok(Message::Close(_)) | Err(_)) | None => Err(Farewell::Gone),
        }
    }

    async fn show(&mut self, update: Update) -> Result<(), Farewell> {
        let Some(now) = update.now.clone() else { return Ok(()) };
        let missed = update.number.saturating_sub(self.last_number + 1);
        self.skipped += missed;
        self.shared.clients.skipped.fetch_add(missed, Relaxed);
        let points = {
            let history = lock(&self.shared.history);
            let points = history.since(self.next_point);
            self.next_point = history.next_number();
            points
        };
        let frames = self.looks.new_frames(&update);
        let status = Status {
            r#type: "status",
            number: update.number,
            frames: frames.iter().map(|&(place, _)| place).collect(),
            wanted: self.looks.number,
            looks: self.looks.states(),
            skipped: self.skipped,
            points,
            now: &now,
        };
        self.last_number = update.number;
        // Before the sending: a browser that does not read must not stay for ever.
        self.unacknowledged.push_back((update.number, Instant::now()));
        self.send(text(&status)?).await?;
        for (_, frame) in frames {
            self.send(Message::Binary(frame)).await?;
        }
        self.shared.clients.sent.fetch_add(1, Relaxed);
        Ok(())
    }

    /// The last state and the last picture: a page that stays open shows how the run has ended, with all of its events.
    async fn say_how_it_ended(&mut self, updates: &mut watch::Receiver<Update>) {
        let last = async {
            let update = updates.wait_for(|update| update.is_last).await.map(|update| update.clone());
            match update {
                Ok(update) => self.show(update).await,
                Err(_) => Ok(()),
            }
        };
        // A browser that does not read does not hear it, and nobody waits for it.
        let _ = timeout(std::time::Duration::from_millis(700), last).await;
    }

    async fn send(&mut self, message: Message) -> Result<(), Farewell> {
        match timeout(self.shared.options.client_timeout, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Farewell::Gone),
            Err(_) => Err(Farewell::TooSlow),
        }
    }

    async fn part(mut self, farewell: Farewell) {
        let (code, reason) = match farewell {
            Farewell::Gone => return,
            Farewell::TooSlow => {
                self.shared.clients.dropped.fetch_add(1, Relaxed);
                (close_code::POLICY, "no update was acknowledged in time")
            }
            Farewell::Misspoke => {
                self.shared.clients.dropped.fetch_add(1, Relaxed);
                (close_code::PROTOCOL, "expected `ack` and the number of an update that was sent")
            }
            Farewell::Shutdown => (close_code::AWAY, "the live view has been shut down"),
        };
        let close = Message::Close(Some(CloseFrame { code, reason: Utf8Bytes::from_static(reason) }));
        // A browser that does not read does not get its reason either.
        let _ = timeout(std::time::Duration::from_millis(200), self.socket.send(close)).await;
    }
}

/// Waits until this turns true, or nobody can turn it any more.
pub(crate) async fn stopped(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|&stop| stop).await;
}

/// A message of plain structs: their JSON cannot fail.
fn text(message: &impl serde::Serialize) -> Result<Message, Farewell> {
    serde_json::to_string(message).map(|json| Message::Text(json.into())).map_err(|_| Farewell::Gone)
}
