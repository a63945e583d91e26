//! The former names of [`evforge_net::losses`], where the breakdown of losses is now.

pub use evforge_net::losses::{
    LocatedLoss as PlacedLoss, LossBreakdown as LossPlaces, LossCounts, LossLocation as LossPlace, PIECE,
};
