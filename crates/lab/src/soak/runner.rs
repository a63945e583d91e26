//! Segments and jumps, run with the programs that users have.

use super::figures::{JumpSeen, ProvokedJump, Segment, SegmentStream};
use super::settings::{BLOCK, SoakSettings};
use super::{Checkpoint, CheckpointError};
use crate::measured_link::MeasureError;
use crate::measured_link::program::{PATIENCE, Program};
use crate::measured_link::reports::{count, json, wrong};
use crate::measured_streams::programs::{ReceiverSettings, StreamPrograms, streams};
use crate::two_hosts::TwoHosts;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A segment, or a sender before a jump, has ended if nothing has come for so long. A host that is busy with other things holds a sender up
/// for longer than one would think, and a receiver that has gone makes its packets refused ones.
const IDLE: Duration = Duration::from_secs(3);
/// The first identifier behind a jump.
const BEHIND_THE_JUMP: u64 = 1_000_000_000;

/// Runs segments and jumps.
pub struct SoakRunner<'a> {
    /// Where.
    pub hosts: &'a TwoHosts,
    /// The program `evforge`.
    pub program: PathBuf,
    /// A folder for the reports.
    pub folder: PathBuf,
    /// Core of the sender.
    pub sender_core: usize,
    /// Core of the receiver.
    pub receiver_core: usize,
    /// Ends what is under way.
    pub stop: &'a AtomicBool,
}

/// Why a soak has ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    /// A segment or a jump could not be run.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The checkpoint could not be written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

impl SoakRunner<'_> {
    /// Goes on until all has been sent and both jumps have been provoked, with a checkpoint at `path` before and behind each step;
    /// `told` is called behind each. False if `stop` was set before: what was under way is then not counted.
    ///
    /// # Errors
    /// If a program fails, or a checkpoint cannot be written. What has ended before is in the last checkpoint.
    pub fn run(
        &self,
        checkpoint: &mut Checkpoint,
        path: &Path,
        mut told: impl FnMut(&Checkpoint),
    ) -> Result<bool, SoakError> {
        let settings = checkpoint.settings.clone();
        checkpoint.note_interruption();
        checkpoint.write(path)?;
        if checkpoint.jump_at_start.is_none() {
            let Some(jump) = self.unless_stopped(self.jump(&settings))? else { return Ok(false) };
            checkpoint.jump_at_start = Some(jump);
            checkpoint.write(path)?;
            told(checkpoint);
        }
        while let Some(seconds) = checkpoint.next_seconds() {
            checkpoint.is_under_way = true;
            checkpoint.write(path)?;
            let segment = self.segment(&settings, checkpoint, seconds);
            let Some(segment) = self.unless_stopped(segment)? else {
                checkpoint.note_interruption();
                checkpoint.write(path)?;
                return Ok(false);
            };
            checkpoint.segments.push(segment);
            checkpoint.is_under_way = false;
            checkpoint.write(path)?;
            told(checkpoint);
        }
        if checkpoint.jump_at_end.is_none() {
            let Some(jump) = self.unless_stopped(self.jump(&settings))? else { return Ok(false) };
            checkpoint.jump_at_end = Some(jump);
            checkpoint.write(path)?;
            told(checkpoint);
        }
        Ok(true)
    }

    /// A stop is no error, and what has ended after it may have been cut short by it.
    fn unless_stopped<T>(&self, outcome: Result<T, MeasureError>) -> Result<Option<T>, MeasureError> {
        match outcome {
            _ if self.stop.load(Ordering::Relaxed) => Ok(None),
            Err(MeasureError::Stopped) => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    fn segment(
        &self,
        settings: &SoakSettings,
        checkpoint: &Checkpoint,
        seconds: f64,
    ) -> Result<Segment, MeasureError> {
        let (sent, received) = (self.folder.join("sent.json"), self.folder.join("received.json"));
        let most = Duration::from_secs_f64(seconds * 2.0) + PATIENCE;
        let blocks = settings.blocks(seconds).map_err(|problem| wrong(&sent, problem))?;
        let (mut receiver, addresses) = self.receiver(settings, (IDLE, most), Some(&sent), &received)?;
        let mut command = self.sender(settings, &addresses, (checkpoint.next_identifier(), blocks), &sent);
        if checkpoint.segments.is_empty() {
            settings.faults.iter().for_each(|fault| {
                command.args(["--fault", fault]);
            });
        }
        Program::start(command, "evforge drop send")?.wait_good(most, self.stop)?;
        let report = self.programs().report(&mut receiver, most, &received)?;
        let useless = |problem| wrong(&received, problem);
        let of_streams = streams(&report).map_err(useless)?;
        let seconds_sent = of_streams.iter().filter_map(|stream| stream["sent"]["seconds"].as_f64());
        let segment = Segment {
            asked_seconds: seconds,
            seconds: seconds_sent.fold(0.0, f64::max),
            streams: of_streams.iter().map(SegmentStream::read).collect::<Result<_, _>>().map_err(useless)?,
        };
        segment.check(settings).map_err(useless)?;
        Ok(segment)
    }

    /// Streams are stopped, and others with other identifiers are started on the same receiver: does it report that?
    fn jump(&self, settings: &SoakSettings) -> Result<ProvokedJump, MeasureError> {
        let received = self.folder.join("jump.json");
        let before = self.folder.join("before-the-jump.json");
        let behind = self.folder.join("behind-the-jump.json");
        let most = 2 * PATIENCE;
        let (mut receiver, addresses) = self.receiver(settings, (IDLE, 2 * most), None, &received)?;
        for (first, path) in [(0, &before), (BEHIND_THE_JUMP, &behind)] {
            let command = self.sender(settings, &addresses, (first, 1), path);
            Program::start(command, "evforge drop send")?.wait_good(most, self.stop)?;
        }
        let report = self.programs().report(&mut receiver, most, &received)?;
        let (before, behind) = (json(&before)?, json(&behind)?);
        let seen = |(stream, (before, behind)): (&Value, (&Value, &Value))| {
            let (before, behind) = (count(before, "/packets")?, count(behind, "/packets")?);
            Ok(JumpSeen {
                sent: before.saturating_add(behind),
                received: count(stream, "/counters/packets_counted")?,
                left_out: BEHIND_THE_JUMP.saturating_sub(before),
                forward: count(stream, "/jumps/forward")?,
                others: count(stream, "/jumps/zero")? + count(stream, "/jumps/negative")?,
                reported: count(stream, "/jumps/lost")?,
            })
        };
        let useless = |problem| wrong(&received, problem);
        let sent = streams(&before).map_err(useless)?.iter().zip(streams(&behind).map_err(useless)?);
        let seen = streams(&report).map_err(useless)?.iter().zip(sent).map(seen);
        Ok(ProvokedJump { streams: seen.collect::<Result<_, String>>().map_err(useless)? })
    }

    /// Starts the receiver of all streams: its addresses.
    fn receiver(
        &self,
        settings: &SoakSettings,
        (idle, most): (Duration, Duration),
        sent: Option<&Path>,
        received: &Path,
    ) -> Result<(Program, Vec<SocketAddr>), MeasureError> {
        let (streams, buffer) = (settings.streams, settings.buffer);
        let settings = ReceiverSettings { streams, buffer, idle, most, sent, received };
        self.programs().start_receiver(&settings, &["--cores".to_owned(), self.receiver_core.to_string()])
    }

    fn sender(
        &self,
        settings: &SoakSettings,
        to: &[SocketAddr],
        (first, blocks): (u64, u64),
        sent: &Path,
    ) -> Command {
        let mut command = self.programs().sender(to, settings.packet_bytes, self.sender_core, sent);
        command.args(["--rate", &settings.rate, "--block", &format!("{BLOCK}B")]);
        command.args(["--burst", &format!("{}ns", (settings.burst_seconds * 1e9) as u64)]);
        command.args(["--blocks", &blocks.to_string(), "--first-identifier", &first.to_string()]);
        command
    }

    fn programs(&self) -> StreamPrograms<'_> {
        StreamPrograms { hosts: self.hosts, program: &self.program, stop: self.stop }
    }
}
