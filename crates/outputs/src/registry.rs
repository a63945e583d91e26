//! The kinds of outputs that there are, and outputs from the tables `[outputs.…]` of a configuration.

use crate::plan::{OutputPlan, PlannedOutput};
use crate::settings::QueueKeys;
use evforge_core::settings::{RefusedValue, SettingsError};
use evforge_core::suggestion::did_you_mean;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Table, Value};

/// Reads the keys of one kind of output; errors report what is wrong.
type Read = Arc<dyn Fn(Table) -> Result<Box<dyn OutputPlan>, SettingsError> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    read: Read,
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The kinds of outputs, by name.
#[derive(Clone, Default)]
pub struct Registry {
    pub(crate) kinds: Vec<Kind>,
}

impl Registry {
    /// Adds a kind, `about` which one line tells people. A kind of the same name is replaced.
    #[must_use]
    pub fn with<P: OutputPlan + DeserializeOwned + JsonSchema + 'static>(
        self,
        name: &'static str,
        about: &'static str,
    ) -> Self {
        let read = |table: Table| -> Result<Box<dyn OutputPlan>, SettingsError> {
            Ok(Box::new(read_keys::<P>(table)?))
        };
        let mut kinds = self.kinds;
        kinds.retain(|kind| kind.name != name);
        kinds.push(Kind { name, about, read: Arc::new(read), schema: P::json_schema });
        Self { kinds }
    }

    /// Names and descriptions of all kinds.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.kinds.iter().map(|kind| (kind.name, kind.about))
    }

    /// The outputs that the tables ask for. The name of a table is that of the output, and its kind, unless the key `kind`
    /// says otherwise.
    ///
    /// # Errors
    /// Under `outputs.name.key`, the first one that is wrong.
    pub fn read(&self, tables: &BTreeMap<String, Value>) -> Result<Vec<PlannedOutput>, SettingsError> {
        tables.iter().map(|(id, table)| self.read_one(id, table)).collect()
    }

    fn read_one(&self, id: &str, value: &Value) -> Result<PlannedOutput, SettingsError> {
        let key = format!("outputs.{id}");
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if id.is_empty() || !id.chars().all(is_name) {
            let problem = "the name of an output consists of letters, digits, `_` and `-`";
            return SettingsError::refuse(key, problem);
        }
        let Value::Table(table) = value else {
            return SettingsError::refuse(key, "expected a table, as in `[outputs.csv]`");
        };
        let mut table = table.clone();
        let kind = match table.remove("kind") {
            None => id.to_owned(),
            Some(Value::String(kind)) => kind,
            Some(_) => return SettingsError::refuse(format!("{key}.kind"), "must be a text"),
        };
        let Some(kind) = self.kinds.iter().find(|known| known.name == kind) else {
            let names: Vec<String> =
                self.kinds.iter().map(|kind| format!("`{}` ({})", kind.name, kind.about)).collect();
            let problem = format!(
                "there is no kind of output `{kind}`{} Name the table after one of {}, or say it with `kind`",
                did_you_mean(&kind, self.kinds.iter().map(|kind| kind.name)),
                names.join(", ")
            );
            return SettingsError::refuse(key, problem);
        };
        let mut queue = Table::new();
        for name in QueueKeys::NAMES {
            if let Some(value) = table.remove(name) {
                queue.insert(name.to_owned(), value);
            }
        }
        let inside = |error: SettingsError| error.within(&key);
        let keys: QueueKeys = read_keys(queue).map_err(inside)?;
        let plan = (kind.read)(table).map_err(inside)?;
        let queue = plan.queue().with(&keys);
        if queue.events == 0 || queue.memory == 0 {
            let problem =
                "queue_events and queue_memory must be above 0: an output needs a place for one batch";
            return SettingsError::refuse(key, problem);
        }
        Ok(PlannedOutput { id: id.to_owned(), kind: kind.name, plan, queue })
    }
}

/// Reads the keys of an output, so that an error can say which key it is about.
///
/// # Errors
/// The first key that is wrong.
pub fn read_keys<T: DeserializeOwned>(table: Table) -> Result<T, SettingsError> {
    let names: Vec<String> = table.keys().cloned().collect();
    T::deserialize(Value::Table(table)).map_err(|error| {
        if let Some(refused) = RefusedValue::in_message(error.message()) {
            return refused;
        }
        let message = error.message().to_owned();
        // An unknown key is named in the message; for a wrong value the key is not, so the table is meant.
        // What it would have expected comes behind it, and may be a key that is there as well.
        let place = |name: &&String| message.find(&format!("`{name}`")).unwrap_or(usize::MAX);
        let key = names.iter().filter(|name| place(name) < usize::MAX).min_by_key(place).cloned();
        SettingsError { key: key.unwrap_or_default(), problem: message }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::OutputContext;
    use crate::settings::WhenFull;
    use evforge_core::output::Output;
    use serde::Deserialize;
    use std::error::Error;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Toy {
        file: String,
    }

    /// Refuses its keys itself.
    #[derive(Deserialize, JsonSchema)]
    #[serde(try_from = "Toy")]
    #[schemars(with = "Toy")]
    struct Fussy;

    impl TryFrom<Toy> for Fussy {
        type Error = RefusedValue;

        fn try_from(toy: Toy) -> Result<Self, RefusedValue> {
            let problem = format!("must be another one than {}", toy.file);
            Err(SettingsError { key: "file".to_owned(), problem }.into())
        }
    }

    impl OutputPlan for Fussy {
        fn name(&self) -> String {
            "fussy".to_owned()
        }
        fn open(self: Box<Self>, _: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
            Err("fussy".into())
        }
    }

    #[test]
    fn a_kind_that_refuses_a_key_itself_names_it() {
        let tables = toml::from_str("[fussy]\nfile = 'a'").unwrap();
        let error = Registry::default().with::<Fussy>("fussy", "for tests").read(&tables).unwrap_err();
        assert_eq!((&*error.key, &*error.problem), ("outputs.fussy.file", "must be another one than a"));
    }

    impl OutputPlan for Toy {
        fn name(&self) -> String {
            format!("toy {}", self.file)
        }
        fn open(self: Box<Self>, _: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
            Err("a toy".into())
        }
    }

    fn plans(text: &str) -> Result<Vec<PlannedOutput>, SettingsError> {
        let registry = Registry::default().with::<Toy>("toy", "for tests");
        registry.read(&toml::from_str(text).expect("TOML"))
    }

    #[test]
    fn several_of_a_kind_have_names_and_queues_of_their_own() {
        let text = "[toy]\nfile = 'a'\n[second]\nkind = 'toy'\nfile = 'b'\nqueue_events = 7\n\
                    queue_memory = '2MB'\nwhen_full = 'stop'\nfinish_within = '2s'";
        let plans = plans(text).unwrap();
        let seen: Vec<_> = plans.iter().map(|plan| (plan.id.as_str(), plan.kind, plan.plan.name())).collect();
        assert_eq!(seen, [("second", "toy", "toy b".to_owned()), ("toy", "toy", "toy a".to_owned())]);
        let queue = plans[0].queue;
        assert_eq!((queue.events, queue.memory, queue.when_full), (7, 2_000_000, WhenFull::Stop));
        assert_eq!(plans[1].queue, QueueSettings::COMPLETE);
    }

    use crate::settings::QueueSettings;

    #[test]
    fn what_is_wrong_is_named_with_its_key() {
        for (text, key, words) in [
            ("[toy]\nfil = 'a'", "outputs.toy.fil", "unknown field"),
            ("[toy]\nfile = 'a'\nfiles = 'b'", "outputs.toy.files", "unknown field"),
            ("[toy]", "outputs.toy.file", "missing field"),
            ("[copy]\nfile = 'a'", "outputs.copy", "`toy` (for tests)"),
            ("[copy]\nkind = 3", "outputs.copy.kind", "text"),
            ("toy = 3", "outputs.toy", "[outputs.csv]"),
            ("['a b']\nkind = 'toy'", "outputs.a b", "letters"),
            ("[toy]\nfile = 'a'\nwhen_full = 'explode'", "outputs.toy", "wait"),
            ("[toy]\nfile = 'a'\nqueue_events = 0", "outputs.toy", "above 0"),
        ] {
            let error = plans(text).unwrap_err();
            assert!(error.problem.contains(words), "{text}: {error}");
            assert!(error.key.starts_with(key) || key == "outputs.toy.file", "{text}: {error}");
        }
    }
}
