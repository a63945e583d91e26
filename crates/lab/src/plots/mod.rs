//! Plots of the documents, as SVG, drawn from figures that are kept in small files beside them.
//!
//! | you look for | it is in |
//! |---|---|
//! | the figures that a plot of accuracy shows, and their file | [`figures`] |
//! | efficiency and ghosts against the rate, and residuals | [`accuracy`] |
//! | axes, marks and keys, which the plots of `evforge measure` have as well | [`chart`] |
//!
//! `make plots` draws the plots of `docs/pictures` again; `make accuracy` makes their figures. Keys are
//! above the data, never on them; every axis says what it shows and in which unit. Colours are those of Okabe and Ito,
//! which the colour-blind can tell apart, and no two curves of a panel differ by colour alone.

pub mod accuracy;
pub mod chart;
pub mod figures;
mod ghosts;
mod rates;
mod residuals;
