/* A plugin: what a shared library offers so that evforge forms events with it.
 *
 * The library exports one function, evforge_detector. It returns a table with what the library is and what it can do;
 * evforge calls the functions of the table. docs/write-a-plugin.md tells how to write one, examples/plugin-c and
 * examples/plugin-rust are two that work.
 *
 * Rules for both sides
 *
 *   Threads    evforge uses a detector from one thread at a time, but not always from the same one. Several detectors of
 *              one library may be in use on several threads at once: keep no state outside of them.
 *   Memory     What one side hands to the other belongs to the giver, and may be used only until the call returns. The
 *              table and what it points to last as long as the process. The library is never unloaded.
 *   Unwinding  No exception and no panic may leave a function of the library.
 *   Time       A function returns soon. It does not sleep, and does no input or output.
 *   Numbers    All counts are checked after each call. A detector that reports something impossible is not called any more.
 *
 * Versions
 *
 *   Within a version, evforge may append members to evforge_detector_interface and evforge_description, which carry
 *   their size. What is new is optional: a library that does not have it works as before. Every other change (of
 *   a member, of a structure that occurs in arrays, of a rule) raises EVFORGE_DETECTOR_INTERFACE_VERSION. evforge refuses
 *   a library of another version.
 */
#ifndef EVFORGE_DETECTOR_H
#define EVFORGE_DETECTOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version that this header describes. */
#define EVFORGE_DETECTOR_INTERFACE_VERSION 1u

/* Marks the one function that the library exports. */
#if defined(_WIN32)
#define EVFORGE_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EVFORGE_EXPORT __attribute__((visibility("default")))
#else
#define EVFORGE_EXPORT
#endif

/* One detector, with the state that it needs. The library defines this structure; evforge only hands it back. */
struct evforge_detector_handle;

/* Which clock an arrival stamp was read from. */
enum {
    EVFORGE_CLOCK_NONE = 0,    /* no stamp: the input has none */
    EVFORGE_CLOCK_CAPTURE = 1, /* as it is in the capture file */
    EVFORGE_CLOCK_KERNEL = 2,  /* the kernel, when the packet entered the socket */
    EVFORGE_CLOCK_PROCESS = 3  /* evforge, after it had been given the packet */
};

/* One packet: the payload of a UDP datagram. */
struct evforge_packet {
    const uint8_t *bytes;       /* the payload; never null */
    uint32_t length;            /* bytes of it that are here */
    uint32_t original_length;   /* bytes that were on the wire; more than length if the packet was cut */
    uint64_t arrival_ns;        /* nanoseconds since 1970; 0 without a stamp */
    uint8_t source_address[16]; /* IPv6; IPv4 as ::ffff:a.b.c.d; all 0 where the input does not say */
    uint16_t source_port;       /* 0 where the input does not say */
    uint16_t destination_port;  /* 0 where the input does not say */
    uint32_t arrival_clock;     /* EVFORGE_CLOCK_... */
};

/* The start of a pulse of the neutron source, for detectors whose readout tells it. The events from first_event on belong
 * to it, also those of later calls, until another pulse begins; none of them is earlier than the pulse. */
struct evforge_pulse {
    uint64_t time_ns;     /* on the clock of the events */
    uint64_t first_event; /* index of its first event among those of this call; may be used, if none follows */
};

/* Room for events in two columns. Every call begins with used = 0 and pulses_used = 0. */
struct evforge_events {
    uint64_t *times_ns;          /* nanoseconds on the detector's clock */
    uint32_t *pixel_ids;         /* 1 to nx*ny*nz*panels: ((panel*nz + z)*ny + y)*nx + x + 1 */
    size_t capacity;             /* events that fit; at least evforge_description.events_per_packet */
    size_t used;                 /* events that the library has written */
    struct evforge_pulse *pulses; /* in the order of first_event */
    size_t pulse_capacity;       /* pulses that fit; as many as events */
    size_t pulses_used;          /* pulses that the library has written */
};

/* How far a call came. Every call begins with both members 0. */
struct evforge_progress {
    size_t taken;      /* packets dealt with, counted from the first one of this call */
    uint32_t more;     /* not 0: there was no room for further events, or not for events_per_packet of them, or for as
                          many pulses. evforge empties it and calls again, with the packets that have not been
                          taken. Without it, all packets must have been taken. */
    uint32_t reserved; /* 0 */
};

/* What a counter counts. */
enum {
    EVFORGE_UNIT_PACKETS = 0,
    EVFORGE_UNIT_BYTES = 1,
    EVFORGE_UNIT_READOUTS = 2,
    EVFORGE_UNIT_HITS = 3,
    EVFORGE_UNIT_CLUSTERS = 4,
    EVFORGE_UNIT_EVENTS = 5,
    EVFORGE_UNIT_TIMES = 6 /* occurrences of what the help text describes */
};

/* The balances that hold after each call: what enters = what leaves + what is discarded + what is held. */
enum {
    EVFORGE_LAW_NONE = 0,
    EVFORGE_LAW_PACKETS = 1, /* evforge counts what enters: the packets taken */
    EVFORGE_LAW_READOUTS = 2,
    EVFORGE_LAW_HITS = 3,
    EVFORGE_LAW_EVENTS = 4 /* what leaves is what evforge was given, if a counter says so at all */
};

/* The side of a law that a counter is on. */
enum {
    EVFORGE_ROLE_INFORMATION = 0, /* none */
    EVFORGE_ROLE_ENTERS = 1,      /* left: what came in; not of the law of packets */
    EVFORGE_ROLE_LEAVES = 2,      /* right: what went on */
    EVFORGE_ROLE_JOINS = 3,       /* right of law, left of next_law */
    EVFORGE_ROLE_DISCARDED = 4,   /* right: thrown away, for the reason that the name gives */
    EVFORGE_ROLE_HELD = 5         /* right: what waits at this moment; the only counters that may fall */
};

/* The declaration of a counter. At least one is on the right of the law of packets. The names "readouts", "hits", "held"
 * and "packets_without_number" have their place in the report. Those that evforge itself counts must not be used:
 * "packets_received", "packets_after_failure", "events" and "events_refused". */
struct evforge_counter {
    const char *name;  /* a to z, 0 to 9 and _; at most 63 */
    const char *help;  /* one sentence for people; UTF-8 */
    uint32_t unit;     /* EVFORGE_UNIT_... */
    uint32_t role;     /* EVFORGE_ROLE_... */
    uint32_t law;      /* EVFORGE_LAW_...; NONE for EVFORGE_ROLE_INFORMATION */
    uint32_t next_law; /* EVFORGE_LAW_... with EVFORGE_ROLE_JOINS; else NONE */
};

/* A sender, and what the numbers of its packets say. If it numbers them, then after each call
 * sent + duplicated = received + lost. */
struct evforge_source {
    char name[64];        /* for people, ends with 0: "board 3" */
    uint32_t numbered;    /* not 0 if its packets are numbered; else only received counts */
    uint32_t reserved;    /* 0 */
    uint64_t sent;        /* from the first to the last number seen */
    uint64_t received;    /* packets seen, duplicates included; never falls */
    uint64_t lost;        /* numbers not seen */
    uint64_t reordered;   /* packets seen after one with a higher number */
    uint64_t duplicated;  /* packets whose number had been seen */
    uint64_t restarts;    /* how often the numbering restarted */
};

/* What a detector is like. All members but struct_size are 0 when evforge asks. */
struct evforge_description {
    uint32_t struct_size;       /* set by evforge: bytes of this structure as evforge knows it. Members that a later
                                   header has behind them must not be written */
    uint32_t nx;                /* columns of a panel, at least 1 */
    uint32_t ny;                /* rows, at least 1 */
    uint32_t nz;                /* layers, at least 1 */
    uint32_t panels;            /* at least 1; at most 2^32 - 1 pixels in all */
    uint32_t events_per_packet; /* most events that one packet can make, up to 2^24: this many fit into every call.
                                   0: no limit is known, and the library keeps what finds no room */
    uint32_t sources;           /* most sources that it tells of, up to 4096; 0: none */
    uint32_t tells_pulses;      /* not 0 if the readout reports the pulses of the source, in nanoseconds since 1970: then
                                   every event belongs to one. 0: no pulses are written */
    uint64_t memory_bound;      /* bytes that a detector takes at most, whatever it is fed; 0 if not known */
};

/* What a library offers. A function with a place for a problem may write a text there that says, in words for
 * people, what is wrong; it ends with 0 and has at most problem_capacity bytes with it. */
struct evforge_detector_interface {
    uint32_t version;     /* EVFORGE_DETECTOR_INTERFACE_VERSION */
    uint32_t struct_size; /* sizeof(struct evforge_detector_interface) */
    const char *name;     /* what it is, for people; UTF-8 */

    const struct evforge_counter *counter_infos; /* the counters, always in this order */
    size_t counter_count;                        /* 1 to 1024 */

    /* Makes a detector. settings is the table [plugin.settings] of the configuration as TOML: UTF-8, a line
     * "key = value" for each key; it does not end with 0. Null with a problem if the settings cannot be.
     * evforge makes several detectors with the same settings: one may be asked only for what it is like. */
    struct evforge_detector_handle *(*create)(const char *settings, size_t settings_length, char *problem,
                                              size_t problem_capacity);

    /* Says what the detector is like. Called once, before all others. */
    void (*describe)(const struct evforge_detector_handle *detector, struct evforge_description *description);

    /* Takes packets, in the order in which they came, and writes the events that are complete. Called again with the
     * packets that were not taken, if more is set; then packet_count can be 0.
     * Returns 0. Anything else is a failure, with a problem: events and packets up to it count, the detector is not
     * called any more. Packets that are no good are no failure: they are counted. */
    int32_t (*ingest)(struct evforge_detector_handle *detector, const struct evforge_packet *packets,
                      size_t packet_count, struct evforge_events *events, struct evforge_progress *progress,
                      char *problem, size_t problem_capacity);

    /* The input pauses: writes the events that are complete but were kept back. Returns as ingest. Null if nothing is
     * ever kept back. */
    int32_t (*publish_closed)(struct evforge_detector_handle *detector, struct evforge_events *events,
                              struct evforge_progress *progress, char *problem, size_t problem_capacity);

    /* The input has ended: writes everything that is held. Returns as ingest. Null if nothing is ever held. */
    int32_t (*close)(struct evforge_detector_handle *detector, struct evforge_events *events,
                     struct evforge_progress *progress, char *problem, size_t problem_capacity);

    /* Writes the value of each counter, in the order of counter_infos. */
    void (*counters)(const struct evforge_detector_handle *detector, uint64_t *values, size_t value_count);

    /* Writes the sources that have sent so far, always in the same order, and returns how many there are; capacity is
     * evforge_description.sources. Null if none are reported. */
    size_t (*sources)(const struct evforge_detector_handle *detector, struct evforge_source *sources,
                      size_t capacity);

    /* Ends a detector and frees what belongs to it. */
    void (*destroy)(struct evforge_detector_handle *detector);
};

/* The one function of the library. host_version is the version of the interface that evforge speaks. Null if
 * the library cannot work with it. */
EVFORGE_EXPORT const struct evforge_detector_interface *evforge_detector(uint32_t host_version);

#ifdef __cplusplus
}
#endif

#endif
