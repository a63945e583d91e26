#!/usr/bin/env bash
# Makes .venv-messages-isis with the message library of ISIS, which needs Python 3.12: more than Debian 12 has. Where none is
# found, there is no such environment, and the tests that want it say that they were skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
new_enough='import sys, venv; sys.exit(sys.version_info < (3, 12))'
for python in python3 python3.1{2..9} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python; do
    if "$python" -c "$new_enough" 2>/dev/null; then
        "$python" -m venv .venv-messages-isis
        .venv-messages-isis/bin/pip install --quiet --disable-pip-version-check -r tests/python/requirements-messages-isis.txt
        exit
    fi
done
echo "no Python 3.12 or later: the tests with the message library of ISIS will be skipped"
