//! The loop.

use super::clock::now_ms;
use super::followers::{Followers, News};
use super::pool::Pool;
use super::settings::ServiceSettings;
use super::speaker::Speaker;
use crate::control::{Action, Conversation, ECHO, Heard, Jobs, Origin};
use evforge_kafka::client::{ClientError, check};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long brokers may take to say what there is.
const WITHIN: Duration = Duration::from_secs(10);
/// How long a command is waited for before jobs are looked at.
const SLICE: Duration = Duration::from_millis(100);
/// How long the last messages may take.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What actions need.
struct Hands<'a> {
    speaker: Speaker,
    followers: Followers,
    command_topic: &'a str,
    say: &'a mut dyn FnMut(&str),
}

impl Hands<'_> {
    fn perform(&mut self, action: Action) {
        match action {
            Action::Send { topic, payload, kind } => self.speaker.send(&topic, &payload, kind),
            Action::Follow { topic, since_ms } => {
                if let Err(error) = self.followers.follow(&topic, since_ms) {
                    (self.say)(&format!("topic {topic} cannot be read: {error}"));
                }
            }
            Action::Unfollow { topic } if topic != self.command_topic => self.followers.unfollow(&topic),
            Action::Unfollow { .. } => {}
            Action::Say(line) => (self.say)(&line),
        }
    }
}

/// Runs the conversation until `stop` is set. Jobs that run then are left to their owner. `say` gets lines for people.
///
/// # Errors
/// If the settings are wrong, or something is in the way that does not go away by itself. Brokers that do not answer are waited
/// for.
pub fn run(
    settings: &ServiceSettings,
    jobs: &mut dyn Jobs,
    stop: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<(), ClientError> {
    let command_topic = settings.command_topic.as_str();
    if settings.pool_topic.as_deref() == Some(command_topic) {
        return Err(ClientError::settings(format!(
            "`{command_topic}` is the pool topic and the command topic: a start would be read twice. Give the command topic another \
             name, or leave out the pool"
        )));
    }
    let topics: Vec<&str> = settings.pool_topic.as_deref().into_iter().chain([command_topic]).collect();
    if let Err(error) = check(&settings.client, &topics, WITHIN) {
        if error.cause.is_final() {
            return Err(error);
        }
        say(&error.to_string());
    }
    let mut conversation = Conversation::new(settings.conversation());
    let mut pool = match &settings.pool_topic {
        Some(topic) => Some(Pool::new(&settings.client, topic, &settings.pool_group)?),
        None => None,
    };
    let mut hands = Hands {
        speaker: Speaker::new(&settings.client)?,
        followers: Followers::new(settings.client.clone()),
        command_topic,
        say,
    };
    let begun = now_ms();
    conversation.resume(begun, jobs, &mut |action| hands.perform(action));
    // Unless a job that goes on had it read from an earlier time.
    hands.perform(Action::Follow { topic: command_topic.to_owned(), since_ms: begun });
    while !stop.load(Ordering::Relaxed) {
        if let Some(pool) = &mut pool
            && let Some(start) = pool.next(conversation.has_room())
        {
            let heard = Heard {
                origin: Origin::Pool,
                payload: start.payload(),
                time_ms: start.time_ms(),
                read_until_ms: now_ms(),
                is_echo: start.has_header(ECHO),
            };
            if conversation.hear(&heard, now_ms(), jobs, &mut |action| hands.perform(action)) {
                pool.is_done(&start);
            }
        }
        if let Some(letter) = hands.followers.next(SLICE) {
            match &letter.news {
                News::Trouble(sentence) => (hands.say)(sentence),
                News::Message(record, read_until_ms) => {
                    let heard = Heard {
                        origin: Origin::Topic(&letter.topic),
                        payload: &record.payload,
                        time_ms: record.time_ms.and_then(|ms| u64::try_from(ms).ok()),
                        read_until_ms: *read_until_ms,
                        is_echo: record.headers.iter().any(|(name, _)| name == ECHO),
                    };
                    conversation.hear(&heard, now_ms(), jobs, &mut |action| hands.perform(action));
                }
            }
        }
        conversation.tick(now_ms(), jobs, &mut |action| hands.perform(action));
        let troubles = hands.speaker.poll().into_iter().chain(pool.as_mut().and_then(Pool::trouble));
        for line in troubles.chain(jobs.news()) {
            (hands.say)(&line);
        }
    }
    if let Some(pool) = &mut pool {
        pool.leave();
    }
    conversation.farewell(jobs, &mut |action| hands.perform(action));
    let Hands { speaker, say, .. } = hands;
    let left = speaker.finish(LAST_WORDS);
    if left > 0 {
        say(&format!("{left} messages could not be delivered to Kafka before the end"));
    }
    Ok(())
}
