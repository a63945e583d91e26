//! What follows a stop (6s4t).

use super::conversation::{Act, Conversation};
use super::heard::{Action, Heard, Origin};
use super::jobs::Jobs;
use super::reply::Reply;
use super::start::{Refusal, given};
use super::stop::{self, Meant};
use super::text::{short, time};
use super::too_old;
use super::voice::sentence;
use evforge_messages::S6s4t;

/// A stop "now" whose message is older than this means the time of the message, milliseconds.
const STILL_NOW_MS: u64 = 5_000;

impl Conversation {
    /// Takes a stop.
    pub(super) fn hear_stop(
        &mut self,
        message: &S6s4t<'_>,
        heard: &Heard<'_>,
        now_ms: u64,
        jobs: &mut dyn Jobs,
        act: Act<'_>,
    ) {
        // A job that was begun by the pool has its control topic; nobody stops one by the pool.
        let Origin::Topic(place) = heard.origin else { return };
        let id = message.job_id.unwrap_or_default();
        if self.waiting.has(id) {
            // Its job is begun before.
            if !self.keep(id, false, place, heard, now_ms) {
                act(Action::Say(format!("a stop of job {} is lost: too many commands wait", short(id))));
            }
            return;
        }
        let talk = self.talks.get(id);
        // What came while it could not be read is not the sender's fault.
        let read_until_ms = heard.read_until_ms.min(now_ms);
        if let Some(age) = too_old(heard.time_ms, read_until_ms) {
            let id = short(id);
            act(Action::Say(format!("a stop of job {id} on {place} is {age} s old and is not followed")));
            return;
        }
        let is_for_another =
            given(message.service_id).is_some_and(|service| service != self.voice.service_id());
        // What was sent before this writer listened there is read for the jobs that it has now. The rest was answered then.
        let listened_ms = match place == self.settings.command_topic {
            true => self.begun_ms,
            false => self.talks.listened_since(place).unwrap_or(self.begun_ms),
        };
        let is_read_again = heard.time_ms.is_some_and(|sent| sent < listened_ms);
        if talk.is_none() && (is_for_another || is_read_again || self.others.knows(id)) {
            return;
        }
        let control = talk.and_then(|talk| talk.answers.as_deref());
        let topics = self.speakable(&[place, control.unwrap_or(place)], None);
        let meant = |id: &str| match self.talks.get(id) {
            Some(talk) => Meant::Running(talk.start_ms),
            None if self.talks.len() == 0 => Meant::Nothing,
            None => Meant::Other,
        };
        let stop = match stop::check(message, meant) {
            Ok(stop) => stop,
            Err(Refusal { reply, what }) => {
                act(Action::Say(format!("job {}: {}", short(id), sentence(reply, &what))));
                let command = message.command_id.unwrap_or_default();
                self.answer(reply, (id, command), &what, 0, topics, act);
                return;
            }
        };
        let sent_ms = heard.time_ms.filter(|sent| sent.saturating_add(STILL_NOW_MS) < now_ms);
        let known_ms = talk.filter(|talk| talk.is_resumed && is_read_again).and_then(|talk| talk.stop_ms);
        let (result, reply, stop_ms) = if message.abort {
            (jobs.abort(stop.id), Reply::Aborted, Some(now_ms))
        } else {
            let stop_ms = stop.stop_ms.or(sent_ms);
            let reply = if stop.stop_ms.is_some() { Reply::StopSet } else { Reply::StopsNow };
            match known_ms.filter(|known| is_the_same(*known, stop.stop_ms, heard.time_ms)) {
                // It was followed before, and perhaps not answered.
                Some(known) => (Ok(()), reply, Some(known)),
                None => (jobs.set_stop(stop.id, stop_ms), reply, stop_ms.or(Some(now_ms))),
            }
        };
        let (reply, mut what, stop_ms) = match result {
            Ok(()) => {
                if let Some(talk) = self.talks.get_mut(stop.id) {
                    talk.stop_ms = stop_ms;
                }
                (reply, stop_ms.map(time).unwrap_or_default(), stop_ms.unwrap_or_default())
            }
            Err(why) => (Reply::StopFailed, why, 0),
        };
        if let Some(warning) = stop.warning {
            what = format!("{what}; {warning}");
        }
        act(Action::Say(format!("job {}: {}", stop.id, sentence(reply, &what))));
        self.answer(reply, (stop.id, &stop.command_id), &what, stop_ms, topics, act);
    }
}

/// True if the end that is known is the one that a stop asks for: now, when it was sent, for none.
fn is_the_same(known_ms: u64, stop_ms: Option<u64>, sent_ms: Option<u64>) -> bool {
    match (stop_ms, sent_ms) {
        (Some(stop), _) => stop == known_ms,
        (None, Some(sent)) => (sent..=sent.saturating_add(STILL_NOW_MS)).contains(&known_ms),
        (None, None) => false,
    }
}
