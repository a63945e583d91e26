//! Where the copies of a recording's groups go: how far each is moved in time and in coordinate.

use super::format::Shift;
pub use super::options::CopyShift;
use super::options::OverlayOptions;
use super::recording::{Group, Recording};
use crate::random::{Stream, stream};
use rand::RngExt;

/// One copy of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The group.
    pub group: u32,
    /// Steps by which it is moved.
    pub steps: i64,
    /// Coordinates by which it is moved.
    pub by: Shift,
}

/// How the time of the capture is laid out again, and how far each copy is moved.
///
/// A group at *t* after the first step of the capture goes to (*t* × stretch + shift of the copy) modulo the stretched
/// length of the capture: every copy fills the same time, and the rate is the same everywhere. All moves are whole
/// *strides*: the least number of steps that are whole nanoseconds, so that the times of events, which are cut to
/// nanoseconds, move exactly as well.
///
/// Each copy but the first can be moved on the detector as well, by a random number of coordinates on each plane; what
/// leaves a plane at one side comes in again at the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyLayout {
    stretch: u64,
    stride: u64,
    strides: u64,
    extents: [u16; 2],
    moves: Vec<Move>,
}

/// How far a copy is moved: in steps, and in coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    start: u64,
    by: [u16; 2],
}

impl CopyLayout {
    /// A layout of `copies` copies; with `extents`, they are moved on the detector too. None if the stretched capture
    /// is longer than 64-bit times.
    pub fn new<C: Copy>(
        recording: &Recording<C>,
        options: &OverlayOptions,
        extents: Option<[u16; 2]>,
    ) -> Option<Self> {
        let stride = 1000 / greatest_common_divisor(recording.step_ps, 1000);
        let stretch = u64::from(options.stretch.max(1));
        let silence = recording.silence_ps.div_ceil(recording.step_ps);
        let length = recording.steps.checked_mul(stretch)?.checked_add(silence)?;
        let strides = length.div_ceil(stride).max(1);
        // Room for the clock to go on from where the capture began.
        let end = recording.first_step.checked_add(strides.checked_mul(2 * stride)?)?;
        i64::try_from(end).ok()?;
        let of_copy = |copy: u64| {
            let mut random = stream(options.seed, Stream::Copy(copy));
            let start = match options.shift {
                CopyShift::Random => random.random_range(0..strides),
                CopyShift::Every(ps) => {
                    let steps = u128::from(ps) * u128::from(copy) / u128::from(recording.step_ps * stride);
                    (steps % u128::from(strides)) as u64
                }
            };
            let by =
                extents.map_or([0; 2], |extents| extents.map(|extent| random.random_range(0..extent.max(1))));
            Move { start: start * stride, by }
        };
        let first = Move { start: 0, by: [0; 2] };
        let moves = (0..u64::from(options.copies)).map(|copy| if copy == 0 { first } else { of_copy(copy) });
        Some(Self { stretch, stride, strides, extents: extents.unwrap_or_default(), moves: moves.collect() })
    }

    /// Steps that each copy fills.
    pub fn length(&self) -> u64 {
        self.strides * self.stride
    }

    /// By how many steps a copy moves what is this many steps after the beginning of the capture.
    fn steps(&self, copy: &Move, offset: u64) -> i64 {
        let stretched = offset * (self.stretch - 1) / self.stride * self.stride;
        let moved = stretched + copy.start;
        let turned = if offset + moved >= self.length() { self.length() } else { 0 };
        moved as i64 - turned as i64
    }

    /// The copies of all groups that `takes` lets in, and how many were left out: those that would be torn in two at the
    /// end of a plane, and those that `fits` refuses.
    pub fn placements<C: Copy>(
        &self,
        recording: &Recording<C>,
        takes: impl Fn(&Group) -> bool,
        fits: impl Fn(&Group, Shift) -> bool,
    ) -> (Vec<Placement>, u64) {
        let (mut placed, mut left_out) = (Vec::new(), 0);
        for copy in &self.moves {
            for (group, number) in recording.groups.iter().zip(0..).filter(|(group, _)| takes(group)) {
                let steps = self.steps(copy, group.first_step - recording.first_step);
                match turned(group, copy.by, self.extents) {
                    Some(by) if by == [0; 2] || fits(group, by) => {
                        placed.push(Placement { group: number, steps, by });
                    }
                    _ => left_out += 1,
                }
            }
        }
        (placed, left_out)
    }
}

/// By how much the coordinates of a group change if its planes are turned by this many, or none if it would be torn.
fn turned(group: &Group, by: [u16; 2], extents: [u16; 2]) -> Option<Shift> {
    let mut shift = [0; 2];
    for (plane, shift) in shift.iter_mut().enumerate().filter(|(plane, _)| by[*plane] > 0) {
        let Some((low, high)) = group.coordinates[plane] else { continue };
        let [low, high, by, extent] = [low, high, by[plane], extents[plane]].map(i32::from);
        *shift = match (low + by >= extent, high + by >= extent) {
            (false, false) => by,
            (true, true) => by - extent,
            _ => return None,
        };
    }
    Some(shift)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
