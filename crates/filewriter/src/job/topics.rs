//! What there is in the topics of a job: partitions, and the first messages to read.

use super::partitions::KeptPartition;
use super::reader::GROUP;
use super::routes::Routes;
use evforge_kafka::client::{Cause, ClientError, ClientSettings, Consumer, Deadline, check, consumer};
use evforge_kafka::topic::{Begin, Snapshot, TopicState, TopicWatch, Until, places};
use std::sync::Arc;

/// Asks brokers about the topics of a job.
pub(super) struct Topics {
    names: Vec<String>,
    consumer: Arc<Consumer>,
    /// What they have said last.
    pub(super) snapshot: Snapshot,
}

impl Topics {
    /// Asks what partitions there are.
    pub(super) fn open(
        settings: &ClientSettings,
        routes: &Routes,
        deadline: &Deadline,
    ) -> Result<Self, ClientError> {
        let names = routes.topics().to_vec();
        check(settings, &names.iter().map(String::as_str).collect::<Vec<_>>(), deadline.of_an_answer())?;
        let consumer = consumer(settings, GROUP, 1)?;
        let snapshot = Snapshot::ask(&consumer, &names, deadline)?;
        let is_missing =
            |state: &Option<TopicState>| state.as_ref().is_none_or(|state| state.ends.is_empty());
        if let Some((_, name)) = snapshot.topics.iter().zip(&names).find(|(state, _)| is_missing(state)) {
            return Err(ClientError::new(
                Cause::UnknownTopic,
                format!("there is no topic `{name}` yet: create it, or wait until something is sent to it"),
            ));
        }
        Ok(Self { names, consumer, snapshot })
    }

    /// The same topics in the order that the routes of the file have.
    pub(super) fn in_order_of(mut self, routes: &Routes) -> Self {
        let place = |name: &String| self.names.iter().position(|own| own == name);
        let state = |name| place(name).and_then(|place| self.snapshot.topics.get(place)?.clone());
        self.snapshot.topics = routes.topics().iter().map(state).collect();
        self.names = routes.topics().to_vec();
        self
    }

    /// The first message of each partition to read.
    pub(super) fn first(&self, begin: Begin, deadline: &Deadline) -> Result<Vec<KeptPartition>, ClientError> {
        let mut first = Vec::new();
        for (name, state) in self.names.iter().zip(&self.snapshot.topics) {
            let Some(state) = state else { continue };
            let span = (begin, Until::Forever);
            for place in places(&self.consumer, (0, name), state, span, deadline)? {
                first.push(KeptPartition {
                    topic: name.clone(),
                    number: place.number,
                    next: place.first,
                    id: place.id,
                });
            }
        }
        Ok(first)
    }

    /// Asks again and again.
    pub(super) fn watch(self) -> Result<Arc<TopicWatch>, ClientError> {
        Ok(Arc::new(TopicWatch::start(self.names, self.consumer, self.snapshot)?))
    }
}

/// True if the brokers still have all messages from these on.
pub(super) fn has_all_from(snapshot: &Snapshot, first: &[KeptPartition], routes: &Routes) -> bool {
    first.iter().all(|kept| {
        let topic = routes.topic(&kept.topic);
        let mut all = snapshot.partitions();
        all.any(|(of, number, low, _)| (Some(of), number) == (topic, kept.number) && low <= kept.next)
    })
}
