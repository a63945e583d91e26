/* A detector that does what its setting "fault" says, from the first packet on that begins with '!'. Other packets make an
 * event each: its number as the time, its first byte modulo 16 plus 1 as the pixel.
 * The macros make the table wrong. */
#include "evforge/detector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION EVFORGE_DETECTOR_INTERFACE_VERSION
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(struct evforge_detector_interface)
#endif
#ifndef ENTRY_POINT
#define ENTRY_POINT evforge_detector
#endif
#ifndef INGEST
#define INGEST ingest
#endif
#ifndef TABLE
#define TABLE &interface
#endif
#ifndef COUNTERS
#define COUNTERS 3
#endif

struct evforge_detector_handle {
    char fault[128];
    uint64_t counts[3];
    struct evforge_source source;
    size_t sources;
};

static int has(const struct evforge_detector_handle *detector, const char *fault) {
    return strstr(detector->fault, fault) != NULL;
}

static struct evforge_detector_handle *create(const char *settings, size_t length, char *problem, size_t capacity) {
    struct evforge_detector_handle *detector = calloc(1, sizeof *detector);
    if (detector == NULL) return NULL;
    snprintf(detector->fault, sizeof detector->fault, "%.*s", (int)length, settings);
    detector->source.numbered = 1;
    strcpy(detector->source.name, "board");
    if (has(detector, "\"create\"") || has(detector, "\"silent create\"")) {
        if (has(detector, "\"create\"")) snprintf(problem, capacity, "no voltage is given");
        free(detector);
        return NULL;
    }
    if (has(detector, "\"counts at first\"")) detector->counts[0] = 1;
    return detector;
}

static void describe(const struct evforge_detector_handle *detector, struct evforge_description *description) {
    description->nx = 4;
    description->ny = has(detector, "\"geometry\"") ? 0 : 4;
    description->nz = description->panels = 1;
    description->events_per_packet = has(detector, "\"wide packets\"") ? 1u << 25 : 0;
    description->sources = 1;
    description->tells_pulses = has(detector, "pulses\"");
}

static int32_t misbehave(struct evforge_detector_handle *detector, size_t packet_count, struct evforge_events *events,
                         struct evforge_progress *progress, char *problem, size_t capacity) {
    if (has(detector, "\"error\"")) {
        snprintf(problem, capacity, "the board has a fire");
        return 7;
    }
    if (has(detector, "\"silent error\"")) return -1;
    if (has(detector, "\"bad error\"")) {
        snprintf(problem, capacity, "the board has a fire");
        detector->counts[0] += 5;
        return 7;
    }
    if (has(detector, "\"takes more\"")) progress->taken = packet_count + 1;
    if (has(detector, "\"no room\"")) progress->more = 1, progress->taken = events->used = 0;
    if (has(detector, "\"many events\"")) events->used = events->capacity + 1;
    if (has(detector, "\"pixel 0\"")) events->pixel_ids[events->used - 1] = 0;
    if (has(detector, "\"pixel 17\"")) events->pixel_ids[events->used - 1] = 17;
    if (has(detector, "\"pulses\"")) {
        events->pulses[0].first_event = 1;
        events->pulses[1].first_event = 0;
        events->pulses_used = 2;
    }
    if (has(detector, "\"many pulses\"")) events->pulses_used = events->pulse_capacity + 1;
    if (has(detector, "\"falls\"")) detector->counts[0] -= 1, detector->counts[1] += 1, detector->counts[2] += 1;
    if (has(detector, "\"packets\"")) detector->counts[0] += 1;
    if (has(detector, "\"events\"")) detector->counts[2] += 1;
    if (has(detector, "\"source law\"")) detector->source.lost += 1;
    if (has(detector, "\"source received\"")) detector->source.received += 100, detector->source.sent += 100;
    if (has(detector, "\"source falls\"")) detector->source.received = detector->source.sent = 1;
    if (has(detector, "\"many sources\"")) detector->sources = 2;
    return 0;
}

/* Answers as the bytes of the packets say, one after the other, until one of them is not as a good answer is. */
static int32_t answer(struct evforge_detector_handle *detector, const struct evforge_packet *packets,
                      size_t packet_count, struct evforge_events *events, struct evforge_progress *progress) {
    static const uint8_t good[11] = {1, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0};
    size_t index;
    for (index = 0; index < packet_count; index++) {
        const uint8_t *bytes = packets[index].bytes;
        size_t event;
        for (event = events->used; event < events->used + 3; event++) {
            events->times_ns[event] = event;
            events->pixel_ids[event] = bytes[4] == 3 ? 17 : bytes[4];
            events->pulses[event].time_ns = 0;
            events->pulses[event].first_event = events->used + bytes[5];
        }
        progress->taken += bytes[0];
        progress->more = bytes[1];
        events->used = bytes[2] == 3 ? events->capacity + 1 : events->used + bytes[2];
        events->pulses_used = bytes[3] == 3 ? events->pulse_capacity + 1 : events->pulses_used + bytes[3];
        detector->counts[0] += bytes[6];
        detector->counts[1] += bytes[7];
        detector->counts[2] += bytes[8];
        detector->sources = 1;
        detector->source.received += bytes[9];
        detector->source.sent += bytes[9];
        if (memcmp(bytes, good, sizeof good) != 0) return bytes[10];
    }
    return 0;
}

static int32_t ingest(struct evforge_detector_handle *detector, const struct evforge_packet *packets,
                      size_t packet_count, struct evforge_events *events, struct evforge_progress *progress,
                      char *problem, size_t capacity) {
    if (has(detector, "bytes")) return answer(detector, packets, packet_count, events, progress);
    while (progress->taken < packet_count) {
        const struct evforge_packet *packet = &packets[progress->taken];
        int bad = packet->length > 0 && packet->bytes[0] == '!';
        if (bad && has(detector, "error\"")) return misbehave(detector, packet_count, events, progress, problem, capacity);
        if (bad && has(detector, "\"takes less\"")) return 0;
        if (events->used == events->capacity) {
            progress->more = 1;
            return 0;
        }
        progress->taken += 1;
        detector->sources = 1;
        detector->source.received += 1;
        detector->source.sent += 1;
        if (packet->length == 0) {
            detector->counts[1] += 1;
            continue;
        }
        if (has(detector, "pulses\"")) {
            events->pulses[events->pulses_used].time_ns = detector->counts[0];
            events->pulses[events->pulses_used++].first_event = events->used;
        }
        events->times_ns[events->used] = detector->counts[0];
        events->pixel_ids[events->used] = packet->bytes[0] % 16 + 1u;
        events->used += 1;
        detector->counts[0] += 1;
        detector->counts[2] += 1;
        if (bad && !has(detector, "\"none\"") && !has(detector, "\"close"))
            return misbehave(detector, packet_count, events, progress, problem, capacity);
    }
    return 0;
}

static int32_t publish_closed(struct evforge_detector_handle *detector, struct evforge_events *events,
                              struct evforge_progress *progress, char *problem, size_t capacity) {
    (void)detector, (void)events, (void)progress, (void)problem, (void)capacity;
    return 0;
}

static int32_t close_detector(struct evforge_detector_handle *detector, struct evforge_events *events,
                              struct evforge_progress *progress, char *problem, size_t capacity) {
    (void)events;
    if (has(detector, "\"close takes\"")) progress->taken = 1;
    if (has(detector, "\"close\"")) {
        snprintf(problem, capacity, "the last event is gone");
        return 3;
    }
    return 0;
}

static void counters(const struct evforge_detector_handle *detector, uint64_t *values, size_t value_count) {
    memcpy(values, detector->counts, value_count * sizeof *values);
}

static size_t sources(const struct evforge_detector_handle *detector, struct evforge_source *to, size_t capacity) {
    if (capacity > 0) to[0] = detector->source;
    return detector->sources;
}

static void destroy(struct evforge_detector_handle *detector) {
    free(detector);
}

static const struct evforge_counter INFOS[3] = {
    {"packets_used", "Packets with an event.", EVFORGE_UNIT_PACKETS, EVFORGE_ROLE_JOINS, EVFORGE_LAW_PACKETS,
     EVFORGE_LAW_EVENTS},
    {"packets_empty", "Packets without bytes.", EVFORGE_UNIT_PACKETS, EVFORGE_ROLE_DISCARDED, EVFORGE_LAW_PACKETS,
     EVFORGE_LAW_NONE},
    {"events_out", "Events handed out.", EVFORGE_UNIT_EVENTS, EVFORGE_ROLE_LEAVES, EVFORGE_LAW_EVENTS,
     EVFORGE_LAW_NONE},
};

EVFORGE_EXPORT const struct evforge_detector_interface *ENTRY_POINT(uint32_t host_version);

#ifdef UNDEFINED
int this_function_is_nowhere(void);
#endif

const struct evforge_detector_interface *ENTRY_POINT(uint32_t host_version) {
    static const struct evforge_detector_interface interface = {
        VERSION, (uint32_t)TABLE_SIZE, "misbehaving", INFOS, COUNTERS, create, describe, INGEST,
        publish_closed, close_detector, counters, sources, destroy,
    };
    (void)host_version, (void)interface, (void)ingest;
#ifdef UNDEFINED
    this_function_is_nowhere();
#endif
    return TABLE;
}
