//! What was sent, and which faults were made.

use evforge_core::counters;

counters! {
    /// Counters of a sender of trains. A fault is counted when it is made, as what it is: one that cannot be made (a packet displaced
    /// behind its end, a train late behind the last one) is in none of them.
    pub struct SentCounters: "trains sent" {
        packets_made: Enters(Packets), Packets, "Packets of trains whose turn has come, sent or not.";
        packets_repeated: Enters(Packets), Packets, "Packets sent a second time.";
        datagrams: Leaves(Packets), Packets, "Datagrams handed out to be sent.";
        packets_lost: Discarded(Packets), Packets, "Packets not sent, those of trains without first or last packet included.";
        packets_waiting: Held(Packets), Packets, "Packets made and not handed out at this moment: the next one, and displaced ones.";
        datagram_bytes: Information, Bytes, "UDP payload of the datagrams.";
        packets_displaced: Information, Packets, "Packets sent behind one of their train with a higher number.";
        packets_truncated: Information, Packets, "Packets whose datagram was cut at its end.";
        packets_shortened: Information, Packets, "Packets whose data were cut before their trailer.";
        trains_begun: Information, Trains, "Trains begun.";
        trains_ended: Information, Trains, "Trains whose last datagram has been handed out.";
        trains_undamaged: Information, Trains, "Trains ended of which every packet was sent as it had been made; some may be late, interleaved, displaced or repeated.";
        trains_without_first: Information, Trains, "Trains whose first packet was not sent, on purpose.";
        trains_without_last: Information, Trains, "Trains whose last packet was not sent, on purpose.";
        trains_wrong_begin: Information, Trains, "Trains with a wrong magic number at the beginning.";
        trains_wrong_end: Information, Trains, "Trains with a wrong magic number at the end.";
        trains_wrong_number: Information, Trains, "Trains with another number in their header.";
        trains_late: Information, Trains, "Trains sent behind the next one.";
        trains_interleaved: Information, Trains, "Trains whose packets took turns with those of the next one.";
    }
}
