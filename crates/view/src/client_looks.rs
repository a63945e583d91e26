//! What one browser wants to see.

use crate::looks::board::Ticket;
use crate::looks::limits::MOST_LOOKS;
use crate::looks::look::Look;
use crate::looks::wanted::LookWanted;
use crate::looks::worker::Update;
use crate::protocol::LookState;
use crate::shared::Shared;
use bytes::Bytes;
use serde::Deserialize;
use std::time::{Duration, Instant};

/// Bytes of frames that a browser gets in a second.
const BYTES_PER_SECOND: f64 = 4.5e6;

/// What a browser says of its looks.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Said {
    Looks {
        #[serde(default)]
        number: u64,
        looks: Vec<LookWanted>,
    },
}

/// The looks of a browser, each with the number of the frame that it has.
#[derive(Debug)]
pub(crate) struct ClientLooks {
    looks: Vec<(Ticket, u32)>,
    /// The number that the browser gave them.
    pub(crate) number: u64,
    /// Frames are sent again from then on: what a browser gets in a second is bounded.
    frames_from: Instant,
}

impl ClientLooks {
    /// The first picture of everything: what a browser has that says nothing. None if there is no room for it.
    pub(crate) fn of_everything(shared: &Shared) -> Self {
        let first = shared.pictured.names().into_iter().next().unwrap_or_default();
        let look = Look::new(LookWanted { picture: first, ..LookWanted::default() }, &shared.pictured);
        let ticket = look.and_then(|look| shared.board.want(look, &shared.pictured));
        let looks = ticket.into_iter().map(|ticket| (ticket, 0)).collect();
        Self { looks, number: 0, frames_from: Instant::now() }
    }

    /// Takes what a browser says.
    ///
    /// # Errors
    /// With what is wrong and where: then it has the looks from before.
    pub(crate) fn hear(&mut self, text: &str, shared: &Shared) -> Result<(), String> {
        let Said::Looks { number: given, looks } =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        if looks.len() > MOST_LOOKS {
            return Err(format!("looks: found {}, expected at most {MOST_LOOKS}", looks.len()));
        }
        let mut wanted = Vec::with_capacity(looks.len());
        for (look, number) in looks.into_iter().zip(0..) {
            let look = Look::new(look, &shared.pictured);
            let ticket = look.and_then(|look| shared.board.want(look, &shared.pictured));
            wanted.push(ticket.map_err(|problem| format!("looks[{number}].{problem}"))?);
        }
        let sent = |ticket: Ticket| {
            let before = self.looks.iter().find(|(known, _)| known.key == ticket.key);
            let number = before.map_or(0, |(_, number)| *number);
            (ticket, number)
        };
        self.looks = wanted.into_iter().map(sent).collect();
        self.number = given;
        Ok(())
    }

    /// The frames of an update that this browser does not have yet, by the places of its looks; none if it has had enough for now.
    pub(crate) fn new_frames(&mut self, update: &Update) -> Vec<(usize, Bytes)> {
        let now = Instant::now();
        if now < self.frames_from && !update.is_last {
            return Vec::new();
        }
        let mut frames = Vec::new();
        for (place, (ticket, number)) in self.looks.iter_mut().enumerate() {
            if let Some(shown) = update.looks.get(&ticket.key).filter(|shown| shown.number != *number) {
                *number = shown.number;
                frames.push((place, shown.frame.clone()));
            }
        }
        let bytes: usize = frames.iter().map(|(_, frame)| frame.len()).sum();
        self.frames_from = now + Duration::from_secs_f64(bytes as f64 / BYTES_PER_SECOND);
        frames
    }

    /// Numbers of the frames that were sent.
    pub(crate) fn states(&self) -> Vec<LookState> {
        self.looks.iter().map(|&(_, number)| LookState { number }).collect()
    }

    /// The counts of these looks stay for a while: the browser has left, and may come back.
    pub(crate) fn keep(&mut self) {
        self.looks.iter_mut().for_each(|(ticket, _)| ticket.is_kept = true);
    }
}
