//! `[outputs.nexus]`: an event file as an output of a run.

use schemars::JsonSchema;
use std::error::Error;
use std::path::PathBuf;

use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::output::Output;
use evforge_core::quantity;
use evforge_core::run_identity::RunIdentity;
use evforge_outputs::{OutputContext, OutputPlan};
use serde::{Deserialize, Serialize};

use super::counters::NexusCounters;
use super::options::{Compression, DiskSync, ExistingFile, NexusOptions, PulseOrigin};
use super::output::NexusOutput;
use crate::storage::workers::Workers;

/// The keys of `[outputs.nexus]`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NexusSettings {
    /// The file.
    pub file: PathBuf,
    /// What to do if it exists.
    #[serde(default)]
    pub if_exists: ExistingFile,
    /// The title of the run, as it was said until 0.2: now `run.title`, which wins. Read until 0.3.
    #[schemars(extend("deprecated" = true))]
    pub title: Option<String>,
    /// How often what has been taken goes to the file: what a kill can cost.
    #[schemars(extend("x-default" = "2 s"))]
    pub flush_interval: Option<quantity::TimeSpan>,
    /// Whether a commit waits until the disk has it.
    #[serde(default)]
    pub sync: DiskSync,
    /// How the event arrays are compressed.
    #[serde(default)]
    pub compression: CompressionSetting,
    /// Threads that deflate. 0: in the output's own thread.
    #[schemars(extend("x-default" = "half of the cores, at most four"))]
    pub compression_threads: Option<usize>,
    /// Events per chunk of the event arrays.
    #[schemars(range(min = 1024))]
    pub chunk_events: Option<usize>,
}

/// How the event arrays are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompressionSetting {
    /// Not at all.
    None,
    /// Byte shuffle and LZF: h5py reads it, a stock HDF5 does not.
    Lzf,
    /// Byte shuffle and deflate.
    #[default]
    Deflate,
}

impl NexusSettings {
    /// The title that only this table says.
    fn only_title(&self, context: &OutputContext) -> RunIdentity {
        let title = self.title.clone().filter(|_| context.run.title.is_none());
        RunIdentity { title, ..RunIdentity::default() }
    }

    /// What the writer has to know.
    fn options(&self, context: &OutputContext) -> NexusOptions {
        let options = NexusOptions::new(&self.file, &context.instrument, context.geometry);
        let options = options
            .with_counters(&context.ledger.counters)
            .with_beam_monitors(&context.ledger.beam_monitors)
            .with_outputs(&context.outputs);
        NexusOptions {
            run: context.run.clone().overridden_by(self.only_title(context)),
            existing: self.if_exists,
            pulse_origin: if context.tells_pulses {
                PulseOrigin::Readout
            } else {
                PulseOrigin::ConfiguredTrain
            },
            pixel_ids: context.pixel_ids.clone(),
            placement: context.placement.clone(),
            vetoes: context.vetoes.clone(),
            frames: context.ledger.frames.as_ref().map(|frames| frames.vetoes.clone()),
            configuration: context.configuration.clone(),
            flush_interval: self.flush_interval.map_or(options.flush_interval, quantity::TimeSpan::to_std),
            sync: self.sync,
            compression: match self.compression {
                CompressionSetting::None => Compression::None,
                CompressionSetting::Lzf => Compression::Lzf,
                CompressionSetting::Deflate => Compression::default(),
            },
            compression_threads: self.compression_threads.unwrap_or(options.compression_threads),
            chunk_events: self.chunk_events.unwrap_or(options.chunk_events),
            ..options
        }
    }
}

impl OutputPlan for NexusSettings {
    fn name(&self) -> String {
        format!("NeXus file {}", self.file.display())
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }

    // Whether the file is there is asked when it is opened: it may be another run's, or have been left by a kill.
    fn has_rule_for_existing_files(&self) -> bool {
        true
    }

    fn counters(&self) -> Vec<CounterInfo> {
        NexusCounters::infos().to_vec()
    }

    fn memory_bound(&self, context: &OutputContext) -> usize {
        self.options(context).memory_bound()
    }

    fn threads(&self) -> usize {
        // Its output, who tells the disk to write, and those that compress.
        2 + self.compression_threads.unwrap_or_else(Workers::default_count)
    }

    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        if self.title.is_some() {
            context
                .notes
                .add("note: outputs.nexus.title is called run.title now, and will not be read after 0.3");
        }
        let output = NexusOutput::new(self.options(context), std::sync::Arc::clone(&context.clock))?;
        if let Some(recovered) = output.recovered() {
            context.notes.add(recovered.to_string());
        }
        Ok(Box::new(output))
    }
}
