//! Which counter a packet and a train goes to.

use super::assembled::{IncompleteCause, TrainOutcome, TrainReport};
use super::counters::AssemblyCounters;
use super::fate::{PacketFate, PacketFault};
use super::settings::IncompletePolicy;
use super::train_numbers::NumberFault;
use evforge_wire::train::TrainRejection;

/// Counts a datagram; one that was used counts with its train.
#[inline]
pub(super) fn packet(counters: &mut AssemblyCounters, fate: PacketFate) {
    match fate {
        PacketFate::Used => {}
        PacketFate::Repeated => counters.packets_repeated += 1,
        PacketFate::Late => counters.packets_late += 1,
        PacketFate::Rejected(fault) => *fault_counter(counters, fault) += 1,
    }
}

/// Counts a train that has been closed, with its packets. True if its bytes are handed on.
pub(super) fn train(
    counters: &mut AssemblyCounters,
    report: &TrainReport,
    incomplete: IncompletePolicy,
) -> bool {
    let is_handed_on = streamed(counters, report, incomplete);
    let is_incomplete = matches!(report.outcome, TrainOutcome::Incomplete(_));
    let packets = match (is_incomplete, is_handed_on) {
        (false, true) => &mut counters.packets_in_good_trains,
        (false, false) => &mut counters.packets_in_rejected_trains,
        (true, true) => &mut counters.packets_in_kept_trains,
        (true, false) => &mut counters.packets_in_dropped_trains,
    };
    *packets += u64::from(report.packets);
    if is_incomplete {
        counters.packets_missing += u64::from(report.missing);
        counters.trains_without_first += u64::from(!report.has_first);
        counters.trains_without_last += u64::from(!report.has_last);
        counters.trains_of_unknown_size += u64::from(!report.is_size_known);
    }
    is_handed_on
}

/// Counts a train that has been closed, and came without packets. True if its bytes are handed on.
pub(super) fn streamed(
    counters: &mut AssemblyCounters,
    report: &TrainReport,
    incomplete: IncompletePolicy,
) -> bool {
    *outcome_counter(counters, report.outcome) += 1;
    if !matches!(report.outcome, TrainOutcome::Incomplete(_)) {
        return report.outcome == TrainOutcome::Good;
    }
    counters.images_touched += report.images_touched;
    let is_kept = incomplete != IncompletePolicy::Drop;
    counters.trains_kept += u64::from(is_kept);
    is_kept
}

fn fault_counter(counters: &mut AssemblyCounters, fault: PacketFault) -> &mut u64 {
    match fault {
        PacketFault::TooShort => &mut counters.packets_too_short,
        PacketFault::Empty => &mut counters.packets_empty,
        PacketFault::TooLong => &mut counters.packets_too_long,
        PacketFault::Cut => &mut counters.packets_cut,
        PacketFault::BeyondLargest => &mut counters.packets_beyond_largest,
        PacketFault::WrongFirst => &mut counters.packets_wrong_first,
        PacketFault::FurtherSource => &mut counters.packets_of_further_sources,
        PacketFault::NoBuffer => &mut counters.packets_without_buffer,
        PacketFault::BeyondLast => &mut counters.packets_beyond_last,
        PacketFault::OtherLast => &mut counters.packets_other_last,
        PacketFault::LastTooLow => &mut counters.packets_last_too_low,
    }
}

fn outcome_counter(counters: &mut AssemblyCounters, outcome: TrainOutcome) -> &mut u64 {
    match outcome {
        TrainOutcome::Good => &mut counters.trains_good,
        TrainOutcome::WrongContent(TrainRejection::TooShort(_)) => &mut counters.trains_too_short,
        TrainOutcome::WrongContent(TrainRejection::WrongBegin(_)) => &mut counters.trains_wrong_begin,
        TrainOutcome::WrongContent(TrainRejection::WrongSize { .. }) => &mut counters.trains_wrong_size,
        TrainOutcome::WrongContent(TrainRejection::WrongEnd(_)) => &mut counters.trains_wrong_end,
        TrainOutcome::WrongNumber(NumberFault::Repeated) => &mut counters.trains_number_repeated,
        TrainOutcome::WrongNumber(NumberFault::Back) => &mut counters.trains_number_back,
        TrainOutcome::WrongNumber(NumberFault::OffStride) => &mut counters.trains_number_off_stride,
        TrainOutcome::WrongNumber(NumberFault::FarAhead) => &mut counters.trains_number_far_ahead,
        TrainOutcome::WrongNumber(NumberFault::NotAnnounced) => &mut counters.trains_number_not_announced,
        TrainOutcome::Incomplete(IncompleteCause::TimeOut) => &mut counters.trains_timed_out,
        TrainOutcome::Incomplete(IncompleteCause::Superseded) => &mut counters.trains_superseded,
        TrainOutcome::Incomplete(IncompleteCause::CutOff) => &mut counters.trains_cut_off,
        TrainOutcome::Incomplete(IncompleteCause::EndOfRun) => &mut counters.trains_ended,
    }
}
