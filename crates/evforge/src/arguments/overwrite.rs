//! What happens to files that exist already: one rule for everything that commands write.
//!
//! A file that exists is refused before anything starts, and nothing is changed by that. `--overwrite` replaces it. Outputs of
//! a configuration have the key `if_exists` for the same.

use clap::Args;

/// The option of all commands that write files.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct OverwriteArguments {
    /// Replace files that exist (else they are refused at once)
    #[arg(long)]
    pub(crate) overwrite: bool,
}
