"""Programs of others read topics of evforge, unchanged: test_kafka_consumers.py CONSUMER BROKER TOPIC NUMBER [COMMAND …].

CONSUMER is saluki, beamlime, beamlime-arrays or scippneutron, in an environment that has it. NUMBER of them are expected:
messages, or for scippneutron events. Events are printed as lines `pulse_time_ns,time_of_flight_ns,pixel_id`, in the order in which
they were read; beamlime-arrays prints a line `source name,unit,dimensions,sum` for each array.

COMMAND is started once scippneutron, which reads only what is written after it began, is ready. What goes wrong in a consumer
fails this program.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

RESULT = sys.stdout


def saluki(broker, topic, number):
    """The program itself, as a person types it."""
    command = [Path(sys.executable).parent / "saluki", "consume", f"{broker}/{topic}", "--offset", "0", "--go-forwards"]
    command += ["--messages", str(number), "--entire", "True"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
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
    found, end = 0, time.monotonic() + 60
    with make_consumer_from_config(topics=[topic], config=config, group="evforge_test") as consumer:
        source = AdaptingMessageSource(KafkaMessageSource(consumer), adapter, raise_on_error=True)
        while found < number and time.monotonic() < end:
            for message in source.get_messages():
                found += 1
                yield message
    if found < number:
        raise SystemExit(f"beamlime has read {found} of {number} messages")


def scippneutron(broker, topic, number, command):
    """Its data stream (up to 24.7, ev42)."""
    import asyncio

    import scipp as sc
    from scippneutron.data_streaming.data_stream import data_stream

    # It shows a widget there.
    sys.stdout = sys.stderr

    async def read():
        stream = data_stream(broker, topics=[topic], interval=0.5 * sc.Unit("s"))
        running, found, end = None, 0, time.monotonic() + 120
        task = asyncio.ensure_future(anext(stream))
        while found < number and time.monotonic() < end:
            done, _ = await asyncio.wait({task}, timeout=1.0)
            if running is None and time.monotonic() > end - 110:
                running = subprocess.Popen(command)
            if not done:
                continue
            data = task.result()
            pulses = data.coords["pulse_time"].values if "pulse_time" in data.coords else None
            times = sc.to_unit(data.coords["tof"], "ns", copy=False).values
            show([pulse.astype("int64") for pulse in pulses], [round(time) for time in times], data.coords["detector_id"].values)
            found += len(times)
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
