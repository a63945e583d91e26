//! What is sent to whom.

use evforge_core::quantity::Rate;
use evforge_train::generate::Fault;
use evforge_wire::train::TrainLayout;
use std::time::Duration;

/// Trains of a sender that may be open at a receiver, and further ones there is memory for.
pub(super) const OPEN: u64 = 2;
pub(super) const WAITING: u64 = 1;
/// Packets that a pair begins with, which are told apart: those of the slides' warm-up are tens to hundreds.
const WARM_UP: u64 = 1000;
/// Trains of a pair that a receiver looks at packet by packet.
const FIRST_TRAINS: u64 = 64;

/// What is sent to whom.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainsPlan {
    /// Senders, each a program with one module.
    pub senders: u16,
    /// Receivers, each a program with one port.
    pub receivers: u16,
    /// Images in a train.
    pub images: u32,
    /// Bytes of an image.
    pub image_bytes: u64,
    /// Bytes of a train in each packet but its last.
    pub data_bytes: u64,
    /// Trains are cut off behind this many packets, as in the slides; none sends all of them.
    pub packets_per_train: Option<u32>,
    /// Trains of each sender to each receiver.
    pub trains: u64,
    /// Rate of each sender within a train.
    pub rate: Rate,
    /// Between the end of a train and the beginning of the next one of the same sender.
    pub pause: Duration,
    /// What falls due within this time is sent together.
    pub burst: Duration,
    /// Receive buffer of each receiver, in bytes.
    pub buffer: u64,
    /// Cores of the senders in turn; none leaves them to the system.
    pub sender_cores: Vec<usize>,
    /// Cores of the receiving threads in turn; none leaves them to the system.
    pub receiver_cores: Vec<usize>,
    /// Faults that are provoked.
    pub faults: Vec<Fault>,
    /// The sender that they are provoked at.
    pub faulty_sender: u16,
}

impl TrainsPlan {
    /// Trains that a sender makes: as many for each receiver.
    pub fn trains_of_sender(&self) -> u64 {
        self.trains.saturating_mul(self.receivers.into())
    }

    /// Packets of a train; none if a train is larger than memory can be, or has no packets.
    pub fn packets_of_train(&self) -> Option<u64> {
        let layout = TrainLayout::of_size(usize::try_from(self.image_bytes).ok()?, 0, self.images)?;
        let packets =
            layout.packets(usize::try_from(self.data_bytes).ok().filter(|bytes| *bytes > 0)?) as u64;
        let packets = self.packets_per_train.map_or(packets, |most| packets.min(most.into()));
        (packets > 0).then_some(packets)
    }

    /// Packets that each pair begins with, which are told apart: 1000, fewer if that is more than 64 trains, or all there are.
    pub fn warm_up(&self) -> u64 {
        let packets = self.packets_of_train().unwrap_or(0);
        WARM_UP.min(packets.saturating_mul(FIRST_TRAINS.min(self.trains)))
    }

    /// Bytes of memory for trains of all receivers together.
    pub fn memory(&self) -> u64 {
        self.memory_of_receiver().saturating_mul(self.receivers.into())
    }

    /// The same of one receiver, with some room for what else is kept of a train.
    pub(super) fn memory_of_receiver(&self) -> u64 {
        let train = self.packets_of_train().unwrap_or(0).saturating_mul(self.data_bytes);
        let buffers = (OPEN + WAITING).saturating_mul(self.senders.into());
        train.saturating_add(train / 64).saturating_add(1 << 20).saturating_mul(buffers)
    }

    /// How long a sender takes, if it is as fast as it is to be.
    pub fn duration(&self) -> Duration {
        let packets = self.packets_of_train().unwrap_or(0) as f64;
        let train = match self.rate {
            Rate::Packets(rate) => packets / rate.max(1) as f64,
            Rate::Bits(rate) => packets * 8.0 * (self.data_bytes + 8) as f64 / rate.max(1) as f64,
        };
        let all = self.trains_of_sender() as f64 * (train + self.pause.as_secs_f64());
        Duration::try_from_secs_f64(all).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// 2 senders, 2 receivers, trains of 17 packets.
    pub(in crate::measured_trains) fn plan() -> TrainsPlan {
        TrainsPlan {
            senders: 2,
            receivers: 2,
            images: 1,
            image_bytes: 131_072,
            data_bytes: 8184,
            packets_per_train: None,
            trains: 3,
            rate: Rate::Packets(1700),
            pause: Duration::from_millis(10),
            burst: Duration::ZERO,
            buffer: 1 << 20,
            sender_cores: Vec::new(),
            receiver_cores: Vec::new(),
            faults: Vec::new(),
            faulty_sender: 0,
        }
    }

    #[test]
    fn a_plan_knows_its_packets_its_memory_and_its_time() {
        let plan = plan();
        assert_eq!((plan.packets_of_train(), plan.trains_of_sender(), plan.warm_up()), (Some(17), 6, 51));
        assert_eq!(plan.duration(), Duration::from_millis(120));
        assert!(plan.memory() > 2 * 6 * 131_072);
        // The slides: 131 030 packets of 8 KiB.
        let slides = TrainsPlan {
            images: 512,
            image_bytes: 2 << 20,
            data_bytes: 8192,
            packets_per_train: Some(131_030),
            ..plan
        };
        assert_eq!((slides.packets_of_train(), slides.warm_up()), (Some(131_030), 1000));
        let none = TrainsPlan { data_bytes: 0, ..slides };
        assert_eq!(none.packets_of_train(), None);
    }
}
