//! `evforge measure agent` and `evforge measure at`: a sender on another host.

use crate::CommandError;
use crate::exit_status::ExitStatus;
use crate::own_folder;
use crate::signals::stop_on_signals;
use clap::Args;
use evforge_control::token::Token;
use evforge_core::endpoint::endpoint;
use evforge_lab::remote_host::{Agent, run_at};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `evforge measure agent`.
#[derive(Args)]
pub(super) struct AgentArguments {
    /// Listen at this address
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint, default_value = "127.0.0.1:9700")]
    listen: SocketAddr,
    /// File with the token that whoever measures must have, too: openssl rand -hex 32 > FILE, chmod 600 FILE
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
}

/// Arguments of `evforge measure at`.
#[derive(Args)]
pub(super) struct AtArguments {
    /// Address of the agent
    #[arg(value_name = "HOST:PORT", value_parser = endpoint)]
    agent: SocketAddr,
    /// File with the token of the agent
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// Arguments of evforge there
    #[arg(last = true, required = true)]
    arguments: Vec<String>,
}

/// Starts senders for whoever knows the token, until it is ended.
pub(super) fn agent(arguments: &AgentArguments) -> Result<ExitStatus, CommandError> {
    let token = Token::read(&arguments.token_file)?;
    let stop = stop_on_signals()?;
    let folder = own_folder::make_in(&std::env::temp_dir(), "agent")?;
    let is_token = |given: &[u8]| token.is(given);
    let agent = Agent::listen(arguments.listen, &std::env::current_exe()?, folder.path(), &is_token)?;
    eprintln!("agent for measurements at {}; Ctrl-C ends it", agent.address());
    let (address, port) = (agent.address(), agent.address().port());
    if !address.ip().to_canonical().is_loopback() {
        eprintln!(
            "warning: whoever reaches {address} may ask, and the token goes over the network unencrypted. With \
             --listen 127.0.0.1:{port} only this host may, and others by a tunnel: ssh -L {port}:127.0.0.1:{port} HOST."
        );
    }
    agent.serve(&stop, &|line| eprintln!("{line}"));
    Ok(ExitStatus::Good)
}

/// Has an agent start evforge, and ends as it does.
pub(super) fn at(arguments: &AtArguments) -> Result<ExitStatus, CommandError> {
    let token = Token::read(&arguments.token_file)?;
    let (status, said) = run_at(arguments.agent, token.reveal(), &arguments.arguments)?;
    eprint!("{said}");
    Ok(ExitStatus::of_number(status))
}
