//! `evforge train receive`: a node of the PC layer.

use super::receive_arguments::{Incomplete, ReceiveArguments};
use super::received::Received;
use super::received_text::text;
use super::sent_here::SentHere;
use super::summaries::SummarySink;
use super::trains_view::PageContent;
use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, check_writable};
use crate::rate_line::RateLine;
use crate::same_file::NamedFiles;
use crate::signals::stop_on_signals;
use evforge_log::{LogSettings, group};
use evforge_pipeline::report::grouped;
use evforge_train::bridge::{Bridge, BridgeOptions};
use evforge_train::file::{IncompleteImages, LARGEST_MODULE, TrainFileOptions, TrainFiles, default_source};
use evforge_train::node::{ModulePort, NodeProgress, NodeSettings, TrainSink};
use evforge_train::sinks::{
    BridgeSink, ContentSink, FileSink, ForwardOptions, ForwardSink, ForwardTarget, NewestSink, Processed,
    ProcessingSink, write_sums,
};
use std::net::SocketAddr;
use std::sync::PoisonError;

/// Shows how far the node is.
fn show(line: &mut RateLine, NodeProgress { elapsed, assembly, .. }: &NodeProgress<'_>) {
    line.show(*elapsed, (assembly.packets_received, assembly.bytes_received), |rates| {
        let incomplete = assembly.trains_timed_out + assembly.trains_superseded + assembly.trains_cut_off;
        format!("{} trains  {} incomplete  {rates}", grouped(assembly.trains_good), grouped(incomplete))
    });
}

/// Runs the command.
pub(super) fn receive(arguments: &ReceiveArguments) -> Result<ExitStatus, CommandError> {
    NamedFiles::default()
        .input("--sent", &arguments.sent)
        .input("--pedestals", &arguments.steps.pedestals)
        .input("--gains", &arguments.steps.gains)
        .output("--report", &arguments.report)
        .output("--sums", &arguments.steps.sums)
        .check(arguments.overwrite)?;
    check_writable("the report", &arguments.report)?;
    check_writable("the sums", &arguments.steps.sums)?;
    let settings = arguments.node()?;
    settings.assembly.check()?;
    arguments.check_memory(&settings)?;
    arguments.log.set_up(&LogSettings::default(), "", arguments.quiet)?;
    let stop = stop_on_signals()?;
    let arrival = arguments.arrival()?;
    for warning in arrival.warnings() {
        tracing::warn!(target: group::INPUT, always = true, "{warning}");
    }
    let sources = arrival.addresses();
    let addresses = sources.concat();
    let settings = NodeSettings { modules: arguments.modules(&addresses)?, ..settings };
    let (mut page, newest) = arguments.page.start(&arguments.page_content(&sources))?.unzip();
    let files = arguments.files()?;
    let folder = files.as_ref().map(|files| files.folder().to_owned());
    let files = files.map(FileSink::new);
    let content = arguments.check.then(ContentSink::default);
    let (file_counters, found) =
        (files.as_ref().map(FileSink::counters), content.as_ref().map(ContentSink::found));
    let processing = arguments.processing()?;
    let processed = processing.as_ref().map(ProcessingSink::processed);
    let forward = arguments.forward.map(|to| ForwardSink::new(arguments.forwarding(to, &settings)));
    let forwarded = forward.as_ref().map(ForwardSink::counters);
    let bridge = arguments.bridge()?.map(BridgeSink::new);
    let shown = bridge.as_ref().map(BridgeSink::counters);
    let summaries = arguments.summaries.sink(arguments.detector.of_wire(), arguments.source())?;
    let summarised = summaries.as_ref().map(SummarySink::sent);
    let pictured = newest.as_ref().map(NewestSink::newest);
    let mut sinks: Vec<Box<dyn TrainSink>> = Vec::new();
    sinks.extend(content.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    // Those behind it leave out what it rejects.
    sinks.extend(processing.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(newest.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(summaries.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(files.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(bridge.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    sinks.extend(forward.map(|sink| Box::new(sink) as Box<dyn TrainSink>));
    let mut line = RateLine::new(arguments.quiet);
    let mut is_ready = false;
    let trains = arrival.run(&settings, &mut sinks, &stop, |progress| {
        // Not before: all memory for trains has been touched, which takes seconds for large ones, and nobody would take packets meanwhile.
        if !std::mem::replace(&mut is_ready, true) {
            arguments.tell_ready(&settings.modules, &addresses);
        }
        page.iter_mut().for_each(|page| page.show(progress));
        show(&mut line, progress);
    })?;
    line.finish();
    drop(sinks);
    let sent = arguments.sent.as_deref().map(|path| SentHere::read(path, &settings.modules));
    let files = file_counters.as_ref().zip(folder);
    let mut received = Received::new(trains, settings.modules.clone(), found.as_ref(), files, sent);
    received.processed =
        processed.map(|processed| processed.lock().unwrap_or_else(PoisonError::into_inner).clone());
    received.forwarded = forwarded.map(|counters| *counters.lock().unwrap_or_else(PoisonError::into_inner));
    received.shown = shown.map(|shown| *shown.lock().unwrap_or_else(PoisonError::into_inner));
    received.pictured = pictured.map(|pictured| pictured.counters());
    received.summarised = summarised.map(|sent| sent.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let sums = arguments.write_sums(received.processed.as_ref());
    let mut ending = Ending::alongside_file(arguments.report.as_deref());
    ending.attempt(sums);
    ending.write_json("the report", arguments.report.as_deref(), &received.json());
    if !arguments.quiet {
        ending.print(&text(&received));
    } else if !received.passed() {
        eprint!("{}", text(&received));
    }
    Ok(ExitStatus::of(received.passed() && ending.is_good()))
}

impl ReceiveArguments {
    /// Says where modules are received.
    fn tell_ready(&self, modules: &[ModulePort], addresses: &[SocketAddr]) {
        for (module, address) in modules.iter().zip(addresses) {
            if self.tcp {
                tracing::info!(target: group::INPUT, always = true, "receiving at TCP {address}");
            } else {
                tracing::info!(target: group::INPUT, always = true, "receiving module {} at UDP {address}", module.module);
            }
        }
    }

    /// The server for the karabo-bridge: a whole train is one of every module that comes here.
    fn bridge(&self) -> Result<Option<Bridge>, CommandError> {
        let Some(listen) = self.bridge else { return Ok(None) };
        let modules = self.senders.map_or(self.port.len(), usize::from) + usize::from(self.first_module);
        let mut options = BridgeOptions::new(self.detector.of_wire());
        options.listen = listen;
        options.modules = u8::try_from(modules).map_err(|_| "--bridge: at most 255 modules")?;
        if let Some(name) = &self.source_name {
            options.source.clone_from(name);
        }
        let bridge = Bridge::start(options)?;
        tracing::info!(target: group::VIEW, always = true, "karabo-bridge at tcp://{}", bridge.address());
        Ok(Some(bridge))
    }

    /// What sources are named after.
    fn source(&self) -> String {
        self.source_name.clone().unwrap_or_else(|| default_source(self.detector.of_wire()).to_owned())
    }

    /// What the page shows: a panel for each module that comes here.
    fn page_content<'a>(&self, sources: &'a [Vec<SocketAddr>]) -> PageContent<'a> {
        let room = 100 - usize::from(self.first_module);
        PageContent {
            detector: self.detector.of_wire(),
            first_module: self.first_module,
            modules: self.senders.map_or(self.port.len(), usize::from).min(room),
            sources,
            numbers_are_checked: self.stride > 0,
        }
    }

    /// How trains are passed on: over UDP in packets as they came.
    fn forwarding(&self, to: ForwardTarget, settings: &NodeSettings) -> ForwardOptions {
        ForwardOptions { to, data_bytes: settings.assembly.data_bytes, bits_per_second: self.forward_rate }
    }

    /// The steps over images, if there are some.
    fn processing(&self) -> Result<Option<ProcessingSink>, CommandError> {
        let plan = self.steps.plan(self.detector.of_wire())?;
        if plan.is_empty() {
            return Ok(None);
        }
        if self.image_size.is_some() || self.packets_per_train.is_some() {
            return Err("--veto, --pedestals, --gains, --threshold, --region and --sums look at images of a --detector: leave them out, or --image-size and \
                        --packets-per-train"
                .into());
        }
        Ok(Some(ProcessingSink::new(plan, self.detector.of_wire())?))
    }

    /// Writes what was added up; in the place of a file that is there, if that is allowed.
    fn write_sums(&self, processed: Option<&Processed>) -> Result<(), CommandError> {
        let (Some(path), Some(processed)) = (&self.steps.sums, processed) else { return Ok(()) };
        // Whole, or not there: it is written next to its place.
        let staged = path.with_added_extension("writing");
        let _ = std::fs::remove_file(&staged);
        write_sums(&staged, self.detector.of_wire(), &processed.sums).map_err(|error| {
            format!("cannot write the sums to {}: HDF5 reports: {error}", staged.display())
        })?;
        std::fs::rename(&staged, path)
            .map_err(|error| format!("cannot write the sums to {}: {error}", path.display()).into())
    }

    fn files(&self) -> Result<Option<TrainFiles>, CommandError> {
        let Some(folder) = &self.files else { return Ok(None) };
        let detector = self.detector.of_wire();
        let mut options = TrainFileOptions::new(folder, detector, self.run);
        options.proposal = self.proposal;
        options.modules = LARGEST_MODULE + 1;
        options.trains_per_file = self.trains_per_file;
        options.deflate = self.deflate.and_then(|level| u8::try_from(level).ok());
        options.incomplete_images = match self.incomplete {
            Incomplete::Zero => IncompleteImages::Mark,
            Incomplete::Drop | Incomplete::Mark => IncompleteImages::LeaveOut,
        };
        if let Some(name) = &self.source_name {
            options.source.clone_from(name);
        }
        Ok(Some(TrainFiles::create(options)?))
    }
}
