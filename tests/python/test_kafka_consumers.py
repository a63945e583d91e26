"""Programs of others read topics of evforge, unchanged: test_kafka_consumers.py CONSUMER BROKER TOPIC NUMBER [COMMAND …].

CONSUMER is saluki, beamlime, beamlime-arrays or scippneutron, in an environment that has it. NUMBER of them are expected:
messages, or for scippneutron events. Events are printed as lines `pulse_time_ns,time_of_flight_ns,pixel_id`, in the order in which
they were read; beamlime-arrays prints a line `source name,unit,dimensions,sum` for each array.

COMMAND is started once scippneutron, which reads only what is written after it began, is ready. What goes wrong in a consumer
fails this program. EVFORGE_PATIENCE is how many seconds something is waited for.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

RESULT = sys.stdout
# How long something is waited for, in seconds: that of all tests.
PATIENCE = int(os.environ.get("EVFORGE_PATIENCE", "120"))
# The pixel of events that say only that a consumer reads: no detector has it.
CANARY = 2**31 - 1


def saluki(broker, topic, number):
    """The program itself, as a person types it."""
    command = [Path(sys.executable).parent / "saluki", "consume", f"{broker}/{topic}", "--offset", "0", "--go-forwards"]
    command += ["--messages", str(number), "--entire", "True"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    said = done.stdout + done.stderr
    if done.returncode != 0 or "ERROR" in said or "Traceback" in said:
        raise SystemExit(f"saluki does not read {topic}: {said}")
    messages = re.findall(
        r"s:(\w{4})\) EventData\(.*?reference_time=array\(\[(.*?)\].*?time_of_flight=array\(\[(.*?)\].*?pixel_id=array\(\[(.*?)\]",
        said,
        re.S,
    )
    for schema, *columns in messages:
        assert schema == "ev44", schema
        pulses, times, pixels = ([int(text) for text in column.split(",") if text.strip()] for column in columns)
        assert len(pulses) == 1 and len(times) == len(pixels), "a message has one pulse"
        show(pulses * len(times), times, pixels)
    print(said.count("(o:"), file=sys.stderr)


def beamlime(broker, topic, number):
    """Source and adapters of its detector service."""
    from beamlime.core.message import StreamKind
    from beamlime.kafka.message_adapter import ChainedAdapter, Ev44ToDetectorEventsAdapter, KafkaToEv44Adapter

    events = KafkaToEv44Adapter(stream_kind=StreamKind.DETECTOR_EVENTS)
    detector = ChainedAdapter(first=events, second=Ev44ToDetectorEventsAdapter())
    for message in beamlime_messages(broker, topic, detector, number):
        pixels, times = message.value.pixel_id, message.value.time_of_arrival
        assert message.value.unit == "ns" and len(pixels) == len(times)
        show([message.timestamp] * len(times), times, pixels)


def beamlime_arrays(broker, topic, number):
    """da00 as scipp's arrays."""
    from beamlime.core.message import StreamKind
    from beamlime.kafka.message_adapter import ChainedAdapter, Da00ToScippAdapter, KafkaToDa00Adapter

    arrays = KafkaToDa00Adapter(stream_kind=StreamKind.MONITOR_COUNTS)
    for message in beamlime_messages(broker, topic, ChainedAdapter(first=arrays, second=Da00ToScippAdapter()), number):
        array = message.value
        print(message.stream.name, array.unit, "/".join(array.dims), array.data.sum().value, sep=",")


def beamlime_messages(broker, topic, adapter, number):
    from beamlime.kafka.consumer import make_consumer_from_config
    from beamlime.kafka.message_adapter import AdaptingMessageSource
    from beamlime.kafka.source import KafkaMessageSource

    config = {"bootstrap.servers": broker, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    found, end = 0, time.monotonic() + PATIENCE
    with make_consumer_from_config(topics=[topic], config=config, group="evforge_test") as consumer:
        source = AdaptingMessageSource(KafkaMessageSource(consumer), adapter, raise_on_error=True)
        while found < number and time.monotonic() < end:
            for message in source.get_messages():
                found += 1
                yield message
    if found < number:
        raise SystemExit(f"beamlime has read {found} of {number} messages")


def scippneutron(broker, topic, number, command):
    """Its data stream (up to 24.7, ev42). It does not say when it reads: canaries are written until one comes out."""
    import asyncio

    import scipp as sc
    from confluent_kafka import Producer
    from scippneutron.data_streaming.data_stream import data_stream
    from streaming_data_types import serialise_ev42

    # It shows a widget there.
    sys.stdout = sys.stderr
    producer = Producer({"bootstrap.servers": broker})

    async def read():
        stream = data_stream(broker, topics=[topic], interval=0.5 * sc.Unit("s"))
        running, found, end = None, 0, time.monotonic() + PATIENCE
        task = asyncio.ensure_future(anext(stream))
        while found < number and time.monotonic() < end:
            done, _ = await asyncio.wait({task}, timeout=0.2)
            if not done:
                if running is None:
                    producer.produce(topic, serialise_ev42("canary", 0, 0, [0], [CANARY]))
                    producer.flush(PATIENCE)
                continue
            running = running or subprocess.Popen(command)
            data = task.result()
            pulses = data.coords["pulse_time"].values.astype("int64")
            times = sc.to_unit(data.coords["tof"], "ns", copy=False).values
            pixels = data.coords["detector_id"].values
            of_run = pixels != CANARY
            show(pulses[of_run], [round(time) for time in times[of_run]], pixels[of_run])
            found += int(of_run.sum())
            task = asyncio.ensure_future(anext(stream))
        task.cancel()
        if found < number:
            raise SystemExit(f"scippneutron has read {found} of {number} events")

    asyncio.run(read())


def show(pulses, times, pixels):
    for pulse, time_of_flight, pixel in zip(pulses, times, pixels, strict=True):
        print(int(pulse), int(time_of_flight), int(pixel), sep=",", file=RESULT)


if __name__ == "__main__":
    CONSUMERS = {
        "saluki": saluki,
        "beamlime": beamlime,
        "beamlime-arrays": beamlime_arrays,
        "scippneutron": scippneutron,
    }
    consumer, broker, topic, number, *command = sys.argv[1:]
    CONSUMERS[consumer](broker, topic, int(number), *([command] if command else []))
