"""Reads messages that evforge wrote with the Python libraries of ESS and ISIS, and has them write messages.

    test_messages_readback.py read FOLDER      FOLDER/expected.json: [[file, fields]], fields as evforge's to_json gives them
    test_messages_readback.py write FOLDER     writes messages, and what is in them, into such a folder
    test_messages_readback.py schemas          the schemas that the library reads

`cargo test -p evforge-messages --test messages python` runs it, in the environment of either library: both have the same name.
"""

import datetime
import json
import random
import sys
from pathlib import Path

import numpy as np
import streaming_data_types as library

TIME = 1580460273162000001


def deserialiser(schema):
    return getattr(library, f"deserialise_{schema}", None)


def numbers(column):
    """As evforge gives a column of numbers of a known type."""
    return {"type": column.dtype.name, "values": column.ravel().tolist()}


def empty_as_absent(text):
    """The libraries give an empty text where there is none."""
    return text or ""


def events(message, fields, names):
    found = {name: np.asarray(getattr(message, name)).tolist() for name in names}
    found |= {"source_name": message.source_name, "message_id": message.message_id}
    wanted = {name: fields[name] for name in found}
    return found, wanted


def ev44(message, fields):
    return events(message, fields, ["reference_time", "reference_time_index", "time_of_flight", "pixel_id"])


def ev42(message, fields):
    found, wanted = events(message, fields, ["pulse_time", "time_of_flight", "detector_id"])
    facility = (fields["facility"] or {}).get("isis_data")
    if facility:
        facility["run_state"] = ["SETUP", "RUNNING"].index(facility["run_state"])
    return found | {"facility": message.specific_data}, wanted | {"facility": facility}


def single(value, kind):
    """A number as evforge gives it: without a fraction where its type has none."""
    return {"type": kind, "value": float(value) if kind.startswith("float") else int(value)}


def log_value(value, fields):
    wanted = fields["value"]
    if isinstance(wanted, str):
        return value
    if isinstance(wanted, list):
        return list(value)
    if "value" in wanted:
        return single(value, wanted["type"])
    # An empty vector has no type that would survive.
    return numbers(np.asarray(value)) if wanted["values"] else wanted | {"values": np.asarray(value).ravel().tolist()}


def f144(message, fields):
    found = {"source_name": message.source_name, "timestamp": message.timestamp_unix_ns}
    return found | {"value": log_value(message.value, fields)}, fields


def f142(message, fields):
    from streaming_data_types.fbschemas.logdata_f142.AlarmSeverity import AlarmSeverity
    from streaming_data_types.fbschemas.logdata_f142.AlarmStatus import AlarmStatus

    found = {
        "source_name": message.source_name,
        "timestamp": message.timestamp_unix_ns,
        "value": log_value(message.value, fields),
        "status": message.alarm_status,
        "severity": message.alarm_severity,
    }
    wanted = fields | {
        "source_name": empty_as_absent(fields["source_name"]),
        "status": getattr(AlarmStatus, fields["status"]),
        "severity": getattr(AlarmSeverity, fields["severity"]),
    }
    return found, wanted


def al00(message, fields):
    found = {"source_name": message.source, "timestamp": message.timestamp_ns, "message": message.message}
    return found | {"severity": message.severity.name}, fields


def ep00(message, fields):
    from streaming_data_types.fbschemas.epics_connection_info_ep00.EventType import EventType

    found = {"timestamp": message.timestamp, "source_name": message.source_name, "service_id": message.service_id}
    return found | {"status": message.type}, fields | {"status": getattr(EventType, fields["status"])}


def ep01(message, fields):
    found = {"timestamp": message.timestamp, "source_name": message.source_name, "status": message.status.name}
    service = empty_as_absent(fields["service_id"])
    return found | {"service_id": empty_as_absent(message.service_id)}, fields | {"service_id": service}


def da00(message, fields):
    variables = []
    for variable, wanted in zip(message.data, fields["data"], strict=True):
        found = {name: getattr(variable, name) for name in ["name", "unit", "label", "source", "axes"]}
        # The library keeps the shape of the message beside the array.
        found["shape"] = [int(length) for length in variable.shape]
        if isinstance(variable.data, str):
            found["data"] = {"type": "text", "values": variable.data}
        elif np.isscalar(variable.data):
            found["data"] = {"type": wanted["data"]["type"], "values": [variable.data]}
        else:
            found["data"] = numbers(variable.data)
        variables.append(found)
    return {"source_name": message.source_name, "timestamp": message.timestamp_ns, "data": variables}, fields


def hs01(message, fields):
    dimensions = [
        {**dimension, "bin_boundaries": numbers(dimension["bin_boundaries"])} for dimension in message["dim_metadata"]
    ]
    found = {name: message[name] for name in ["source", "timestamp", "current_shape", "last_metadata_timestamp", "info"]}
    found |= {"data": numbers(message["data"]), "errors": numbers(message["errors"]), "dim_metadata": dimensions}
    # The library does not look at it.
    return found, {name: value for name, value in fields.items() if name != "offset"}


def tdct(message, fields):
    timestamps = np.atleast_1d(message.timestamps).tolist() if fields["timestamps"] else []
    return {"name": message.name, "timestamps": timestamps, "sequence_counter": message.sequence_counter}, fields


def se00(message, fields):
    found = {
        "name": message.name,
        "channel": message.channel,
        "packet_timestamp": message.timestamp_unix_ns,
        "time_delta": message.sample_ts_delta,
        "timestamp_location": ["unknown", "start", "middle", "end"][message.ts_location],
        "values": numbers(message.values),
        "timestamps": np.atleast_1d(message.value_ts).tolist() if fields["timestamps"] else [],
        "message_counter": message.message_counter,
    }
    return found, fields


def pl72(message, fields):
    found = message._asdict()
    spectra = found["detector_spectrum_map"]
    found["detector_spectrum_map"] = spectra and {
        "spectrum": spectra.spectrum_numbers.tolist(),
        "detector_id": spectra.detector_ids.tolist(),
        "n_spectra": spectra.n_spectra,
    }
    # That of ESS does not look at n_periods.
    return found, {name: fields[name] for name in found}


def s6s4t(message, fields):
    # The library does not know `abort`.
    return message._asdict(), {name: value for name, value in fields.items() if name != "abort"}


def answ(message, fields):
    found = message._asdict()
    found["action"] = ["StartJob", "SetStopTime"][message.action]
    found["outcome"] = ["Success", "Failure"][message.outcome]
    found["stop_time"] = round(message.stop_time.timestamp() * 1000)
    return found, fields


def wrdn(message, fields):
    # An empty text comes back as none.
    return message._asdict(), fields | {"message": fields["message"] or None}


def x5f2(message, fields):
    return message._asdict(), fields


def json_(message, fields):
    return {"json": message}, fields


def pu00(message, fields):
    found = {name: getattr(message, name) for name in ["source_name", "message_id", "vetos", "period_number"]}
    found |= {"reference_time": message.timestamp_ns, "proton_charge": message.proton_charge}
    return found, fields


def un00(message, fields):
    found = {"source_name": message.source, "timestamp": message.timestamp_ns, "units": message.units}
    return found, fields


def vc00(message, fields):
    # The library gives bytes.
    timestamp, vetoes, names = (getattr(message, name) for name in ["timestamp_ns", "vetoes", "veto_names"])
    return {"timestamp": timestamp, "vetoes": vetoes, "veto_names": [name.decode() for name in names]}, fields


COMPARE = {
    "6s4t": s6s4t, "al00": al00, "answ": answ, "da00": da00, "ep00": ep00, "ep01": ep01, "ev42": ev42, "ev44": ev44,
    "f142": f142, "f144": f144, "hs01": hs01, "json": json_, "pl72": pl72, "pu00": pu00, "se00": se00, "tdct": tdct,
    "un00": un00, "vc00": vc00, "wrdn": wrdn, "x5f2": x5f2,
}  # fmt: skip


def read(folder):
    """Every message of a schema that the library reads."""
    with open(Path(folder) / "expected.json", encoding="utf-8") as file:
        expected = json.load(file)
    counts = {}
    for name, fields in expected:
        schema = fields.pop("schema")
        if deserialiser(schema) is None:
            continue
        decoded = deserialiser(schema)((Path(folder) / name).read_bytes())
        found, wanted = COMPARE[schema](decoded, fields)
        assert found == wanted, f"{name}:\n{found}\n{wanted}"
        counts[schema] = counts.get(schema, 0) + 1
    print(json.dumps(counts))


def schemas():
    print(json.dumps(sorted(schema for schema in COMPARE if deserialiser(schema))))


def column(rng, kind, count):
    if kind.startswith("float"):
        return np.array([rng.randrange(-1000, 1000) / 8 for _ in range(count)], dtype=kind)
    limits = np.iinfo(kind)
    return np.array([rng.randint(int(limits.min), int(limits.max)) for _ in range(count)], dtype=kind)


KINDS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


def written(rng):
    """Messages with what is in them."""
    time, count = rng.randrange(1, 4 * 10**18), rng.randrange(5)
    if hasattr(library, "serialise_ev44"):
        times, index = np.array([time, time + 1]), np.array([0, count], dtype="int32")
        tof, ids = column(rng, "int32", count), column(rng, "int32", count)
        fields = {"source_name": "dream", "message_id": count, "reference_time": times.tolist()}
        fields |= {"reference_time_index": index.tolist(), "time_of_flight": tof.tolist(), "pixel_id": ids.tolist()}
        yield "ev44", library.serialise_ev44("dream", count, times, index, tof, ids), fields
    for kind in KINDS:
        values, axes = column(rng, kind, 6).reshape(2, 3), ["y", "x"]
        yield from written_log(rng, kind, time)
        variable = {"name": "signal", "unit": "counts", "label": None, "source": "s", "axes": axes, "shape": [2, 3]}
        array = da00_variable(name="signal", data=values, axes=axes, unit="counts", source="s")
        fields = {"source_name": "x", "timestamp": time, "data": [variable | {"data": numbers(values)}]}
        yield "da00", library.serialise_da00("x", time, [array]), fields
        attribute = {"name": "a", "description": "d", "source": "s", "data": numbers(values)}
        fields = {"source_name": "cam", "id": 3, "timestamp": time, "dimensions": [2, 3], "data": numbers(values)}
        bytes_ = library.serialise_ad00("cam", 3, time, values, [ad00_attribute("a", "d", "s", values.ravel())])
        yield "ad00", bytes_, fields | {"attributes": [attribute]}
    yield from written_once(rng, time)
    if hasattr(library, "serialise_ev42"):
        yield from written_by_ess(rng, time, count)
    if hasattr(library, "serialise_pu00"):
        yield from written_by_isis(rng, time)


def da00_variable(**fields):
    from streaming_data_types.dataarray_da00 import Variable

    return Variable(**fields)


def ad00_attribute(*fields):
    from streaming_data_types.area_detector_ad00 import Attribute

    return Attribute(*fields)


def written_log(rng, kind, time):
    values = column(rng, kind, 3)
    for value, wanted in [(values, numbers(values)), (values[0], single(values[0], kind))]:
        fields = {"source_name": "pv", "timestamp": time, "value": wanted}
        yield "f144", library.serialise_f144("pv", value, time), fields
        if hasattr(library, "serialise_f142"):
            fields |= {"status": "LOLO", "severity": "INVALID"}
            yield "f142", library.serialise_f142(value, "pv", time, 5, 3), fields


def written_once(rng, time):
    from streaming_data_types.alarm_al00 import Severity
    from streaming_data_types.epics_connection_ep01 import ConnectionInfo
    from streaming_data_types.run_start_pl72 import DetectorSpectrumMap

    fields = {"source_name": "pv", "timestamp": time, "severity": "INVALID", "message": "→"}
    yield "al00", library.serialise_al00("pv", time, Severity.INVALID, "→"), fields
    fields = {"source_name": "pv", "timestamp": time, "status": "REMOTE_ERROR", "service_id": None}
    yield "ep01", library.serialise_ep01(time, ConnectionInfo.REMOTE_ERROR, "pv"), fields
    # A number that is no array: its shape is that of its bytes.
    variables = [da00_variable(name="n", data=7), da00_variable(name="t", data="text"), da00_variable(name="f", data=1.5)]
    plain = {"unit": None, "label": None, "source": None, "axes": []}
    data = [
        {"name": "n", **plain, "shape": [8], "data": {"type": "int64", "values": [7]}},
        {"name": "t", **plain, "shape": [4], "data": {"type": "text", "values": "text"}},
        {"name": "f", **plain, "shape": [8], "data": {"type": "float64", "values": [1.5]}},
    ]
    yield "da00", library.serialise_da00("x", time, variables), {"source_name": "x", "timestamp": time, "data": data}
    edges, counts = column(rng, "float64", 4), column(rng, "int64", 3)
    dimension = {"length": 3, "unit": "ns", "label": "tof"}
    histogram = {"source": "s", "timestamp": time, "current_shape": [3], "last_metadata_timestamp": time, "info": "i"}
    arrays = {"data": counts, "errors": edges[:3], "dim_metadata": [dimension | {"bin_boundaries": edges}]}
    wanted = {"data": numbers(counts), "errors": numbers(edges[:3]), "offset": []}
    wanted |= {"dim_metadata": [dimension | {"bin_boundaries": numbers(edges)}]}
    yield "hs01", library.serialise_hs01(histogram | arrays), histogram | wanted
    spectra = DetectorSpectrumMap(np.array([4, 5, 6]), np.array([1, 2, 3]), 3)
    bytes_ = library.serialise_pl72("job", "f.nxs", 5, 6, "r", "{}", "w", "loki", "b:1", "{}", spectra, "control")
    fields = {"start_time": 5, "stop_time": 6, "run_name": "r", "instrument_name": "loki", "nexus_structure": "{}"}
    fields |= {"job_id": "job", "broker": "b:1", "service_id": "w", "filename": "f.nxs", "n_periods": 1}
    fields |= {"metadata": "{}", "control_topic": "control"}
    fields["detector_spectrum_map"] = {"spectrum": [4, 5, 6], "detector_id": [1, 2, 3], "n_spectra": 3}
    yield "pl72", bytes_, fields
    fields = {"stop_time": 9, "run_name": "r", "job_id": "job", "service_id": "w", "command_id": "c", "abort": False}
    yield "6s4t", library.serialise_6s4t("job", "r", "w", "c", 9), fields
    stop = datetime.datetime.fromtimestamp(1.5, tz=datetime.timezone.utc)
    fields = {"service_id": "w", "job_id": "job", "action": "SetStopTime", "outcome": "Failure", "status_code": 400}
    fields |= {"stop_time": 1500, "message": "m", "command_id": "c"}
    yield "answ", library.serialise_answ("w", "job", "c", 1, 1, "m", 400, stop), fields
    fields = {"service_id": "w", "job_id": "job", "error_encountered": True, "file_name": "f", "metadata": None}
    yield "wrdn", library.serialise_wrdn("w", "job", True, "f", None, "m"), fields | {"message": "m"}
    fields = {"software_name": "s", "software_version": "v", "service_id": "w", "host_name": "h", "process_id": 7}
    fields |= {"update_interval": 8, "status_json": "{}"}
    yield "x5f2", library.serialise_x5f2(**fields), fields
    yield "json", library.serialise_json("[1]"), {"json": "[1]"}


def written_by_ess(rng, time, count):
    from streaming_data_types.fbschemas.epics_connection_info_ep00.EventType import EventType

    tof, ids = column(rng, "uint32", count), column(rng, "uint32", count)
    fields = {"source_name": "x", "message_id": 2**64 - 1, "pulse_time": time}
    columns = {"time_of_flight": tof.tolist(), "detector_id": ids.tolist()}
    isis = {"period_number": 3, "run_state": 0, "proton_charge": 0.25}
    bytes_ = library.serialise_ev42("x", 2**64 - 1, time, tof, ids, isis)
    yield "ev42", bytes_, fields | columns | {"facility": {"isis_data": isis | {"run_state": "SETUP"}}}
    yield "ev42", library.serialise_ev42("x", 2**64 - 1, time, tof, ids), fields | columns | {"facility": None}
    fields = {"source_name": "x", "message_id": 5, "pulse_time": [time, time], "pulse_index": [0, count]}
    yield "ev43", library.serialise_ev43("x", 5, [time, time], [0, count], tof, ids), fields | columns
    tof, ids, weight = column(rng, "int32", count), column(rng, "int32", count), column(rng, "int16", count)
    fields = {"source_name": "x", "message_id": 5, "reference_time": [time], "reference_time_index": [0]}
    fields |= {"time_of_flight": tof.tolist(), "pixel_id": ids.tolist(), "weight": weight.tolist()}
    yield "an44", library.serialise_an44("x", 5, [time], [0], tof, ids, weight), fields
    fields = {"source_name": "pv", "timestamp": time, "status": "DESTROYED", "service_id": "svc"}
    yield "ep00", library.serialise_ep00(time, EventType.DESTROYED, "pv", "svc"), fields
    fields = {"source_name": "pv", "timestamp": time, "status": "NO_CHANGE", "severity": "NO_CHANGE"}
    yield "f142", library.serialise_f142("text", "pv", time), fields | {"value": "text"}
    yield "f142", library.serialise_f142(["a", "→"], "pv", time), fields | {"value": ["a", "→"]}
    counts, edges = column(rng, "uint64", 2), column(rng, "float64", 3)
    dimension = {"length": 2, "unit": "ns", "label": "tof"}
    fields = {"source": "s", "timestamp": time, "current_shape": [2], "last_metadata_timestamp": time, "info": "i"}
    arrays = {"data": counts, "dim_metadata": [dimension | {"bin_boundaries": edges}]}
    wanted = {"data": numbers(counts), "errors": None, "offset": []}
    wanted |= {"dim_metadata": [dimension | {"bin_boundaries": numbers(edges)}]}
    yield "hs00", library.serialise_hs00(fields | arrays), fields | wanted
    fields = {"name": "Chopper", "timestamps": [time, time + 1], "sequence_counter": 9}
    yield "tdct", library.serialise_tdct("Chopper", [time, time + 1], 9), fields
    for kind in KINDS:
        values = column(rng, kind, 2)
        fields = {"name": "adc", "channel": 3, "packet_timestamp": time, "time_delta": 4.0, "timestamp_location": "middle"}
        fields |= {"values": numbers(values), "message_counter": 6}
        bytes_ = library.serialise_se00("adc", 3, time, 4, 6, values, value_timestamps=[time, time + 1])
        yield "se00", bytes_, fields | {"timestamps": [time, time + 1]}
        if not kind.startswith("float"):
            second = datetime.datetime.fromtimestamp(1000, tz=datetime.timezone.utc)
            bytes_ = library.serialise_senv("adc", 3, second, 4, 6, values)
            yield "senv", bytes_, fields | {"packet_timestamp": 10**12, "timestamps": [], "layout": "union"}


def written_by_isis(rng, time):
    fields = {"source_name": "scb", "message_id": 5, "reference_time": time}
    given = {"vetos": 2**32 - 1, "period_number": 0, "proton_charge": 0.5}
    yield "pu00", library.serialise_pu00("scb", 5, time, **given), fields | given
    absent = dict.fromkeys(given)
    yield "pu00", library.serialise_pu00("scb", 5, time, **absent), fields | absent
    for units in [None, "", "K"]:
        yield "un00", library.serialise_un00("pv", time, units), {"source_name": "pv", "timestamp": time, "units": units}
    names = [f"veto {rng.randrange(100)}" for _ in range(32)]
    fields = {"timestamp": time, "vetoes": 5, "veto_names": names}
    yield "vc00", library.serialise_vc00(time, 5, [name.encode() for name in names]), fields


def write(folder):
    expected = []
    for seed in range(5):
        for schema, message, fields in written(random.Random(seed)):
            name = f"{len(expected)}-{schema}"
            (Path(folder) / name).write_bytes(message)
            expected.append([name, fields | {"schema": schema}])
    with open(Path(folder) / "expected.json", "w", encoding="utf-8") as file:
        json.dump(expected, file)
    print(len(expected))


if __name__ == "__main__":
    {"read": read, "write": write, "schemas": schemas}[sys.argv[1]](*sys.argv[2:])
