"""Checks docs/openapi.json by itself, and answers of a real server against it.

    python check_openapi.py docs/openapi.json answers.json

`answers.json` is a list of objects with `method`, `path` (as the document has it), `status` and `body`.
"""

import json
import sys

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    validate(document)
    with open(sys.argv[2], encoding="utf-8") as file:
        answers = json.load(file)
    for answer in answers:
        place = f"{answer['method']} {answer['path']} with {answer['status']}"
        operation = document["paths"][answer["path"]][answer["method"].lower()]
        response = operation["responses"].get(str(answer["status"]))
        assert response is not None, f"{place} is not in the document"
        schema = response["content"]["application/json"]["schema"]
        # With the components in it, references are found.
        whole = {**schema, "components": document["components"]}
        errors = [error.message for error in Draft202012Validator(whole).iter_errors(answer["body"])]
        assert not errors, f"{place}: {errors}"
    print(f"{len(answers)} answers are as the document says")


if __name__ == "__main__":
    main()
