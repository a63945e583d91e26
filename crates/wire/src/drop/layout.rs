//! Where a packet has its identifier and where its payload begins.

use std::fmt;
use std::str::FromStr;

/// Largest header that a layout may have, in bytes.
pub const LARGEST_HEADER: usize = 256;

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The most significant one, as in network headers.
    Big,
    /// The least significant one.
    Little,
}

/// Bytes of the identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentifierWidth {
    /// 16 bits.
    Two,
    /// 32 bits: at 0.64 million packets per second it wraps every 1.9 hours.
    Four,
    /// 64 bits.
    Eight,
}

impl IdentifierWidth {
    /// Its bytes: 2, 4 or 8.
    pub fn bytes(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// Its bits: 16, 32 or 64.
    pub fn bits(self) -> u32 {
        8 * self.bytes() as u32
    }

    /// The largest identifier.
    pub fn largest(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// The header of the packets of a stream.
///
/// As text it is `P1`, `raw64be`, or four values such as `offset=4,width=8,order=little,header=16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropLayout {
    pub(super) offset: usize,
    pub(super) width: IdentifierWidth,
    pub(super) order: ByteOrder,
    pub(super) header: usize,
    /// True if the rest of the header is that of `P1` and is checked.
    pub(super) is_p1: bool,
}

/// A text or a set of values is no layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The identifier reaches beyond the header.
    #[error(
        "an identifier of {width} bytes from byte {offset} on does not lie in a header of {header} bytes: \
         offset + width must be at most the header"
    )]
    Outside {
        /// First byte of the identifier.
        offset: usize,
        /// Bytes of the identifier.
        width: usize,
        /// Bytes of the header.
        header: usize,
    },
    /// The header is longer than [`LARGEST_HEADER`].
    #[error("a header of {0} bytes is too long: at most {LARGEST_HEADER} bytes")]
    TooLong(usize),
    /// The text is no name and not four values.
    #[error(
        "`{0}` is no layout: expected P1, raw64be, or all of offset, width (2, 4 or 8), order (big or \
         little) and header, as in offset=4,width=8,order=little,header=16"
    )]
    Text(String),
}

impl DropLayout {
    /// This project's own header of 16 bytes, see [`DropHeader`](super::DropHeader).
    pub const P1: Self =
        Self { offset: 8, width: IdentifierWidth::Eight, order: ByteOrder::Big, header: 16, is_p1: true };

    /// Nothing but a 64-bit identifier, big-endian.
    pub const RAW64BE: Self =
        Self { offset: 0, width: IdentifierWidth::Eight, order: ByteOrder::Big, header: 8, is_p1: false };

    /// A header of `header` bytes with the identifier at byte `offset`; its other bytes are not looked at.
    ///
    /// # Errors
    /// If the identifier does not lie in the header, or the header is longer than [`LARGEST_HEADER`].
    pub fn new(
        offset: usize,
        width: IdentifierWidth,
        order: ByteOrder,
        header: usize,
    ) -> Result<Self, LayoutError> {
        if header > LARGEST_HEADER {
            return Err(LayoutError::TooLong(header));
        }
        if offset.checked_add(width.bytes()).is_none_or(|end| end > header) {
            return Err(LayoutError::Outside { offset, width: width.bytes(), header });
        }
        Ok(Self { offset, width, order, header, is_p1: false })
    }

    /// Bytes before the payload.
    pub fn header_bytes(&self) -> usize {
        self.header
    }

    /// Width of the identifier.
    pub fn width(&self) -> IdentifierWidth {
        self.width
    }

    /// The identifier of a packet, also if the rest of the packet is of no use; none if it ends before.
    #[inline]
    pub fn identifier(&self, bytes: &[u8]) -> Option<u64> {
        let field = bytes.get(self.offset..)?.get(..self.width.bytes())?;
        let mut wide = [0; 8];
        Some(match self.order {
            ByteOrder::Big => {
                wide[8 - field.len()..].copy_from_slice(field);
                u64::from_be_bytes(wide)
            }
            ByteOrder::Little => {
                wide[..field.len()].copy_from_slice(field);
                u64::from_le_bytes(wide)
            }
        })
    }

    /// Puts the identifier, cut to its width, into a header that is long enough; else does nothing.
    pub(super) fn put_identifier(&self, identifier: u64, header: &mut [u8]) {
        let width = self.width.bytes();
        let Some(field) = header.get_mut(self.offset..self.offset + width) else { return };
        match self.order {
            ByteOrder::Big => field.copy_from_slice(&identifier.to_be_bytes()[8 - width..]),
            ByteOrder::Little => field.copy_from_slice(&identifier.to_le_bytes()[..width]),
        }
    }
}

impl fmt::Display for DropLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::P1 {
            return f.write_str("P1");
        }
        if *self == Self::RAW64BE {
            return f.write_str("raw64be");
        }
        let order = match self.order {
            ByteOrder::Big => "big",
            ByteOrder::Little => "little",
        };
        let width = self.width.bytes();
        write!(f, "offset={},width={width},order={order},header={}", self.offset, self.header)
    }
}

impl FromStr for DropLayout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        match text.trim() {
            name if name.eq_ignore_ascii_case("p1") => return Ok(Self::P1),
            name if name.eq_ignore_ascii_case("raw64be") => return Ok(Self::RAW64BE),
            _ => {}
        }
        let wrong = || LayoutError::Text(text.to_owned());
        let (mut offset, mut width, mut order, mut header) = (None, None, None, None);
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let value = value.trim();
            let number = || value.parse::<usize>().map_err(|_| wrong());
            let repeated = match key.trim() {
                "offset" => offset.replace(number()?).is_some(),
                "header" => header.replace(number()?).is_some(),
                "width" => {
                    let read = match number()? {
                        2 => IdentifierWidth::Two,
                        4 => IdentifierWidth::Four,
                        8 => IdentifierWidth::Eight,
                        _ => return Err(wrong()),
                    };
                    width.replace(read).is_some()
                }
                "order" => {
                    let read = match value {
                        "big" => ByteOrder::Big,
                        "little" => ByteOrder::Little,
                        _ => return Err(wrong()),
                    };
                    order.replace(read).is_some()
                }
                _ => return Err(wrong()),
            };
            if repeated {
                return Err(wrong());
            }
        }
        match (offset, width, order, header) {
            (Some(offset), Some(width), Some(order), Some(header)) => Self::new(offset, width, order, header),
            _ => Err(wrong()),
        }
    }
}
