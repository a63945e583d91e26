//! Which settings are refused, and what they need.

use super::boards::listed;
use super::settings::{
    BoardSettings, IsisSettings, MILLISECOND, MOST_BOARDS, MOST_OPEN_FRAMES, PIECE, PixelSettings,
};
use super::wiring::LARGEST_ID;
use crate::settings::SettingsError;
use evforge_core::frame::MOST_FRAME_VETOES;
use evforge_wire::isis::Format;
use std::net::IpAddr;

impl IsisSettings {
    /// Boards for which there is room: those that are listed, and others up to `max_boards`.
    pub fn board_room(&self) -> usize {
        let listed = listed(self).count();
        listed.max(self.max_boards)
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (table, ticks) in [("tick", self.tick), ("tick_v2", self.tick_v2)] {
            for (key, tick) in [("wlsf", ticks.wlsf), ("madc", ticks.madc), ("lvds", ticks.lvds)] {
                if !(1000..=1_000_000_000).contains(&tick) || !tick.is_multiple_of(1000) {
                    let problem = "must be whole nanoseconds, from 1ns to 1ms";
                    return SettingsError::refuse(format!("{table}.{key}"), problem);
                }
            }
        }
        let unit = self.frame_sync_delay_unit;
        if !(1000..=1_000_000_000).contains(&unit) || !unit.is_multiple_of(1000) {
            return SettingsError::refuse(
                "frame_sync_delay_unit",
                "must be whole nanoseconds, from 1ns to 1ms",
            );
        }
        if !(1..=MOST_BOARDS).contains(&self.max_boards) {
            let problem = format!("found {}, expected 1 to {MOST_BOARDS}", self.max_boards);
            return SettingsError::refuse("max_boards", problem);
        }
        let listed = listed(self).count();
        if listed > MOST_BOARDS {
            let problem = format!("found {listed} boards, expected at most {MOST_BOARDS}");
            return SettingsError::refuse("wiring", problem);
        }
        if self.format == Format::V1 && self.rows.is_empty() {
            let problem =
                "is needed: the events of version 1 do not say what they mean. Give the wiring table";
            return SettingsError::refuse("wiring", problem);
        }
        if let Some(control) = self.control_board
            && let Some(row) = self.rows.iter().find(|row| IpAddr::V4(row.address) == control)
        {
            let problem =
                format!("found {control}, which is the address of {} in the wiring table", row.board);
            return SettingsError::refuse("control_board", problem);
        }
        for (number, board) in self.boards.iter().enumerate() {
            let same = |other: &&BoardSettings| {
                (other.source, other.pcb, other.address) == (board.source, board.pcb, board.address)
            };
            if let Some(other) = self.boards[..number].iter().find(same) {
                let problem = format!("is {} once more: same source, pcb and address", other.name);
                return SettingsError::refuse(format!("board[{}]", number + 1), problem);
            }
        }
        let PixelSettings { first_id, nx, ny } = self.pixels;
        let fits = nx
            .checked_mul(ny)
            .and_then(|pixels| first_id.checked_add(pixels))
            .is_some_and(|end| end <= LARGEST_ID);
        if nx == 0 || ny == 0 || !fits {
            return SettingsError::refuse(
                "pixels",
                "nx and ny must be at least 1, and ids at most 2147483647",
            );
        }
        for (number, veto) in self.vetoes.iter().enumerate() {
            let key = format!("veto[{}].bit", number + 1);
            if usize::from(veto.bit) >= MOST_FRAME_VETOES {
                return SettingsError::refuse(key, format!("found {}, expected 0 to 31", veto.bit));
            }
            if self.vetoes[..number].iter().any(|other| other.bit == veto.bit) {
                return SettingsError::refuse(key, format!("found {} once more", veto.bit));
            }
        }
        self.check_frames()?;
        self.layout().map(|_| ())
    }

    fn check_frames(&self) -> Result<(), SettingsError> {
        let frames = &self.frames;
        let refuse = |key: &str, problem: String| SettingsError::refuse(format!("frames.{key}"), problem);
        if frames.tolerance > MILLISECOND {
            return refuse("tolerance", "must be at most 1ms: frames follow one another within 10 ms".into());
        }
        let most = 1_000_000 * MILLISECOND;
        for (key, value) in [("window", frames.window), ("lag", frames.lag), ("restart", frames.restart)] {
            if value > most {
                return refuse(key, "must be at most 1000s".into());
            }
        }
        if frames.lag <= frames.window.max(frames.tolerance) {
            return refuse("lag", "must be longer than frames.window and frames.tolerance".into());
        }
        if !(frames.window.max(frames.tolerance)..=most).contains(&frames.forward_jump) {
            return refuse("forward_jump", "must be at least frames.window, and at most 1000s".into());
        }
        if frames.restart <= frames.window.max(frames.tolerance) {
            return refuse("restart", "must be longer than frames.window and frames.tolerance".into());
        }
        if !(2..=MOST_OPEN_FRAMES).contains(&frames.max_open) {
            return refuse(
                "max_open",
                format!("found {}, expected 2 to {MOST_OPEN_FRAMES}", frames.max_open),
            );
        }
        // Each open frame may have a piece of memory that is hardly used.
        let least = (frames.max_open + 4) * PIECE;
        if !(least..=1 << 30).contains(&frames.max_held_events) {
            let problem = format!(
                "found {}, expected {least} (frames.max_open and 4 more, {PIECE} events each) to 2^30",
                frames.max_held_events
            );
            return refuse("max_held_events", problem);
        }
        Ok(())
    }
}
