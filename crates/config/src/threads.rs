//! The `[threads]` section: how many receive, where threads run, and which go before others.

use evforge_core::settings::SettingsError;
use evforge_host::{LocalHost, interrupt_cores};
use evforge_net::affinity::pin_current_thread;
use evforge_net::priority::{PRIORITIES, set_real_time_priority};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// `[threads]`: threads of a live run by name. Those that are not named run where the system puts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThreadSettings {
    /// Threads that receive (with `input.threads = 1` there is one, which forms as well).
    pub receive: ReceiveThreads,
    /// Threads that form events. `form = 4` and `form = { count = 4 }` mean the same. `"auto"`: as many as there are processor cores that do not
    /// receive. More than one for the detectors with the ESS readout only (Multi-Blade, Multi-Grid, Gd-GEM; the threads share the cassettes,
    /// columns, or panels and sectors, so that more threads than these are of no use); for others `"auto"` means 1. Events, their order and
    /// all counters stay the same.
    #[schemars(extend("x-range" = "1 to 64, `\"auto\"`, or a table", "x-default" = "1"))]
    pub form: FormThreads,
}

/// `[threads.receive]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveThreads {
    /// Threads that receive; above 1 with `input.threads = 2` only. The ports and sockets (`receive.ports`, `receive.sockets`) are shared out
    /// among them. With AF_XDP one thread takes all queues.
    #[schemars(range(min = 1, max = 64))]
    pub count: usize,
    /// Processor core of the thread that receives, or a list with one for each. With `input.threads = 1` it forms events as well. A core that
    /// serves interrupts of an interface in use (`receive.interface`, or that of the address; with `0.0.0.0` all that are up), or is given its
    /// packets by the kernel (RPS), is refused.
    #[serde(deserialize_with = "one_or_several")]
    #[schemars(with = "Cores", extend("x-default" = "not pinned"))]
    pub core: Vec<usize>,
    /// Real-time priority (SCHED_FIFO): ordinary programs do not preempt the thread. It needs `ulimit -r` (in a systemd unit `LimitRTPRIO=`), or
    /// `largest_priority` in the rules of evforge-helper ([receive.md](receive.md#privileges)). A thread that spins all the time leaves none
    /// of its core to others.
    #[schemars(range(min = 1, max = 99))]
    pub priority: Option<u8>,
    /// A core that serves interrupts of the interface is not refused.
    pub share_interrupt_core: bool,
}

/// `[threads.form]`, or `form = 4`, or `form = "auto"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "FormValue")]
#[schemars(with = "FormValue")]
pub struct FormThreads {
    /// How many.
    pub count: FormCount,
    /// Their processor cores: one number, or one for each. The first is that of the thread that all packets go through.
    pub core: Vec<usize>,
    /// Real-time priority; none: they are ordinary threads.
    pub priority: Option<u8>,
}

/// How many threads form events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormCount {
    /// So many.
    Threads(usize),
    /// As many as there are processor cores that do not receive.
    Auto,
}

impl Default for FormCount {
    fn default() -> Self {
        Self::Threads(1)
    }
}

evforge_core::written_as! {
    FormCount: |_generator| schemars::json_schema!({
        "anyOf": [{ "type": "integer", "minimum": 1, "maximum": MOST_THREADS }, { "const": "auto" }],
    });
}

impl<'de> Deserialize<'de> for FormCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize, JsonSchema)]
        #[serde(untagged, expecting = "a number of threads, or \"auto\"")]
        enum Value {
            Threads(usize),
            Word(String),
        }
        match Value::deserialize(deserializer)? {
            Value::Threads(count) => Ok(Self::Threads(count)),
            Value::Word(word) if word == "auto" => Ok(Self::Auto),
            Value::Word(word) => {
                Err(serde::de::Error::custom(format!("{word:?} is neither a number of threads nor \"auto\"")))
            }
        }
    }
}

/// How `threads.form` is written.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number of threads, \"auto\", or a table with count, core and priority")]
enum FormValue {
    Count(FormCount),
    Table(FormTable),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FormTable {
    /// How many.
    #[serde(default)]
    #[schemars(extend("default" = 1))]
    count: FormCount,
    /// The cores of the threads that form events, one for each; with `input.threads = 2`. The first is that of the thread which all packets go
    /// through.
    #[serde(default, deserialize_with = "one_or_several")]
    #[schemars(with = "Cores", extend("x-default" = "not pinned"))]
    core: Vec<usize>,
    /// Their real-time priority, as that of the threads that receive.
    #[serde(default)]
    #[schemars(range(min = 1, max = 99))]
    priority: Option<u8>,
}

impl From<FormValue> for FormThreads {
    fn from(value: FormValue) -> Self {
        match value {
            FormValue::Count(count) => Self { count, ..Self::default() },
            FormValue::Table(FormTable { count, core, priority }) => Self { count, core, priority },
        }
    }
}

impl Default for ReceiveThreads {
    fn default() -> Self {
        Self { count: 1, core: Vec::new(), priority: None, share_interrupt_core: false }
    }
}

/// A number, or a list of them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "the number of a processor core, or a list of them as in [2, 3]")]
enum Cores {
    One(usize),
    Several(Vec<usize>),
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
    Ok(match Cores::deserialize(deserializer)? {
        Cores::One(core) => vec![core],
        Cores::Several(cores) => cores,
    })
}

/// Most threads that receive.
const MOST_THREADS: usize = 64;

impl ThreadSettings {
    /// Checks what can be told without the host; `input_threads` is `input.threads`, `receivers` the number of ports times
    /// that of sockets for each.
    pub(crate) fn check(&self, input_threads: usize, receivers: usize) -> Result<(), SettingsError> {
        let refuse =
            |key: &str, problem: String| Err(SettingsError { key: format!("threads.{key}"), problem });
        let receive = &self.receive;
        if !(1..=MOST_THREADS).contains(&receive.count) {
            return refuse("receive.count", format!("must be in 1..={MOST_THREADS}"));
        }
        if receive.count > receivers {
            let problem = format!(
                "is {}, but there are only {receivers} sockets to receive from: set receive.sockets = {} as well (or name \
                 further receive.ports)",
                receive.count, receive.count
            );
            return refuse("receive.count", problem);
        }
        if receive.count > 1 && input_threads == 1 {
            let problem =
                "is above 1, but input.threads = 1 has one thread for everything: set input.threads = 2";
            return refuse("receive.count", problem.into());
        }
        if !receive.core.is_empty() && receive.core.len() != receive.count {
            let problem = format!("has {} cores for {} threads", receive.core.len(), receive.count);
            return refuse("receive.core", problem);
        }
        for (key, priority) in [("receive.priority", receive.priority), ("form.priority", self.form.priority)]
        {
            if priority.is_some_and(|priority| !PRIORITIES.contains(&priority)) {
                return refuse(key, "must be in 1..=99".into());
            }
        }
        let form = &self.form;
        if let FormCount::Threads(count) = form.count {
            if !(1..=MOST_THREADS).contains(&count) {
                return refuse("form", format!("must be \"auto\" or in 1..={MOST_THREADS}"));
            }
            if !form.core.is_empty() && form.core.len() != count {
                let problem = format!("has {} cores for {count} threads", form.core.len());
                return refuse("form.core", problem);
            }
        }
        let named = [("core", !form.core.is_empty()), ("priority", form.priority.is_some())];
        if let (1, Some((key, _))) = (input_threads, named.iter().find(|(_, is_named)| *is_named)) {
            let problem = "is of a thread that there is with input.threads = 2 only".into();
            return refuse(&format!("form.{key}"), problem);
        }
        Ok(())
    }

    /// Puts the current thread, the one with this number that receives, where it is to run.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn place_receiving(&self, number: usize) -> Result<(), Box<dyn std::error::Error>> {
        place(self.receive.core.get(number).copied(), self.receive.priority)
    }

    /// How many threads form events on a host with this many processor cores, where `input_threads` is `input.threads`.
    pub fn forming(&self, cores: usize, input_threads: usize) -> usize {
        match self.form.count {
            FormCount::Threads(count) => count,
            FormCount::Auto => {
                let receiving = if input_threads > 1 { self.receive.count } else { 0 };
                cores.saturating_sub(receiving).clamp(1, MOST_THREADS)
            }
        }
    }

    /// Puts the current thread, the one with this number that forms events, where it is to run.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn place_forming(&self, number: usize) -> Result<(), Box<dyn std::error::Error>> {
        place(self.form.core.get(number).copied(), self.form.priority)
    }

    /// Refuses to receive on a core that serves the interrupts of one of these interfaces, unless that is wanted.
    ///
    /// # Errors
    /// If there is such a core; the error says what to do.
    pub fn check_interrupts(&self, interfaces: &[&str]) -> Result<(), SettingsError> {
        if self.receive.share_interrupt_core {
            return Ok(());
        }
        for interface in interfaces {
            let busy = interrupt_cores(&LocalHost::new(), interface);
            if let Some(core) = self.receive.core.iter().find(|core| busy.contains(core)) {
                let problem = format!(
                    "is {core}, which serves interrupts of {interface}: the kernel and this program would compete for the \
                     same packets there. Take a core other than {busy:?}, move the interrupts (/proc/irq/*/smp_affinity_list; \
                     irqbalance moves them back), or set threads.receive.share_interrupt_core = true"
                );
                return Err(SettingsError { key: "threads.receive.core".into(), problem });
            }
        }
        Ok(())
    }
}

fn place(core: Option<usize>, priority: Option<u8>) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(core) = core {
        pin_current_thread(core)?;
    }
    if let Some(priority) = priority {
        set_real_time_priority(priority)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ThreadSettings {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_core_is_a_number_or_a_list_of_them() {
        assert_eq!(read("receive.core = 2").receive.core, [2]);
        assert_eq!(read("receive = { count = 2, core = [2, 5] }").receive.core, [2, 5]);
        assert_eq!(read("").receive.core, [0; 0]);
        let text = toml::from_str::<ThreadSettings>("receive.core = 'x'").unwrap_err().to_string();
        assert!(text.contains("the number of a processor core, or a list"), "{text}");
    }

    #[test]
    fn forming_threads_are_a_number_or_follow_from_the_host() {
        let forming = |text: &str, input_threads| read(text).forming(8, input_threads);
        assert_eq!((forming("", 2), forming("form = 3", 1), forming("form.count = 5", 2)), (1, 3, 5));
        assert_eq!((forming("form = 'auto'", 1), forming("form = 'auto'\nreceive.count = 2", 2)), (8, 6));
        assert_eq!(read("form = 'auto'\nreceive.count = 9").forming(8, 2), 1);
        let wrong = |text: &str| toml::from_str::<ThreadSettings>(text).unwrap_err().to_string();
        assert!(wrong("form = 'many'").contains("auto"), "{}", wrong("form = 'many'"));
        assert!(wrong("form.cores = 3").contains("count, core and priority"), "{}", wrong("form.cores = 3"));
    }

    #[test]
    fn threads_that_cannot_be_are_refused_with_a_way_out() {
        let refused = |text: &str, input_threads: usize, receivers: usize| {
            read(text).check(input_threads, receivers).unwrap_err().to_string()
        };
        assert!(refused("receive.count = 2", 2, 1).contains("set receive.sockets = 2"));
        assert!(refused("receive.count = 2", 1, 2).contains("set input.threads = 2"));
        assert!(refused("receive.count = 0", 2, 2).contains("1..=64"));
        assert!(refused("receive.core = [1, 2]", 2, 2).contains("2 cores for 1 threads"));
        assert!(refused("receive.priority = 100", 2, 2).contains("1..=99"));
        assert!(refused("form.core = 1", 1, 1).contains("input.threads = 2 only"));
        assert!(refused("form = 0", 2, 1).contains("\"auto\" or in 1..=64"));
        assert!(refused("form = { count = 3, core = [1, 2] }", 2, 1).contains("2 cores for 3 threads"));
        read("receive = { count = 2, core = [1, 2], priority = 50 }\nform.core = 3").check(2, 2).unwrap();
    }

    #[test]
    fn cores_without_interrupts_are_free_to_take() {
        // The loopback interface has none.
        read("receive.core = 0").check_interrupts(&["lo"]).unwrap();
    }
}
