#!/bin/sh
# Sums that are kept right while what they sum up changes.
#
#   examples/aggregate.sh FOLDER
#
# Makes a warehouse in FOLDER. The table of orders tells the old and the new row of each change (changelog-producer=lookup); the
# table of sums takes the old one off and adds the new one (merge-engine=aggregation).
set -eu
mkdir -p "$1"
cd "$1"
mkdir -p warehouse
export TARN_WAREHOUSE=warehouse
tarn db create shop
tarn table create shop.orders --schema - <<'SCHEMA'
{"fields": [{"name": "id", "type": "BIGINT NOT NULL"}, {"name": "product", "type": "STRING"}, {"name": "amount", "type": "DECIMAL(10, 2)"}],
 "primaryKeys": ["id"], "options": {"bucket": "1", "changelog-producer": "lookup"}}
SCHEMA
tarn table create shop.sales --schema - <<'SCHEMA'
{"fields": [{"name": "product", "type": "STRING NOT NULL"}, {"name": "amount", "type": "DECIMAL(20, 2)"}],
 "primaryKeys": ["product"], "options": {"bucket": "1", "merge-engine": "aggregation", "fields.amount.aggregate-function": "sum"}}
SCHEMA

# Add what happened since the last time; the same call again and again, or once without --until-idle.
add_up() {
  tarn table tail shop.orders --select product,amount --state orders.state --until-idle |
    tarn table write shop.sales --follow --state sales.state
}

tarn table write shop.orders <<'ROWS'
{"id": 1, "product": "tea", "amount": "5.30"}
{"id": 2, "product": "tea", "amount": "10.60"}
{"id": 3, "product": "jam", "amount": "4.10"}
ROWS
add_up
# An order gets another product, one another amount, one is cancelled.
tarn table write shop.orders <<'ROWS'
{"id": 1, "product": "jam", "amount": "4.10"}
{"id": 2, "product": "tea", "amount": "21.20"}
{"id": 3, "_row_kind": "-D"}
ROWS
add_up
tarn table read shop.sales
