//! Whether the checks of the laboratory see what is wrong: faults, parameters, numbered packets; and the plots of what they found.

mod drop_verification;
mod injected_faults;
mod numbered;
mod plots;
mod resolvable;
mod wrong_parameters;
