"""Configurations against their JSON Schema. Arguments: the schema and any number of configurations.

Prints a JSON list for each of them: the keys that are wrong, as evforge writes them (`gdgem.mapping[0].vmm`).
"""

import json
import sys
import tomllib

from jsonschema import Draft202012Validator


def name(path):
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def keys(error):
    """The keys that an error is about: the unknown ones, those that are missing, or the one whose value is wrong."""
    path = list(error.absolute_path)
    if error.validator == "additionalProperties":
        return [path + [key] for key in error.instance if key not in error.schema.get("properties", {})]
    if error.validator == "required":
        return [path + [key] for key in error.validator_value if key not in error.instance]
    if error.validator == "dependentRequired":
        needed = {key for first, others in error.validator_value.items() if first in error.instance for key in others}
        return [path + [key] for key in needed if key not in error.instance]
    return [path]


schema, *configurations = sys.argv[1:]
with open(schema) as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
for configuration in configurations:
    with open(configuration, "rb") as file:
        errors = validator.iter_errors(tomllib.load(file))
        print(json.dumps(sorted({name(path) for error in errors for path in keys(error)})))
