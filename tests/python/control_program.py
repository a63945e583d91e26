"""A control program of the ESS's kind: makes the messages that it sends, and reads what a file writer answers.

    control_program.py make FOLDER JOB COMMAND CONTROL_TOPIC FILE    writes FOLDER/start and FOLDER/stop
    control_program.py read FOLDER                                    FOLDER/0, FOLDER/1, …: a line of JSON for each message

`cargo test -p evforge-filewriter --test control python` runs it, in the environment of the library of the ESS.
"""

import json
import sys
from pathlib import Path

import streaming_data_types as library
from streaming_data_types.utils import get_schema


def make(folder, job, command, control_topic, file):
    structure = {"children": [{"type": "group", "name": "entry", "children": []}]}
    start = library.serialise_pl72(
        job_id=job,
        filename=file,
        run_name="a run",
        nexus_structure=json.dumps(structure),
        metadata=json.dumps({"proposal": 20261123}),
        control_topic=control_topic,
    )
    stop = library.serialise_6s4t(job_id=job, run_name="a run", command_id=command)
    (folder / "start").write_bytes(start)
    (folder / "stop").write_bytes(stop)


def plain(value):
    """What JSON has no form for: times and names of enumerations."""
    return value.name if hasattr(value, "name") else str(value)


def read(folder):
    for number in range(len(list(folder.iterdir()))):
        message = (folder / str(number)).read_bytes()
        schema = get_schema(message)
        read_as = getattr(library, f"deserialise_{schema}")
        print(json.dumps({"schema": schema} | read_as(message)._asdict(), default=plain))


if __name__ == "__main__":
    command, folder, *arguments = sys.argv[1:]
    {"make": make, "read": read}[command](Path(folder), *arguments)
