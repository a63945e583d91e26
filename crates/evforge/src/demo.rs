//! `evforge demo`: a simulated Gd-GEM over real UDP on loopback, live in the browser and into a NeXus file.

use crate::CommandError;
use crate::output::{print, write_file};
use crate::outputs::{IfExists, OutputArguments, Outputs};
use crate::replay::send_all;
use crate::run::{Observer, stop_on_signals};
use clap::Args;
use evforge_core::packet::PacketSlab;
use evforge_net::pace::Pace;
use evforge_net::socket::{SendReport, SenderOptions, UdpSender};
use evforge_pipeline::config::{Config, DetectorSettings, Duration};
use evforge_pipeline::live_run::LiveRun;
use evforge_pipeline::report::grouped;
use evforge_sim::gdgem_old::{GdGemSimulation, GdGemSimulationOptions};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

/// The instrument of the demonstration, part of the program.
const CONFIG: &str = include_str!("../../../configs/gdgem-srs.toml");

/// Arguments of `evforge demo`.
#[derive(Args)]
pub(crate) struct DemoArguments {
    /// End after so long (60s); without it, Ctrl-C ends it
    #[arg(long = "for", value_name = "TIME")]
    ends_after: Option<Duration>,
    /// Folder for what the demonstration writes
    #[arg(long, default_value = "demo-output", value_name = "FOLDER")]
    output: PathBuf,
    /// Address of the page
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    view: SocketAddr,
    /// Neutrons per second
    #[arg(long, default_value_t = 20_000.0)]
    neutrons: f64,
    /// Noise hits per second
    #[arg(long, default_value_t = 5_000.0)]
    noise: f64,
    /// The same seed gives the same neutrons
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Override a key of the configuration; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// What the simulated electronics have sent.
struct Sent {
    report: SendReport,
    neutrons: u64,
}

/// Runs the command.
pub(crate) fn demo(arguments: &DemoArguments) -> Result<bool, CommandError> {
    let folder = &arguments.output;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
    let mut overrides = vec!["receive.address=127.0.0.1:0".to_owned()];
    overrides.extend(arguments.overrides.iter().cloned());
    let config = Config::parse(Path::new("configs/gdgem-srs.toml"), CONFIG, &overrides)?;
    let DetectorSettings::GdGem(settings) = &config.detector else {
        return Err("the demonstration is a Gd-GEM".to_owned().into());
    };
    let simulation = GdGemSimulation::new(
        settings,
        GdGemSimulationOptions {
            neutrons_per_second: arguments.neutrons,
            noise_per_second: arguments.noise,
            seed: arguments.seed,
            ..GdGemSimulationOptions::default()
        },
    )?;
    write_mask(&simulation, settings.geometry.nx(), &folder.join("demo-mask.json"))?;
    let targets = OutputArguments {
        events: None,
        nexus: Some(folder.join("demo.nxs")),
        if_exists: IfExists::Overwrite,
        view: Some(arguments.view),
        report: Some(folder.join("demo-report.json")),
        image: Some(folder.join("demo-image.png")),
        monitor: None,
        samples: None,
    };
    let mut outputs = Outputs::open(&targets, &config, None)?;
    if let Some(view) = outputs.view() {
        print(&format!(
            "A simulated Gd-GEM detector, over UDP on this machine.\n\
             Look at it:  http://{}\n\
             Events go to {}; end it with Ctrl-C.\n",
            view.address(),
            folder.join("demo.nxs").display()
        ))?;
    }
    let stop = stop_on_signals()?;
    // The electronics stop first, then the receiver, so that nothing is under way at the end.
    let all_sent = AtomicBool::new(false);
    let run = LiveRun {
        monitor: outputs.monitor.clone(),
        config: &config,
        sinks: std::mem::take(&mut outputs.sinks),
        samples: None,
        stop: &all_sent,
        ends_after: None,
        idle_limit: None,
    };
    let (tell, told) = channel();
    let ends_after = arguments.ends_after.map(Duration::to_std);
    let (report, sent) = std::thread::scope(|scope| {
        let (all_sent, stop) = (&all_sent, &stop);
        let electronics = scope.spawn(move || {
            let sent = told
                .recv()
                .map_err(|error| error.to_string())
                .and_then(|address| send_pulses(simulation, address, stop, ends_after));
            all_sent.store(true, Ordering::Relaxed);
            sent
        });
        let mut observer = Observer::new(&outputs, false, |address| {
            // Nobody listens any more only if the electronics have failed, which is told below.
            let _ = tell.send(address);
        });
        let report = run.run(&mut observer);
        observer.line.finish();
        drop(tell);
        (report, electronics.join())
    });
    let report = report?;
    let sent = match sent {
        Ok(sent) => sent?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    outputs.finish(&targets, &report)?;
    print(&report.to_text())?;
    print(&format!(
        "\nsimulated     {} neutrons; the electronics have sent {} packets\nin {}     {}\n",
        grouped(sent.neutrons),
        grouped(sent.report.packets),
        folder.display(),
        "demo.nxs (NeXus), demo-image.png, demo-report.json, demo-mask.json (the picture in the beam)"
    ))?;
    Ok(report.is_success())
}

/// Simulates pulse after pulse and sends the packets when they are due.
fn send_pulses(
    mut simulation: GdGemSimulation,
    address: SocketAddr,
    stop: &AtomicBool,
    ends_after: Option<std::time::Duration>,
) -> Result<Sent, String> {
    let started = Instant::now();
    let options = SenderOptions { pace: Pace::OwnTiming { speed: 1.0 }, ..SenderOptions::new(address) };
    let mut sender = UdpSender::open(&options).map_err(|error| error.to_string())?;
    let mut slab = PacketSlab::new(1 << 14, 64 << 20);
    let mut neutrons = 0;
    while !stop.load(Ordering::Relaxed) && ends_after.is_none_or(|limit| started.elapsed() < limit) {
        let pulse = simulation.next_pulse();
        neutrons += pulse.truth.len() as u64;
        slab.clear();
        for packet in &pulse.packets {
            if !slab.push(&packet.bytes, packet.bytes.len(), packet.origin) {
                return Err("a pulse has more packets than can be sent at once: lower --neutrons".into());
            }
        }
        send_all(&mut sender, &slab, stop).map_err(|error| error.to_string())?;
    }
    Ok(Sent { report: sender.report(), neutrons })
}

/// Writes the picture in the beam, row 0 at y = 0, for whoever wants to compare.
fn write_mask(simulation: &GdGemSimulation, nx: u32, path: &Path) -> Result<(), CommandError> {
    let values = simulation.mask().intensities();
    let ny = values.len() as u32 / nx;
    let json = serde_json::json!({ "nx": nx, "ny": ny, "values": values });
    write_file("the mask", path, &serde_json::to_vec(&json)?)
}
