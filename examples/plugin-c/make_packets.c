/* Writes packets of the made-up pixel detector of detector.c to standard output, as a .pkts file: the length of each
 * packet in four bytes, little-endian, and then the packet. The readouts draw a ring.
 *
 *     make_packets [packets] > packets.pkts
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { READOUTS = 100, SIDE = 64 };

static void put(uint32_t value, int bytes) {
    for (; bytes > 0; bytes--, value >>= 8) putchar((int)(value & 0xff));
}

int main(int count, char **arguments) {
    uint32_t packets = count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 1000;
    uint32_t sequence, readout, tick = 0;
    /* Every 100th number is left out, as if the packet had been lost. */
    for (sequence = 0; packets > 0; sequence++) {
        if (sequence % 100 == 50) continue;
        packets--;
        put(16 + 8 * READOUTS, 4);
        fputs("PXST", stdout);
        put(sequence, 4);
        put(READOUTS, 4);
        put(0, 4);
        for (readout = 0; readout < READOUTS; readout++) {
            /* A point that goes round an ellipse once in 628 readouts. */
            double angle = 0.01 * (sequence * READOUTS + readout);
            put(tick, 4);
            put((uint32_t)(SIDE / 2 + 20 * cos(angle)), 2);
            put((uint32_t)(SIDE / 2 + 12 * sin(angle)), 2);
            tick += 700;
        }
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
