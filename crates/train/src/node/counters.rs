//! What a node counts between the assembly and its sinks.

evforge_core::counters! {
    /// Trains between the assembly and what becomes of them.
    pub struct NodeCounters: "trains of a node" {
        trains_queued: Enters(Trains), Trains, "Trains that the receiving threads have put into the queue of the worker.";
        trains_worked_on: Leaves(Trains), Trains, "Trains that every sink has taken.";
        trains_not_taken: Discarded(Trains), Trains, "Trains that not every sink has taken, because one had failed.";
        packets_of_further_ports: Information, Packets, "Packets to ports that no module belongs to.";
        irregular_trains: Information, Trains, "Trains that were not good: their reports are kept, up to a number.";
    }
}
