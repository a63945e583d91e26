//! The outputs of a run before they are opened: checked, described, compared with one another.

use super::{OutputArguments, Outputs};
use crate::CommandError;
use crate::control::TOKEN;
use crate::left_over::tell_lines;
use crate::monitor_control::TapControl;
use crate::output::check_writable;
use crate::same_file::NamedFiles;
use evforge_config::Config;
use evforge_control::ControlAccess;
use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::run_state::OutputCounters;
use evforge_core::settings::SettingsError;
use evforge_core::time::Clock;
use evforge_net::clock::SystemClock;
use evforge_net::host_health::HostHealthReader;
use evforge_net::staged_file::is_standard_output;
use evforge_outputs::packet_tap::PacketTap;
use evforge_outputs::{HostAdvice, IfExists, Kept, OutputContext, PlannedOutput, Registry};
use evforge_pipeline::monitor_tap::MonitorTap;
use evforge_pipeline::samples::SampleFile;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use toml::Value;

/// Outputs that are no outputs of events: a single file each.
const FILES: [&str; 3] = ["report", "monitor", "samples"];

/// The outputs that configuration and options ask for.
pub(crate) struct OutputPlans {
    events: Vec<(String, PlannedOutput)>,
    /// Report, monitor data, averaged waveforms.
    files: [Option<SingleFile>; FILES.len()],
    advice: Option<Arc<dyn HostAdvice>>,
}

/// An output that is no output of events.
struct SingleFile {
    label: String,
    path: PathBuf,
    if_exists: IfExists,
}

/// The schemas of their tables.
pub(crate) fn file_schemas(generator: &mut SchemaGenerator) -> [(&'static str, Schema); FILES.len()] {
    FILES.map(|id| (id, generator.subschema_for::<SingleFileSettings>()))
}

/// Its keys.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SingleFileSettings {
    /// The file.
    file: PathBuf,
    /// What to do if it exists.
    #[serde(default)]
    if_exists: IfExists,
}

impl OutputPlans {
    /// Reads what the configuration has, after the options have been put into it.
    ///
    /// # Errors
    /// The first key that is wrong, with its place.
    pub(crate) fn read(
        arguments: &OutputArguments,
        config: &Config,
        registry: &Registry,
    ) -> Result<Self, CommandError> {
        let mut tables = config.outputs.clone();
        let mut files = [const { None }; FILES.len()];
        for (place, id) in files.iter_mut().zip(FILES) {
            if let Some(table) = tables.remove(id) {
                let settings = single_file(id, &table).map_err(|error| config.explain(&error))?;
                let SingleFileSettings { file: path, if_exists } = settings;
                *place = Some(SingleFile { label: arguments.label(id), path, if_exists });
            }
        }
        let planned = registry.read(&tables).map_err(|error| config.explain(&error))?;
        if files[2].is_some() && !config.detector.makes_averages() {
            let label = arguments.label("samples");
            return Err(format!(
                "{label} needs averaged waveforms: the configuration has no section [adc_readout.averaging]"
            )
            .into());
        }
        let events = planned.into_iter().map(|plan| (arguments.label(&plan.id), plan)).collect();
        Ok(Self { events, files, advice: None })
    }

    /// With what an output can show while no packets come.
    #[must_use]
    pub(crate) fn advised(self, advice: Option<Arc<dyn HostAdvice>>) -> Self {
        Self { advice, ..self }
    }

    /// Adds the files of all outputs to those of a command.
    pub(crate) fn name(&self, mut files: NamedFiles) -> NamedFiles {
        for (label, plan) in &self.events {
            let paths = plan.plan.files();
            files = match plan.plan.has_rule_for_existing_files() {
                true => files.kept_output(label, &paths),
                false => files.output(label, &paths),
            };
        }
        for SingleFile { label, path, if_exists } in self.files.iter().flatten() {
            files = match if_exists {
                IfExists::Overwrite => files.kept_output(label, Some(path)),
                IfExists::Refuse => files.output(label, Some(path)),
            };
        }
        files
    }

    /// All files that they will write.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let events = self.events.iter().flat_map(|(_, plan)| plan.plan.files());
        events.chain(self.files.iter().flatten().map(|file| file.path.clone()))
    }

    /// The folders that they are in, each once.
    fn folders(&self) -> Vec<PathBuf> {
        let folder = |file: PathBuf| match file.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Some(PathBuf::from(".")),
            folder => folder.map(PathBuf::from),
        };
        let mut folders: Vec<PathBuf> =
            self.files().filter(|file| !is_standard_output(file)).filter_map(folder).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// True if an output goes to standard output, which then has nothing else.
    pub(crate) fn takes_standard_output(&self) -> bool {
        self.files().any(|path| is_standard_output(&path))
    }

    /// A line for each output of events, for people.
    pub(crate) fn describe(&self, context: &OutputContext) -> Vec<String> {
        self.events.iter().map(|(_, plan)| plan.describe(context)).collect()
    }

    /// The names of outputs of events, and most memory that each takes, in bytes.
    pub(crate) fn memory_bounds(&self, context: &OutputContext) -> Vec<(String, u64)> {
        self.events.iter().map(|(_, plan)| (plan.id.clone(), plan.memory_bound(context))).collect()
    }

    /// Threads that all of them have at most.
    pub(crate) fn threads(&self) -> usize {
        self.events.iter().map(|(_, plan)| plan.plan.threads()).sum()
    }

    /// Whether somebody can have the monitor data collected.
    pub(crate) fn collect_monitor_data(&self) -> bool {
        self.files[1].is_some() || self.events.iter().any(|(_, plan)| plan.kind == "view")
    }

    /// What outputs may know of the run.
    ///
    /// # Errors
    /// If the detector cannot be built.
    pub(crate) fn context(&self, config: &Config) -> Result<OutputContext, CommandError> {
        let detector = config.build_detector()?;
        let all_counters = |plan: &PlannedOutput| -> Vec<CounterInfo> {
            OutputCounters::infos().iter().copied().chain(plan.plan.counters()).collect()
        };
        let mut outputs: Vec<(String, Vec<CounterInfo>)> =
            self.events.iter().map(|(_, plan)| (plan.id.clone(), all_counters(plan))).collect();
        if self.files[2].is_some() {
            outputs.push(("samples".to_owned(), OutputCounters::infos().to_vec()));
        }
        let ledger = evforge_pipeline::ledger_at_start(detector.as_ref());
        let monitors = ledger.beam_monitors.iter().map(|monitor| &*monitor.plan().name);
        let placement = config.place(detector.geometry(), monitors)?;
        Ok(OutputContext {
            instrument: config.name.clone(),
            detector: config.section.to_owned(),
            run: config.run.clone(),
            geometry: detector.geometry(),
            pixel_ids: detector.pixel_ids(),
            placement,
            train: config.pulses,
            tells_pulses: detector.tells_pulses(),
            vetoes: config.vetoes.iter().map(|veto| veto.name.clone()).collect(),
            configuration: config.text.clone(),
            ledger,
            outputs,
            batch_events: config.input.events_per_batch,
            clock: Arc::new(SystemClock::start()) as Arc<dyn Clock>,
            monitor: None,
            advice: self.advice.clone(),
            control: None,
            kept: None,
            packets: None,
            asked_to_end: Arc::default(),
            notes: evforge_outputs::Notes::default(),
        })
    }

    /// Opens all of them. Those that serve requests are given `access`; what waits for others gives up when `stop` is set.
    ///
    /// # Errors
    /// The first one that cannot be opened.
    pub(crate) fn open(
        self,
        config: &Config,
        access: Option<ControlAccess>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Outputs, CommandError> {
        self.open_with(config, access, stop, None)
    }

    /// As [`OutputPlans::open`], in a program that has several runs; they find in `kept` what outlives one of them.
    ///
    /// # Errors
    /// As [`OutputPlans::open`].
    pub(crate) fn open_with(
        self,
        config: &Config,
        access: Option<ControlAccess>,
        stop: &Arc<AtomicBool>,
        kept: Option<Kept>,
    ) -> Result<Outputs, CommandError> {
        let mut context = self.context(config)?;
        let health = HostHealthReader::start(&self.folders())?;
        let [report, monitor_file, samples] = self.files;
        check_writable("the report", report.iter().map(|file| &file.path))?;
        check_writable("the monitor data", monitor_file.iter().map(|file| &file.path))?;
        let samples = samples.map(|SingleFile { path, .. }| {
            tell_lines("averaged waveforms", &path);
            SampleFile::create(&path)
        });
        let monitor = MonitorTap::default();
        monitor.switch(monitor_file.is_some());
        let monitor_file = monitor_file.map(|file| file.path);
        let control =
            TapControl { tap: monitor.clone(), file: monitor_file.clone(), section: config.section };
        context.monitor = Some(Arc::new(control));
        let packets = PacketTap::default();
        context.packets = Some(packets.clone());
        // A token that somebody has given, they know.
        let is_made = config.control.token_file.is_none() && std::env::var_os(TOKEN).is_none();
        let token = access.as_ref().filter(|_| is_made).map(|access| Arc::clone(&access.token));
        context.control = access;
        context.kept = kept;
        context.asked_to_end = Arc::clone(stop);
        let mut events = Vec::new();
        let mut page = None;
        for (_, PlannedOutput { id, plan, queue, kind }) in self.events {
            let lines = [("csv", "events"), ("frames", "frames")].into_iter().find(|(of, _)| *of == kind);
            if let Some((_, what)) = lines {
                plan.files().iter().for_each(|path| tell_lines(what, path));
            }
            let output = plan.open(&context)?;
            if kind == "view" {
                let name = output.name();
                let address = name.split_once("http://").and_then(|(_, address)| address.parse().ok());
                page = page.or(address);
            }
            events.push((id, output, queue));
        }
        for note in context.notes.take() {
            tracing::warn!(target: evforge_log::group::OUTPUT, lead = "", always = true, "{note}");
        }
        Ok(Outputs {
            events,
            samples: samples.transpose()?,
            monitor,
            packets,
            clock: context.clock,
            health,
            report: report.map(|file| file.path),
            monitor_file,
            page,
            token,
        })
    }
}

/// The keys of a table of a single file.
fn single_file(id: &str, table: &Value) -> Result<SingleFileSettings, SettingsError> {
    let key = format!("outputs.{id}");
    let Value::Table(table) = table else {
        return SettingsError::refuse(key, format!("expected a table, as in `[outputs.{id}]`"));
    };
    if let Some(other) = table.keys().find(|name| !["file", "if_exists"].contains(&name.as_str())) {
        return SettingsError::refuse(
            format!("{key}.{other}"),
            format!("unknown key `{other}`, expected `file` or `if_exists`"),
        );
    }
    match table.get("file") {
        Some(Value::String(_)) => {}
        Some(_) => {
            return SettingsError::refuse(format!("{key}.file"), "must be a text: the name of the file");
        }
        None => return SettingsError::refuse(key, "the key `file` is missing: the name of the file"),
    }
    let wrong = |error: toml::de::Error| SettingsError {
        key: format!("{key}.if_exists"),
        problem: error.message().to_owned(),
    };
    Value::Table(table.clone()).try_into().map_err(wrong)
}
