//! Detectors that send trains.

/// A detector, as one module sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrainDetector {
    /// LPD: 256 × 256 pixels.
    Lpd,
    /// AGIPD: 512 × 128 pixels, each with its amplitude and its gain.
    Agipd,
    /// DSSC: 128 × 512 pixels, a ladder.
    Dssc,
}

impl TrainDetector {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Lpd, Self::Agipd, Self::Dssc];
    /// Bytes of a pixel's value.
    pub const VALUE_BYTES: usize = 2;

    /// Its name, as in names of files: `LPD`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lpd => "LPD",
            Self::Agipd => "AGIPD",
            Self::Dssc => "DSSC",
        }
    }

    /// Values of an image: how many of each pixel, rows, columns; as EXtra-data has them.
    pub const fn shape(self) -> [usize; 3] {
        match self {
            Self::Lpd => [1, 256, 256],
            Self::Agipd => [2, 512, 128],
            Self::Dssc => [1, 128, 512],
        }
    }

    /// Bytes of an image.
    pub const fn image_bytes(self) -> usize {
        let [values, rows, columns] = self.shape();
        values * rows * columns * Self::VALUE_BYTES
    }

    /// Bytes of the detector's own block in today's files.
    pub const fn specific_bytes(self) -> usize {
        match self {
            Self::Lpd | Self::Dssc => 416,
            Self::Agipd => 5408,
        }
    }
}
