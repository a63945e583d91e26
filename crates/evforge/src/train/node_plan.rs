//! What the options of `evforge train receive` make of a node.

use super::arrival::Arrival;
use super::receive_arguments::{Incomplete, ReceiveArguments};
use crate::CommandError;
use evforge_config::TimeSpan;
use evforge_net::live_receiver::ReceivePlan;
use evforge_net::socket::ReceiverOptions;
use evforge_net::xdp::XdpOptions;
use evforge_train::assembly::{AssemblySettings, IncompletePolicy, TRAIN_PERIOD, TrainContent};
use evforge_train::node::{ModulePort, NodeSettings, SourcesBy};
use evforge_wire::train::TrainLayout;
use std::net::SocketAddr;

impl ReceiveArguments {
    /// What the node is to do; its modules have the ports that were given.
    pub(super) fn node(&self) -> Result<NodeSettings, CommandError> {
        let detector = self.detector.of_wire();
        let mut assembly = AssemblySettings::new(detector, self.images);
        assembly.data_bytes = usize::try_from(self.packet.bytes)?;
        // A receiver is of one port, or of all of them by AF_XDP. The memory of connections is one for all ports.
        let ports = if self.way.interface.is_some() { self.port.len() } else { 1 };
        let sources = if self.tcp {
            self.port.len() * self.senders.map_or(1, usize::from)
        } else {
            self.senders.map_or(ports, usize::from)
        };
        let (open, waiting) = (usize::from(self.open), usize::from(self.waiting));
        assembly.sources = sources;
        assembly.open_trains_of_source = open;
        assembly.open_trains = open * sources;
        assembly.buffers = (open + waiting) * sources;
        // What TCP sends again may take longer than two trains.
        let usual_time_out = if self.tcp { 20 * TRAIN_PERIOD } else { 2 * TRAIN_PERIOD };
        assembly.time_out = self.time_out.map_or(usual_time_out, TimeSpan::to_std);
        assembly.incomplete = match self.incomplete {
            Incomplete::Drop => IncompletePolicy::Drop,
            Incomplete::Mark => IncompletePolicy::Mark,
            Incomplete::Zero => IncompletePolicy::Zero,
        };
        match (self.packets_per_train, &mut assembly.content) {
            (Some(packets), content) => {
                *content = TrainContent::Packets(packets);
                assembly.largest_train = packets as usize * assembly.data_bytes;
            }
            (None, TrainContent::Images(images)) => {
                images.stride = Some(self.stride).filter(|stride| *stride > 0);
                assembly.largest_train = TrainLayout::of(detector, self.images).total();
                if let Some(size) = self.image_size {
                    (images.image_bytes, images.specific_bytes) = (usize::try_from(size.bytes)?, 0);
                    let largest = TrainLayout::of_size(images.image_bytes, 0, self.images);
                    assembly.largest_train =
                        largest.ok_or("--image-size times --images is beyond what memory can be")?.total();
                }
            }
            (None, TrainContent::Packets(_)) => {}
        }
        Ok(NodeSettings {
            sources_by: if self.senders.is_some() { SourcesBy::Sender } else { SourcesBy::Module },
            cores: self.cores.clone(),
            worker_core: self.worker_core,
            has_profile: !self.no_profile,
            limits: self.end.limits(&self.sent),
            trains: self.trains,
            ..NodeSettings::new(assembly, self.modules(&self.given())?)
        })
    }

    /// The addresses to receive at, as they were given.
    fn given(&self) -> Vec<SocketAddr> {
        self.port.iter().map(|port| SocketAddr::new(self.way.address, *port)).collect()
    }

    /// Where trains come to.
    pub(super) fn arrival(&self) -> Result<Arrival, CommandError> {
        if self.tcp { Ok(Arrival::streams(&self.given())?) } else { Ok(Arrival::packets(&self.plan()?)?) }
    }

    /// The modules, at these addresses.
    pub(super) fn modules(&self, addresses: &[SocketAddr]) -> Result<Vec<ModulePort>, CommandError> {
        let ports = addresses.iter().map(SocketAddr::port);
        let modules =
            ports.zip(u32::from(self.first_module)..).map(|(port, module)| match u8::try_from(module) {
                Ok(module) if module < 100 => Ok(ModulePort { port, module }),
                _ => Err(format!(
                    "the modules go beyond 99: begin with a lower --first-module than {}",
                    self.first_module
                )
                .into()),
            });
        modules.collect()
    }

    /// Refuses more memory than is allowed, before it is taken.
    pub(super) fn check_memory(&self, settings: &NodeSettings) -> Result<(), CommandError> {
        let threads = if self.way.interface.is_some() || self.tcp { 1 } else { self.port.len() };
        let needed = settings.assembly.memory().saturating_mul(threads);
        if needed as u64 > self.memory.bytes {
            return Err(format!(
                "trains of up to {} bytes take {} bytes of memory ({} buffers in {threads} threads), and --memory allows {}: lower \
                 --images, --open or --waiting, or raise --memory",
                settings.assembly.largest_train, needed, settings.assembly.buffers, self.memory.bytes
            )
            .into());
        }
        Ok(())
    }

    fn plan(&self) -> Result<ReceivePlan, CommandError> {
        let (&first, others) = self.port.split_first().ok_or("no --port")?;
        let (address, receive_buffer) =
            (SocketAddr::new(self.way.address, first), usize::try_from(self.buffer.bytes)?);
        let xdp = self
            .way
            .interface
            .as_ref()
            .map(|interface| XdpOptions { receive_buffer, ..XdpOptions::new(interface, address) });
        Ok(ReceivePlan {
            method: self.way.receive.setting(),
            // Any datagram fits.
            socket: ReceiverOptions {
                receive_buffer,
                coalesce: true,
                slot: 65_536,
                ..ReceiverOptions::new(address)
            },
            xdp,
            ports: others.to_vec(),
            sockets_per_port: 1,
        })
    }
}
