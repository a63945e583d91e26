//! Which messages are whose: from topic, source and schema to the streams of a file.

use evforge_messages::Schema;
use std::collections::HashMap;

/// The streams that read a message, by topic, source and schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    /// Names of the topics, in the order of their numbers.
    topics: Vec<String>,
    /// For each topic: by source, its schemas and the number of their route.
    by_source: Vec<HashMap<String, Vec<(Schema, usize)>>>,
    /// For each route its streams.
    routes: Vec<Vec<usize>>,
}

impl Routes {
    /// Adds what a stream reads.
    pub(super) fn add(&mut self, topic: &str, source: &str, schemas: &[Schema], stream: usize) {
        let number = self.topics.iter().position(|known| known == topic).unwrap_or_else(|| {
            self.topics.push(topic.to_owned());
            self.by_source.push(HashMap::new());
            self.topics.len() - 1
        });
        let Some(sources) = self.by_source.get_mut(number) else { return };
        let of_source = sources.entry(source.to_owned()).or_default();
        for schema in schemas {
            let known = of_source.iter().find(|(own, _)| own == schema).map(|(_, route)| *route);
            let route = known.unwrap_or_else(|| {
                self.routes.push(Vec::new());
                of_source.push((*schema, self.routes.len() - 1));
                self.routes.len() - 1
            });
            if let Some(streams) = self.routes.get_mut(route) {
                streams.push(stream);
            }
        }
    }

    /// The topics, in the order of their numbers.
    pub(super) fn topics(&self) -> &[String] {
        &self.topics
    }

    /// The number of a topic.
    pub(super) fn topic(&self, name: &str) -> Option<usize> {
        self.topics.iter().position(|known| known == name)
    }

    /// The route of messages, if anybody reads them. What a source says of one of its parts (`SOURCE/PART`, as the ledger does) is
    /// its own, unless somebody reads the part by its name.
    pub(super) fn find(&self, topic: usize, source: &str, schema: Schema) -> Option<usize> {
        let sources = self.by_source.get(topic)?;
        let schemas = sources.get(source).or_else(|| sources.get(source.split_once('/')?.0))?;
        schemas.iter().find(|(own, _)| *own == schema).map(|(_, route)| *route)
    }

    /// The streams of a route.
    pub(super) fn streams(&self, route: usize) -> &[usize] {
        self.routes.get(route).map(Vec::as_slice).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_goes_to_all_streams_that_read_it() {
        let mut routes = Routes::default();
        routes.add("t", "a", &[Schema::Ev44, Schema::Da00], 0);
        routes.add("t", "b", &[Schema::Ev44], 1);
        routes.add("t", "a", &[Schema::Ev44], 2);
        routes.add("u", "a", &[Schema::F144], 3);
        let streams = |topic, source, schema| {
            routes.find(topic, source, schema).map(|route| routes.streams(route).to_vec())
        };
        assert_eq!(routes.topics(), ["t", "u"]);
        assert_eq!(streams(0, "a", Schema::Ev44), Some(vec![0, 2]));
        assert_eq!(streams(0, "a", Schema::Da00), Some(vec![0]));
        assert_eq!(streams(0, "b", Schema::Ev44), Some(vec![1]));
        assert_eq!(streams(1, "a", Schema::F144), Some(vec![3]));
        assert_eq!(streams(1, "a", Schema::Ev44), None);
        assert_eq!(streams(0, "c", Schema::Ev44), None);
        assert_eq!(streams(9, "a", Schema::Ev44), None);
        assert_eq!(streams(1, "a/module 1", Schema::F144), Some(vec![3]));
    }
}
