//! The `[threads]` section: how many receive, where threads run, and which go before others.

use evforge_core::settings::SettingsError;
use evforge_net::affinity::pin_current_thread;
use evforge_net::interrupts::interrupt_cores;
use evforge_net::priority::{PRIORITIES, set_real_time_priority};
use serde::{Deserialize, Deserializer};

/// `[threads]`: threads of a live run by name. Those that are not named run where the system puts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThreadSettings {
    /// Those that receive (with `input.threads = 1` there is one, which forms as well).
    pub receive: ReceiveThreads,
    /// The one that forms events, with `input.threads = 2`.
    pub form: FormThread,
}

/// `[threads.receive]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveThreads {
    /// How many: no more than there are ports and sockets.
    pub count: usize,
    /// Their processor cores: one number, or one for each.
    #[serde(deserialize_with = "one_or_several")]
    pub core: Vec<usize>,
    /// Real-time priority; none: they are ordinary threads.
    pub priority: Option<u8>,
    /// They may run on cores that serve the interrupts of the network interface.
    pub share_interrupt_core: bool,
}

/// `[threads.form]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FormThread {
    /// Its processor core.
    pub core: Option<usize>,
    /// Real-time priority; none: it is an ordinary thread.
    pub priority: Option<u8>,
}

impl Default for ReceiveThreads {
    fn default() -> Self {
        Self { count: 1, core: Vec::new(), priority: None, share_interrupt_core: false }
    }
}

/// A number, or a list of them.
fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "the number of a processor core, or a list of them as in [2, 3]")]
    enum Cores {
        One(usize),
        Several(Vec<usize>),
    }
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
        let named = [("core", self.form.core.is_some()), ("priority", self.form.priority.is_some())];
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

    /// Puts the current thread, which forms events, where it is to run.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn place_forming(&self) -> Result<(), Box<dyn std::error::Error>> {
        place(self.form.core, self.form.priority)
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
            let busy = interrupt_cores(interface);
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
        read("receive = { count = 2, core = [1, 2], priority = 50 }\nform.core = 3").check(2, 2).unwrap();
    }

    #[test]
    fn cores_without_interrupts_are_free_to_take() {
        // The loopback interface has none.
        read("receive.core = 0").check_interrupts(&["lo"]).unwrap();
    }
}
