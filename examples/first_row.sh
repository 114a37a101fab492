#!/bin/sh
# Events that come more than once are passed on once.
#
#   examples/first_row.sh FOLDER
#
# Makes a warehouse in FOLDER. Of all events with one id the table keeps the first (merge-engine=first-row), and its changelog
# (changelog-producer=lookup) has each id once: whoever follows the table gets events without repetitions.
set -eu
mkdir -p "$1"
cd "$1"
mkdir -p warehouse
export TARN_WAREHOUSE=warehouse
tarn db create web
tarn table create web.events --schema - <<'SCHEMA'
{"fields": [{"name": "id", "type": "STRING NOT NULL"}, {"name": "user", "type": "BIGINT"}, {"name": "page", "type": "STRING"}],
 "primaryKeys": ["id"], "options": {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"}}
SCHEMA
# Deliveries, two of which repeat what was there before.
tarn table write web.events <<'ROWS'
{"id": "a", "user": 1, "page": "/"}
{"id": "b", "user": 2, "page": "/shop"}
{"id": "a", "user": 1, "page": "/"}
ROWS
tarn table tail web.events --state events.state --until-idle
tarn table write web.events <<'ROWS'
{"id": "b", "user": 2, "page": "/shop"}
{"id": "c", "user": 1, "page": "/cart"}
ROWS
tarn table tail web.events --state events.state --until-idle
