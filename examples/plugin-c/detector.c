/* A plugin, in C: a made-up pixel detector, complete with settings, numbered packets and counters.
 *
 *     cc -std=c99 -O2 -Wall -Wextra -fPIC -shared -I ../../include -o libpixel_stream.so detector.c
 *     evforge run --detector ./libpixel_stream.so --input packets.pkts --events events.csv
 *
 * A packet is a header of 16 bytes and as many readouts of 8 bytes as it declares, all numbers little-endian:
 *
 *     header   "PXST" | sequence u32 | readouts u32 | 0 u32
 *     readout  time u32, in 10 ns, wraps | x u16 | y u16
 *
 * Every readout on the detector is a hit, and every hit is an event. examples/plugin-rust is the same in Rust.
 */
#include "evforge/detector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 16,
    READOUT_BYTES = 8,
    /* The largest payload of UDP over IPv4 holds this many. */
    MOST_READOUTS = (65507 - HEADER_BYTES) / READOUT_BYTES,
    TICK_NS = 10,
    /* A larger step of the sequence is a sender that has restarted. */
    LARGEST_STEP = 1 << 20
};

/* ---- counters ---------------------------------------------------------------------------------------------------- */

/* Places of the counters; in the order of COUNTERS. */
enum {
    PACKETS_USED,
    PACKETS_CUT,
    PACKETS_NO_HEADER,
    PACKETS_WRONG_MAGIC,
    PACKETS_WRONG_LENGTH,
    PACKETS_DUPLICATED,
    READOUTS,
    READOUTS_OUTSIDE,
    HITS,
    HITS_IN_EVENTS,
    CLOCK_WRAPS,
    COUNTER_COUNT
};

#define DISCARDED_PACKETS EVFORGE_UNIT_PACKETS, EVFORGE_ROLE_DISCARDED, EVFORGE_LAW_PACKETS, EVFORGE_LAW_NONE

static const struct evforge_counter COUNTERS[COUNTER_COUNT] = {
    {"packets_used", "Packets whose readouts were used.", EVFORGE_UNIT_PACKETS, EVFORGE_ROLE_LEAVES,
     EVFORGE_LAW_PACKETS, EVFORGE_LAW_NONE},
    {"packets_cut", "Packets of which only the beginning is here.", DISCARDED_PACKETS},
    {"packets_no_header", "Packets too short for their header.", DISCARDED_PACKETS},
    {"packets_wrong_magic", "Packets that do not begin with PXST.", DISCARDED_PACKETS},
    {"packets_wrong_length", "Packets that have not as many readouts as they declare.", DISCARDED_PACKETS},
    {"packets_duplicated", "Packets whose number had been seen.", DISCARDED_PACKETS},
    {"readouts", "Readouts in the packets used.", EVFORGE_UNIT_READOUTS, EVFORGE_ROLE_ENTERS, EVFORGE_LAW_READOUTS,
     EVFORGE_LAW_NONE},
    {"readouts_outside", "Readouts with a place that is not on the detector.", EVFORGE_UNIT_READOUTS,
     EVFORGE_ROLE_DISCARDED, EVFORGE_LAW_READOUTS, EVFORGE_LAW_NONE},
    {"hits", "Readouts on the detector.", EVFORGE_UNIT_HITS, EVFORGE_ROLE_JOINS, EVFORGE_LAW_READOUTS,
     EVFORGE_LAW_HITS},
    {"hits_in_events", "Hits that became events.", EVFORGE_UNIT_HITS, EVFORGE_ROLE_LEAVES, EVFORGE_LAW_HITS,
     EVFORGE_LAW_NONE},
    {"clock_wraps", "How often the clock of 32 bits wrapped.", EVFORGE_UNIT_TIMES, EVFORGE_ROLE_INFORMATION,
     EVFORGE_LAW_NONE, EVFORGE_LAW_NONE},
};

/* ---- the detector ------------------------------------------------------------------------------------------------ */

struct evforge_detector_handle {
    uint32_t nx, ny;
    uint64_t counts[COUNTER_COUNT];
    struct evforge_source source;
    uint32_t newest_sequence;
    uint32_t newest_tick;
    int has_tick;
};

static uint32_t little_endian_16(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t little_endian_32(const uint8_t *bytes) {
    return little_endian_16(bytes) | little_endian_16(bytes + 2) << 16;
}

/* Takes one line "key = value" of the settings. Returns 0 if it is good. */
static int take_setting(struct evforge_detector_handle *detector, const char *line, char *problem,
                        size_t problem_capacity) {
    char key[32];
    unsigned value;
    int end = 0;
    uint32_t *side = NULL;
    if (sscanf(line, " %31[a-z_] = %u %n", key, &value, &end) == 2 && line[end] == 0) {
        if (strcmp(key, "nx") == 0) side = &detector->nx;
        if (strcmp(key, "ny") == 0) side = &detector->ny;
    }
    if (side == NULL) {
        snprintf(problem, problem_capacity, "found `%s`, expected nx = N or ny = N", line);
        return -1;
    }
    if (value < 1 || value > 4096) {
        snprintf(problem, problem_capacity, "%s is %u, expected 1 to 4096", key, value);
        return -1;
    }
    *side = value;
    return 0;
}

static struct evforge_detector_handle *create(const char *settings, size_t settings_length, char *problem,
                                              size_t problem_capacity) {
    struct evforge_detector_handle *detector = calloc(1, sizeof *detector);
    if (detector == NULL) {
        snprintf(problem, problem_capacity, "there is no memory");
        return NULL;
    }
    detector->nx = detector->ny = 64;
    detector->source.numbered = 1;
    strcpy(detector->source.name, "board");
    while (settings_length > 0) {
        const char *newline = memchr(settings, '\n', settings_length);
        size_t length = newline != NULL ? (size_t)(newline - settings) : settings_length;
        char line[128];
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line), settings);
        if (line[0] != 0 && take_setting(detector, line, problem, problem_capacity) != 0) {
            free(detector);
            return NULL;
        }
        length += newline != NULL;
        settings += length;
        settings_length -= length;
    }
    return detector;
}

static void destroy(struct evforge_detector_handle *detector) {
    free(detector);
}

static void describe(const struct evforge_detector_handle *detector, struct evforge_description *description) {
    description->nx = detector->nx;
    description->ny = detector->ny;
    description->nz = 1;
    description->panels = 1;
    description->events_per_packet = MOST_READOUTS;
    description->sources = 1;
    description->memory_bound = sizeof *detector;
}

/* Follows the numbers of the packets. Returns 0 for a packet that has been here before. */
static int follow_sequence(struct evforge_detector_handle *detector, uint32_t sequence) {
    struct evforge_source *source = &detector->source;
    int64_t step = (int32_t)(sequence - detector->newest_sequence);
    source->received += 1;
    if (source->received == 1) {
        source->sent = 1;
    } else if (step > LARGEST_STEP || step < -LARGEST_STEP) {
        source->sent += 1;
        source->restarts += 1;
    } else if (step > 0) {
        source->sent += (uint64_t)step;
        source->lost += (uint64_t)step - 1;
    } else if (step < 0 && source->lost > 0) {
        /* Behind the newest one, and some are missing: taken for one of those. */
        source->lost -= 1;
        source->reordered += 1;
        return 1;
    } else {
        source->duplicated += 1;
        return 0;
    }
    detector->newest_sequence = sequence;
    return 1;
}

/* The time of a readout in nanoseconds: the clock of 32 bits, which wraps every 43 seconds, extended to 64. */
static uint64_t extended_time(struct evforge_detector_handle *detector, uint32_t tick) {
    uint64_t wraps = detector->counts[CLOCK_WRAPS];
    if (!detector->has_tick || (int32_t)(tick - detector->newest_tick) > 0) {
        if (detector->has_tick && tick < detector->newest_tick) wraps = ++detector->counts[CLOCK_WRAPS];
        detector->newest_tick = tick;
        detector->has_tick = 1;
    } else if (tick > detector->newest_tick && wraps > 0) {
        /* From before the clock wrapped. */
        wraps -= 1;
    }
    return (wraps << 32 | tick) * TICK_NS;
}

/* Takes one packet. There is room for its events. */
static void take_packet(struct evforge_detector_handle *detector, const struct evforge_packet *packet,
                        struct evforge_events *events) {
    uint64_t *counts = detector->counts;
    const uint8_t *readout;
    uint32_t count, index;
    if (packet->length < HEADER_BYTES) {
        counts[packet->original_length > packet->length ? PACKETS_CUT : PACKETS_NO_HEADER] += 1;
        return;
    }
    if (memcmp(packet->bytes, "PXST", 4) != 0) {
        counts[PACKETS_WRONG_MAGIC] += 1;
        return;
    }
    /* The number is good even if the rest is not: a damaged packet is not a lost one. */
    if (!follow_sequence(detector, little_endian_32(packet->bytes + 4))) {
        counts[PACKETS_DUPLICATED] += 1;
        return;
    }
    count = little_endian_32(packet->bytes + 8);
    if (packet->original_length > packet->length) {
        counts[PACKETS_CUT] += 1;
        return;
    }
    if (count > MOST_READOUTS || packet->length != HEADER_BYTES + count * READOUT_BYTES) {
        counts[PACKETS_WRONG_LENGTH] += 1;
        return;
    }
    counts[PACKETS_USED] += 1;
    counts[READOUTS] += count;
    readout = packet->bytes + HEADER_BYTES;
    for (index = 0; index < count; index++, readout += READOUT_BYTES) {
        uint64_t time_ns = extended_time(detector, little_endian_32(readout));
        uint32_t x = little_endian_16(readout + 4), y = little_endian_16(readout + 6);
        if (x >= detector->nx || y >= detector->ny) {
            counts[READOUTS_OUTSIDE] += 1;
            continue;
        }
        counts[HITS] += 1;
        counts[HITS_IN_EVENTS] += 1;
        events->times_ns[events->used] = time_ns;
        events->pixel_ids[events->used] = y * detector->nx + x + 1;
        events->used += 1;
    }
}

static int32_t ingest(struct evforge_detector_handle *detector, const struct evforge_packet *packets,
                      size_t packet_count, struct evforge_events *events, struct evforge_progress *progress,
                      char *problem, size_t problem_capacity) {
    (void)problem;
    (void)problem_capacity;
    while (progress->taken < packet_count) {
        /* Every call begins with room for the events of one packet, so there is always progress. */
        if (events->capacity - events->used < MOST_READOUTS) {
            progress->more = 1;
            return 0;
        }
        take_packet(detector, &packets[progress->taken], events);
        progress->taken += 1;
    }
    return 0;
}

static void counters(const struct evforge_detector_handle *detector, uint64_t *values, size_t value_count) {
    size_t index;
    for (index = 0; index < value_count && index < COUNTER_COUNT; index++) values[index] = detector->counts[index];
}

static size_t sources(const struct evforge_detector_handle *detector, struct evforge_source *to, size_t capacity) {
    if (capacity < 1 || detector->source.received == 0) return 0;
    to[0] = detector->source;
    return 1;
}

/* ---- what the library exports ------------------------------------------------------------------------------------ */

const struct evforge_detector_interface *evforge_detector(uint32_t host_version) {
    /* Nothing is kept back or held, so there is nothing to publish or to close. */
    static const struct evforge_detector_interface interface = {
        EVFORGE_DETECTOR_INTERFACE_VERSION,
        sizeof(struct evforge_detector_interface),
        "pixel stream",
        COUNTERS,
        COUNTER_COUNT,
        create,
        describe,
        ingest,
        NULL,
        NULL,
        counters,
        sources,
        destroy,
    };
    (void)host_version;
    return &interface;
}
