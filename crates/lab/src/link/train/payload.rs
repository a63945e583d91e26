//! The packets of one module, each into the slab of its node.

use crate::link::error::LinkSendError;
use crate::link::send::LinkPayload;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_core::quantity::Rate;
use evforge_train::generate::{
    FaultPlan, ImageContent, RoundRobin, SendProfile, SentCounters, TrainBegin, TrainSequence, TrainSource,
    TrainStructure,
};
use std::sync::Arc;

/// What a module sends.
#[derive(Clone, Debug)]
pub struct PayloadSettings {
    /// What its trains are like.
    pub structure: TrainStructure,
    /// What is in its images.
    pub content: ImageContent,
    /// Trains to send; none goes on without end.
    pub trains: Option<u64>,
    /// When trains begin.
    pub begin: TrainBegin,
    /// Rate of the packets of a train, or of its UDP payload bits; none sends them as fast as possible from its beginning on.
    pub rate: Option<Rate>,
    /// Faults to make.
    pub faults: FaultPlan,
}

/// Makes the packets of one module, without a network and without a clock.
#[derive(Clone, Debug)]
pub struct TrainPayload {
    sequence: TrainSequence,
    profile: SendProfile,
    nodes: RoundRobin,
    /// When the packet made last was due.
    latest: u64,
}

impl TrainPayload {
    /// The packets of the module with this number, whose trains are dealt to so many nodes (at least 1).
    ///
    /// # Errors
    /// If structure, content, rate or pause are impossible.
    pub fn new(settings: PayloadSettings, module: u64, nodes: u64) -> Result<Self, LinkSendError> {
        let source = TrainSource::new(settings.structure, settings.content)?;
        let profile =
            SendProfile::new(settings.begin, settings.rate, source.packets(), source.largest_datagram())?;
        let sequence = TrainSequence::new(Arc::new(source), settings.faults, settings.trains);
        Ok(Self { sequence, profile, nodes: RoundRobin { builder: module, nodes }, latest: 0 })
    }

    /// What the trains are made of.
    pub fn source(&self) -> &TrainSource {
        self.sequence.source()
    }

    /// What was made so far, and which faults.
    pub fn counts(&self) -> SentCounters {
        self.sequence.counts()
    }

    /// True if the packets of a train take longer than there is until the next one.
    pub fn is_too_slow(&self) -> bool {
        self.profile.is_too_slow()
    }
}

impl LinkPayload for TrainPayload {
    fn due_ns(&self) -> Option<u64> {
        let turn = self.sequence.next_turn()?;
        // A train may begin before the one before it is over: its packets are late then, and not out of order.
        Some(self.profile.due_ns(turn.train, turn.packet).max(self.latest))
    }

    /// The packets have no stamp.
    fn make(&mut self, _: u64, slabs: &mut [PacketSlab]) -> bool {
        let (Some(due), Some(index)) = (self.due_ns(), self.sequence.next_train()) else { return true };
        let node = self.nodes.node(self.sequence.source().structure().train(index));
        // There is a slab for each node.
        let Some(slab) = usize::try_from(node).ok().and_then(|node| slabs.get_mut(node)) else {
            return false;
        };
        if !slab.has_room_for(self.largest()) {
            return false;
        }
        self.latest = due;
        let mut space = slab.space();
        let Some(sent) = self.sequence.write_next(space.memory()) else { return false };
        space.add(0, sent.bytes, sent.bytes, PacketOrigin::default())
    }

    /// No packet is held back behind the last one.
    fn finish(&mut self, _: &mut [PacketSlab]) -> bool {
        true
    }

    fn largest(&self) -> usize {
        self.sequence.source().largest_datagram()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_train::generate::{FaultRates, TRAIN_FREQUENCY};
    use evforge_wire::train::TrainPacket;

    fn settings(trains: u64) -> PayloadSettings {
        PayloadSettings {
            structure: TrainStructure {
                data_bytes: 200,
                first_train: 10,
                ..TrainStructure::of_size(1000, 2)
            },
            content: ImageContent::Counter,
            trains: Some(trains),
            begin: TrainBegin::Timing(TRAIN_FREQUENCY),
            rate: Some(Rate::Packets(1000)),
            faults: FaultPlan::default(),
        }
    }

    /// All packets of a payload: when each was due, its node and its frame.
    fn made(mut payload: TrainPayload, nodes: usize) -> Vec<(u64, usize, u32)> {
        let mut slabs: Vec<_> = (0..nodes).map(|_| PacketSlab::new(4, 1000)).collect();
        let mut all = Vec::new();
        while let Some(due) = payload.due_ns() {
            assert!(payload.make(0, &mut slabs), "the slabs are empty");
            for (node, slab) in slabs.iter_mut().enumerate() {
                let frames =
                    slab.batch().iter().map(|packet| TrainPacket::parse(packet.bytes).unwrap().trailer.frame);
                all.extend(frames.map(|frame| (due, node, frame)).collect::<Vec<_>>());
                slab.clear();
            }
        }
        assert!(payload.finish(&mut slabs));
        all
    }

    #[test]
    fn each_train_goes_as_a_whole_to_its_node_in_its_time() {
        let all = made(TrainPayload::new(settings(4), 1, 3).unwrap(), 3);
        assert_eq!(all.len(), 4 * 12);
        for (number, (due, node, frame)) in all.into_iter().enumerate() {
            let (train, packet) = (number / 12, number % 12);
            assert_eq!((due, frame), ((100 * train + packet) as u64 * 1_000_000, train as u32));
            // Train 10 of module 1 goes to node 2 of 0 to 2.
            assert_eq!(node, (10 + train + 1) % 3);
        }
    }

    #[test]
    fn what_is_late_stays_in_order_and_a_full_slab_waits() {
        let slow = PayloadSettings { rate: Some(Rate::Packets(100)), ..settings(3) };
        let payload = TrainPayload::new(slow, 0, 1).unwrap();
        assert!(payload.is_too_slow());
        let all = made(payload, 1);
        assert!(all.is_sorted() && all.len() == 36);
        let mut payload = TrainPayload::new(settings(1), 0, 1).unwrap();
        let mut slabs = [PacketSlab::new(2, 1000)];
        assert_eq!([(); 3].map(|()| payload.make(0, &mut slabs)), [true, true, false]);
        assert_eq!((slabs[0].len(), payload.counts().datagrams), (2, 2));
    }

    #[test]
    fn faults_are_made_and_what_is_impossible_is_refused() {
        let faults =
            FaultPlan::new(&["lost:train=0,packet=3".parse().unwrap()], &FaultRates::default(), 1).unwrap();
        let all = made(TrainPayload::new(PayloadSettings { faults, ..settings(1) }, 0, 1).unwrap(), 1);
        assert_eq!(
            all.iter().map(|(due, ..)| due / 1_000_000).collect::<Vec<_>>(),
            [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
        );
        let no_rate = PayloadSettings { begin: TrainBegin::PauseNs(1), rate: None, ..settings(1) };
        assert!(TrainPayload::new(no_rate, 0, 1).unwrap_err().to_string().contains("needs the rate"));
        let no_bytes = PayloadSettings { structure: TrainStructure::of_size(0, 1), ..settings(1) };
        assert!(TrainPayload::new(no_bytes, 0, 1).unwrap_err().to_string().contains("images of 0 bytes"));
    }
}
