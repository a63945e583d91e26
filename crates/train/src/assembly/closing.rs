//! The end of a train, however it came: judged, reported, handed on.

use super::assembled::{AssembledTrain, TrainOutcome, TrainReport, images_touched};
use super::buffer::TrainBuffer;
use super::counters::AssemblyCounters;
use super::extent::Extent;
use super::open_train::OpenTrain;
use super::settings::{AssemblySettings, IncompletePolicy, TrainContent};
use super::sources::TrainSource;
use super::train_numbers::{NumberStep, TrainNumbers};
use evforge_wire::train::{Train, TrainHeader};

/// Checks the content and the number of a whole train of this many bytes.
pub(super) fn judge(
    counters: &mut AssemblyCounters,
    content: TrainContent,
    numbers: Option<&mut TrainNumbers>,
    train: &OpenTrain,
    bytes: usize,
) -> TrainOutcome {
    let TrainContent::Images(images) = content else { return TrainOutcome::Good };
    let number = match Train::parse(&train.buffer.bytes[..bytes], images.image_bytes) {
        Ok(parsed) => parsed.header().train,
        Err(rejection) => return TrainOutcome::WrongContent(rejection),
    };
    let Some(numbers) = numbers else { return TrainOutcome::Good };
    match numbers.judge(train.frame, number) {
        Ok(step) => {
            counters.train_number_gaps += u64::from(step == NumberStep::Gap);
            counters.train_number_restarts += u64::from(step == NumberStep::Restart);
            counters.trains_out_of_order += u64::from(step == NumberStep::OutOfOrder);
            TrainOutcome::Good
        }
        Err(fault) => TrainOutcome::WrongNumber(fault),
    }
}

/// What is known of a train that is closed.
pub(super) fn report(
    settings: &AssemblySettings,
    source: TrainSource,
    train: &OpenTrain,
    extent: &Extent,
    outcome: TrainOutcome,
) -> TrainReport {
    let missing = extent.packets - train.packets;
    let (layout, data_bytes) = (extent.layout.as_ref(), settings.data_bytes);
    let images_touched = match settings.content {
        TrainContent::Images(images) if missing > 0 => {
            let sizes = (TrainHeader::BYTES, images.image_bytes);
            images_touched(&train.buffer, extent.packets, layout, sizes, data_bytes)
        }
        _ => 0,
    };
    TrainReport {
        source,
        frame: train.frame,
        number: train.number(settings.content, data_bytes),
        outcome,
        opened_ns: train.opened_ns,
        last_ns: train.last_ns,
        bytes: extent.bytes,
        packets: train.packets,
        missing,
        is_size_known: extent.is_known,
        has_first: train.has_first(),
        has_last: train.has_last(),
        images: layout.map(|layout| layout.images()),
        images_touched,
    }
}

/// The closed train, with its memory if it is handed on, holes as zeros; and the memory apart from it if it is not.
pub(super) fn closed(
    settings: &AssemblySettings,
    report: TrainReport,
    extent: &Extent,
    mut buffer: TrainBuffer,
    is_handed_on: bool,
) -> (AssembledTrain, Option<TrainBuffer>) {
    let data_bytes = settings.data_bytes;
    let (kept, rest) = if is_handed_on {
        for hole in buffer.presence.gaps(extent.packets) {
            let bytes = hole.start as usize * data_bytes..hole.end as usize * data_bytes;
            buffer.bytes[bytes.start..bytes.end.min(extent.bytes)].fill(0);
        }
        (Some(buffer), None)
    } else {
        (None, Some(buffer))
    };
    let hides_touched = settings.incomplete == IncompletePolicy::Mark;
    (AssembledTrain { report, layout: extent.layout, data_bytes, hides_touched, buffer: kept }, rest)
}
