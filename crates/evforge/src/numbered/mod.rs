//! `evforge send` and `evforge receive`: numbered packets, and what happened to them; or the same link by TCP.

mod receive;
mod send;
mod tcp;
mod text;

pub(crate) use receive::ReceiveArguments;
pub(crate) use send::SendArguments;

use crate::CommandError;
use crate::exit_status::ExitStatus;

/// Runs `evforge send`.
pub(crate) fn send(arguments: &SendArguments) -> Result<ExitStatus, CommandError> {
    arguments.check_files()?;
    if arguments.tcp { tcp::send(arguments) } else { send::send(arguments) }
}

/// Runs `evforge receive`.
pub(crate) fn receive(arguments: &ReceiveArguments) -> Result<ExitStatus, CommandError> {
    arguments.check_files()?;
    arguments.set_up_log()?;
    if arguments.tcp { tcp::receive(arguments) } else { receive::receive(arguments) }
}
