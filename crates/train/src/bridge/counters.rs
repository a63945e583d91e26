//! What was served, and what was not.

evforge_core::counters! {
    /// Trains on their way to clients of the bridge.
    pub struct BridgeCounters: "bridge" {
        trains_offered: Enters(Outputs), Times, "Trains of single modules that were offered to the bridge.";
        trains_shown: Leaves(Outputs), Times, "Trains of single modules that clients could ask for, as parts of whole trains.";
        trains_held: Held(Outputs), Times, "Trains of single modules that wait for those of other modules.";
        trains_not_whole: Discarded(Outputs), Times, "Trains of single modules with images that are not whole.";
        trains_alone: Discarded(Outputs), Times, "Trains of single modules that were given up, since those of other modules did not come.";
        trains_late: Discarded(Outputs), Times, "Trains of single modules that came twice, or after a later train was shown or theirs was given up.";
        trains_of_other_images: Discarded(Outputs), Times, "Trains whose images do not have the size of the detector's.";
        trains_of_no_module: Discarded(Outputs), Times, "Trains of modules beyond the last.";
        whole_trains: Information, Times, "Trains of all modules that clients could ask for.";
        clients: Information, Times, "Clients that have connected and can be served.";
        clients_now: Now, Times, "Clients that are connected, those included that have not said yet what they are.";
        clients_too_many: Information, Times, "Connections that were refused, or gave way before they had said what they are, since there were as many as may be.";
        clients_of_other_protocol: Information, Times, "Connections that were closed: no ZMTP 3, another mechanism than NULL, or a socket that asks for no replies.";
        clients_with_other_requests: Information, Times, "Connections that were closed: they asked for something else than the next train.";
        clients_too_slow: Information, Times, "Connections that were closed: they did not go on in time while something was said or sent.";
        replies: Information, Times, "Whole trains that were sent to clients.";
        trains_skipped: Information, Times, "Whole trains that a client has not got, since newer ones had taken their places when it asked; summed over clients.";
    }
}
