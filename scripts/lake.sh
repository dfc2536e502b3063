#!/usr/bin/env bash
# Fetches the library of `profctl sql`, by the version and hash in client/lake/package-lock.json, into build/lake.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
fetch_lake
