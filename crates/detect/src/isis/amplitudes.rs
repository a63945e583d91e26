//! Amplitudes of the channels of all boards, while somebody looks.

use super::boards::Board;
use evforge_core::monitor::{ChannelGroup, MonitorData, MonitorPlan};
use evforge_wire::isis::Message;
use evforge_wire::isis::event::v2::SelfDescribed;
use std::borrow::Borrow;

/// Channels of a board of version 2 whose amplitudes are told apart.
const CHANNELS_V2: usize = 8;
/// Bits of an amplitude that are shown.
const AMPLITUDE_BITS: u32 = 12;

/// Monitor data, and where each board's channels begin.
#[derive(Debug)]
pub struct Amplitudes {
    data: MonitorData,
    /// First channel of each board; none for those without amplitudes.
    first: Vec<Option<usize>>,
}

impl Borrow<MonitorData> for Amplitudes {
    fn borrow(&self) -> &MonitorData {
        &self.data
    }
}

impl Amplitudes {
    /// For these boards. Those that are met later are not shown.
    pub(super) fn of(boards: &[Board]) -> Self {
        let (mut groups, mut first, mut next) = (Vec::new(), Vec::new(), 0);
        for board in boards {
            let channels = match &board.wired {
                Some(wired) => wired.channels(),
                None if board.is_control => 0,
                None => CHANNELS_V2,
            };
            first.push((channels > 0).then_some(next));
            if channels > 0 {
                groups.push(ChannelGroup::new(board.name.clone(), channels));
                next += channels;
            }
        }
        let plan = MonitorPlan {
            groups,
            planes: Vec::new(),
            amplitude_bits: AMPLITUDE_BITS,
            cluster_amplitude_bits: AMPLITUDE_BITS,
        };
        Self { data: MonitorData::new(plan), first }
    }

    /// Takes the amplitudes of a message of board `number`.
    #[cold]
    pub(super) fn watch(&mut self, number: usize, board: &Board, message: &Message<'_>) {
        let Some(first) = self.first.get(number).copied().flatten() else { return };
        for event in message.events() {
            let amplitude = match (&board.wired, &message.header.board) {
                (Some(wired), _) => wired.amplitude(event),
                (None, Some(described)) => {
                    let SelfDescribed { channel, diagnostic, .. } =
                        SelfDescribed::of(u64::from_be_bytes(*event) as u32, described);
                    let amplitude = diagnostic.min((1 << AMPLITUDE_BITS) - 1) as u16;
                    usize::try_from(channel)
                        .ok()
                        .filter(|&channel| channel < CHANNELS_V2)
                        .map(|channel| (channel, amplitude))
                }
                (None, None) => None,
            };
            if let Some((channel, amplitude)) = amplitude {
                self.data.readout(first + channel, amplitude);
            }
        }
    }
}
