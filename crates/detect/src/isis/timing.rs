//! What the times of a message mean.

use super::boards::Board;
use super::decode::Timing;
use super::settings::{IsisSettings, Ticks};
use super::wiring::BoardType;
use evforge_wire::isis::{Header, Version};
use pulp::Arch;

/// By the type of its board, and by the frame sync delay that it has.
pub(super) fn timing(arch: Arch, settings: &IsisSettings, board: &Board, header: &Header) -> Timing {
    let Ticks { wlsf, madc, lvds } = settings.ticks(header.version);
    let tick = match (header.version, board.wired.map(|wired| wired.board_type()), header.pcb) {
        (Version::V1, Some(BoardType::MadcPosition | BoardType::MadcHeight), _) | (Version::V2, _, 3544) => {
            madc
        }
        (Version::V1, Some(BoardType::Lvds), _) | (Version::V2, _, 3634) => lvds,
        _ => wlsf,
    };
    let delay_ns = u64::from(header.frame_sync_delay) * (settings.frame_sync_delay_unit / 1000);
    Timing { arch, tick_ns: (tick / 1000) as u32, delay_ns }
}
