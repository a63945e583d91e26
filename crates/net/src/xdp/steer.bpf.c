// Steers UDP datagrams of chosen ports to AF_XDP sockets; everything else goes on to the kernel.
//
// Runs for each frame that the network interface receives. Built by build-steer.sh into steer.bpf.o, which is
// checked in, so that building evforge needs no clang. Written for Linux 5.10 and later. Needs no header: what it
// uses of the kernel's interface (include/uapi/linux/bpf.h) is declared here.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
// How libbpf's format of map definitions writes numbers and types.
#define NUMBER(name, value) int (*name)[value]
#define TYPE(name, value) value *name
#define NET16(value) __builtin_bswap16(value)

enum { XDP_PASS = 2, XDP_REDIRECT = 4 };
enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PER_CPU_ARRAY = 6, MAP_LRU_HASH = 9, MAP_XSK = 17 };

struct xdp_md {
    u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;

// What happened to the frames that one processor core has seen: seen is the sum of the others.
struct counts {
    u64 seen;
    u64 steered;     // to the socket of the queue
    u64 no_socket;   // ours, but their queue has no socket
    u64 other_port;  // UDP to another port or address
    u64 fragments;   // of IP packets: only the first one has a port
    u64 extended;    // IPv4 with options, IPv6 with extension headers: not looked behind
    u64 not_udp;     // anything else
    u64 mixed;       // whole frames of senders that also send fragments
};

struct {
    NUMBER(type, MAP_PER_CPU_ARRAY);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct counts);
} counters SEC(".maps");

enum { FAMILY_IPV4 = 1, FAMILY_IPV6 = 2 };

// Which datagrams to a port are ours.
struct rule {
    u8 families;    // FAMILY_...
    u8 one_address; // 1: only those to the address below; 0: to any
    u8 unused[2];
    u32 address[4]; // as on the wire; of IPv4 the first word
};

struct {
    NUMBER(type, MAP_HASH);
    NUMBER(max_entries, 64);
    TYPE(key, u16); // the port as on the wire
    TYPE(value, struct rule);
} ports SEC(".maps");

// Senders of ours that send fragments, too. Those are put together by the kernel, on a way of another length than that to
// the AF_XDP socket; so that the packets of a sender stay in order, all of them are then left to the kernel.
struct sender {
    u32 address[4]; // as on the wire; of IPv4 the first word, the others 0
    u16 port;       // as on the wire
    u16 unused;
};

struct {
    NUMBER(type, MAP_LRU_HASH);
    NUMBER(max_entries, 4096);
    TYPE(key, struct sender);
    TYPE(value, u32);
} fragmenting SEC(".maps");

// 1 as soon as there is such a sender: others need not be looked up before.
struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, u32);
} any_fragmenting SEC(".maps");

// The socket of each queue; the loader makes it as large as the interface has queues.
struct {
    NUMBER(type, MAP_XSK);
    NUMBER(max_entries, 64);
    TYPE(key, u32);
    TYPE(value, u32);
} sockets SEC(".maps");

struct ethernet {
    u8 addresses[12];
    u16 kind;
} __attribute__((packed));

struct tag {
    u16 control;
    u16 kind;
} __attribute__((packed));

struct ipv4 {
    u8 version_length, service;
    u16 length, identification, fragment;
    u8 lifetime, protocol;
    u16 checksum;
    u32 source, destination;
} __attribute__((packed));

struct ipv6 {
    u32 version_class_flow;
    u16 length;
    u8 next, hops;
    u32 source[4], destination[4];
} __attribute__((packed));

struct udp {
    u16 source, destination, length, checksum;
} __attribute__((packed));

struct fragment6 {
    u8 next, reserved;
    u16 place;
    u32 identification;
} __attribute__((packed));

enum { KIND_IPV4 = 0x0800, KIND_IPV6 = 0x86dd, KIND_TAG = 0x8100, KIND_TAG_OUTER = 0x88a8 };
enum { PROTOCOL_UDP = 17, NEXT_FRAGMENT = 44 };

INLINE int pass(u64 *count)
{
    *count += 1;
    return XDP_PASS;
}

INLINE int is_tag(u16 kind)
{
    return kind == NET16(KIND_TAG) || kind == NET16(KIND_TAG_OUTER);
}

INLINE int to_socket(struct xdp_md *frame, struct counts *counts)
{
    long action = bpf_redirect_map(&sockets, frame->rx_queue_index, XDP_PASS);
    if (action != XDP_REDIRECT)
        return pass(&counts->no_socket);
    counts->steered += 1;
    return action;
}

INLINE struct sender of4(struct ipv4 *ip, struct udp *udp)
{
    struct sender sender = {{ip->source, 0, 0, 0}, udp->source, 0};
    return sender;
}

INLINE struct sender of6(struct ipv6 *ip, struct udp *udp)
{
    struct sender sender = {{ip->source[0], ip->source[1], ip->source[2], ip->source[3]}, udp->source, 0};
    return sender;
}

INLINE void note_fragmenting(struct sender sender)
{
    u32 first = 0, one = 1;
    bpf_map_update_elem(&fragmenting, &sender, &one, 0);
    bpf_map_update_elem(&any_fragmenting, &first, &one, 0);
}

INLINE int is_fragmenting(struct sender sender)
{
    u32 first = 0, *any = bpf_map_lookup_elem(&any_fragmenting, &first);
    return any && *any && bpf_map_lookup_elem(&fragmenting, &sender);
}

INLINE int is_ours4(struct ipv4 *ip, struct udp *udp)
{
    u16 port = udp->destination;
    struct rule *rule = bpf_map_lookup_elem(&ports, &port);
    return rule && rule->families & FAMILY_IPV4 && (!rule->one_address || rule->address[0] == ip->destination);
}

INLINE int is_ours6(struct ipv6 *ip, struct udp *udp)
{
    u16 port = udp->destination;
    struct rule *rule = bpf_map_lookup_elem(&ports, &port);
    if (!rule || !(rule->families & FAMILY_IPV6))
        return 0;
    if (rule->one_address)
        for (int word = 0; word < 4; word++)
            if (rule->address[word] != ip->destination[word])
                return 0;
    return 1;
}

INLINE int of_ipv4(struct xdp_md *frame, struct counts *counts, struct ipv4 *ip, void *end)
{
    struct udp *udp = (void *)(ip + 1);
    if ((void *)(ip + 1) > end || ip->version_length >> 4 != 4)
        return pass(&counts->not_udp);
    if (ip->protocol != PROTOCOL_UDP)
        return pass(&counts->not_udp);
    if (ip->fragment & NET16(0x3fff)) {
        // The first one has the ports.
        if ((ip->fragment & NET16(0x3fff)) == NET16(0x2000) && ip->version_length == 0x45 && (void *)(udp + 1) <= end &&
            is_ours4(ip, udp))
            note_fragmenting(of4(ip, udp));
        return pass(&counts->fragments);
    }
    if (ip->version_length != 0x45)
        return pass(&counts->extended);
    if ((void *)(udp + 1) > end)
        return pass(&counts->not_udp);
    if (!is_ours4(ip, udp))
        return pass(&counts->other_port);
    if (is_fragmenting(of4(ip, udp)))
        return pass(&counts->mixed);
    return to_socket(frame, counts);
}

INLINE int of_ipv6(struct xdp_md *frame, struct counts *counts, struct ipv6 *ip, void *end)
{
    struct udp *udp = (void *)(ip + 1);
    if ((void *)(ip + 1) > end)
        return pass(&counts->not_udp);
    if (ip->next == NEXT_FRAGMENT) {
        struct fragment6 *fragment = (void *)(ip + 1);
        udp = (void *)(fragment + 1);
        if ((void *)(udp + 1) <= end && fragment->next == PROTOCOL_UDP && !(fragment->place & NET16(0xfff8)) &&
            is_ours6(ip, udp))
            note_fragmenting(of6(ip, udp));
        return pass(&counts->fragments);
    }
    // Hop-by-hop, routing, authentication and destination options.
    if (ip->next == 0 || ip->next == 43 || ip->next == 51 || ip->next == 60)
        return pass(&counts->extended);
    if (ip->next != PROTOCOL_UDP || (void *)(udp + 1) > end)
        return pass(&counts->not_udp);
    if (!is_ours6(ip, udp))
        return pass(&counts->other_port);
    if (is_fragmenting(of6(ip, udp)))
        return pass(&counts->mixed);
    return to_socket(frame, counts);
}

INLINE int of_kind(struct xdp_md *frame, struct counts *counts, u16 kind, void *packet, void *end)
{
    if (kind == NET16(KIND_IPV4))
        return of_ipv4(frame, counts, packet, end);
    if (kind == NET16(KIND_IPV6))
        return of_ipv6(frame, counts, packet, end);
    return pass(&counts->not_udp);
}

INLINE int of_frame(struct xdp_md *frame)
{
    void *data = (void *)(long)frame->data, *end = (void *)(long)frame->data_end;
    u32 first = 0;
    struct counts *counts = bpf_map_lookup_elem(&counters, &first);
    if (!counts)
        return XDP_PASS;
    counts->seen += 1;
    struct ethernet *ethernet = data;
    struct tag *outer = (void *)(ethernet + 1), *inner = outer + 1;
    if ((void *)outer > end)
        return pass(&counts->not_udp);
    if (!is_tag(ethernet->kind))
        return of_kind(frame, counts, ethernet->kind, outer, end);
    if ((void *)inner > end)
        return pass(&counts->not_udp);
    if (!is_tag(outer->kind))
        return of_kind(frame, counts, outer->kind, inner, end);
    if ((void *)(inner + 1) > end)
        return pass(&counts->not_udp);
    return of_kind(frame, counts, inner->kind, inner + 1, end);
}

// For frames in several pieces, too (jumbo frames; Linux 5.18 and later).
SEC("xdp.frags") int steer_pieces(struct xdp_md *frame)
{
    return of_frame(frame);
}

SEC("xdp") int steer(struct xdp_md *frame)
{
    return of_frame(frame);
}

char program_license[] SEC("license") = "Dual BSD/GPL";
