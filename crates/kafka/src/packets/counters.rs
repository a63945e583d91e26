//! What was read from a topic, and what was left out and why.

evforge_core::counters! {
    /// Counters of reading raw packets from a topic: `messages = packets + ` all the reasons from `other_port` on and those why a message is
    /// refused.
    pub struct TopicCounters: "topic" {
        messages: Information, Times, "Messages read from the topic.";
        packets: Information, Packets, "Packets delivered from the topic.";
        bytes: Information, Bytes, "Payload bytes of the packets delivered from the topic.";
        cut: Information, Packets, "Delivered packets that were cut where they were received: part of the payload is missing.";
        unstamped: Information, Packets, "Delivered packets for which the topic has no time.";
        messages_lost: Information, Times, "Messages that the topic does not have, by the gaps in the numbers of their sources.";
        messages_reordered: Information, Times, "Messages that came after one of their source with a higher number.";
        messages_duplicated: Information, Times, "Messages whose number had been there before.";
        restarts: Information, Times, "How often the numbering of a source started over: another run began.";
        other_port: Information, Packets, "Messages left out: packets to a port that was not asked for.";
        empty: Information, Times, "Messages left out: without contents.";
        too_long: Information, Times, "Messages left out: longer than the payload of any UDP packet.";
        bad_headers: Information, Times, "Messages left out: a header of evforge with a value that makes no sense.";
    }
}
