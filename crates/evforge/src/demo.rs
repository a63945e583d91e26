//! `evforge demo`: a simulated detector over real UDP on loopback, live in the browser and into a NeXus file.

use crate::CommandError;
use crate::arguments::{IdentityArguments, LogArguments, PageNameArguments};
use crate::control::ControlPorts;
use crate::exit_status::ExitStatus;
use crate::output::{Ending, print, write_file};
use crate::outputs::{IfExists, OutputArguments, OutputPlans};
use crate::run::tell_end;
use crate::signals::stop_on_signals;
use crate::simulate::rate;
use crate::simulated_electronics::{Beam, Electronics, configuration};
use clap::Args;
use evforge_config::{Frequency, TimeSpan};
use evforge_core::endpoint::endpoint;
use evforge_lab::demonstration::mask_json;
use evforge_outputs::Registry;
use evforge_pipeline::report::grouped;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `evforge demo`.
#[derive(Args)]
pub(crate) struct DemoArguments {
    /// A detector (gdgem, multigrid, multiblade, sonde) or any shipped configuration (nmx, trex, freia …)
    #[arg(long, default_value = "gdgem", value_name = "NAME")]
    detector: String,
    /// End after this time (60, 5min); without it, Ctrl-C ends it
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::in_seconds)]
    ends_after: Option<TimeSpan>,
    /// Folder for what the demonstration writes
    #[arg(long, short = 'o', default_value = "demo-output", value_name = "FOLDER")]
    output: PathBuf,
    /// Address of the page
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "HOST:PORT", value_parser = endpoint)]
    view: SocketAddr,
    #[command(flatten)]
    names: PageNameArguments,
    /// Neutrons per second: 20kHz
    #[arg(long, default_value = "20kHz", value_name = "RATE", value_parser = rate)]
    neutrons: Frequency,
    /// Noise hits per second
    #[arg(long, default_value = "1kHz", value_name = "RATE", value_parser = rate)]
    noise: Frequency,
    /// The same seed gives the same neutrons
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    identity: IdentityArguments,
    #[command(flatten)]
    log: LogArguments,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs the command.
pub(crate) fn demo(arguments: &DemoArguments, registry: &Registry) -> Result<ExitStatus, CommandError> {
    let folder = &arguments.output;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
    let mut config = configuration(&arguments.detector, &arguments.overrides)?;
    arguments.log.set_up(&config.log, &config.name, false)?;
    let beam = Beam { seed: arguments.seed, neutrons: arguments.neutrons, noise: Some(arguments.noise) };
    let electronics = Electronics::new(&config, &beam, arguments.ends_after.map(TimeSpan::to_std))?;
    let targets = OutputArguments {
        nexus: Some(folder.join("demo.nxs")),
        if_exists: Some(IfExists::Overwrite),
        view: Some(arguments.view),
        view_names: arguments.names.view_names.clone(),
        view_origins: arguments.names.view_origins.clone(),
        report: Some(folder.join("demo-report.json")),
        image: Some(folder.join("demo-image.png")),
        ..OutputArguments::default()
    };
    targets.apply(&mut config);
    arguments.identity.apply(&mut config)?;
    let ports = ControlPorts::open(&config, Vec::new())?;
    let stop = stop_on_signals()?;
    let plans = OutputPlans::read(&targets, &config, registry)?;
    let mut outputs = plans.open(&config, Some(ports.access()), &stop)?;
    let mask = serde_json::to_vec(&mask_json(&electronics.simulation))?;
    write_file("the mask", &folder.join("demo-mask.json"), &mask)?;
    if let Some(page) = outputs.page(&std::io::stdout()) {
        print(&format!(
            "A simulated detector ({}), over UDP on this machine.\n\
             Look at it:  {page}\n\
             Events go to {}; end it with Ctrl-C.\n",
            config.name,
            folder.join("demo.nxs").display()
        ))?;
    }
    // Who ends the run ends the electronics.
    let (control, _service) = ports.serve(&config, &outputs, &stop)?;
    let (report, sent) = electronics.send_to_a_run(&config, control, &mut outputs, &stop)?;
    let mut ending = Ending::default();
    outputs.finish(&report, &mut ending);
    tell_end(&config.name, &report);
    ending.print(&report.to_text());
    let sent = sent?;
    ending.print(&format!(
        "\nsimulated     {} neutrons; the electronics have sent {} packets\nin {}     {}\n",
        grouped(sent.neutrons),
        grouped(sent.report.packets),
        folder.display(),
        "demo.nxs (NeXus), demo-image.png, demo-report.json, demo-mask.json (the picture in the beam)"
    ));
    Ok(ExitStatus::from(report.verdict()).and(ExitStatus::of(ending.is_good())))
}
