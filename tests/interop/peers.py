"""Read tables with a Python peer: queries on standard input, one JSON a line, an answer for each.

usage: peers.py pypaimon|pypaimon_rust WAREHOUSE      (in the environment .deps/venv-peers)

An answer is {"rows": N, "digest": ...}, where the digest stands for the bag of rows in the form of
reference/golden/check_peers.py, or {"error": ...}.
"""
import hashlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference/golden"))
sys.dont_write_bytecode = True
import check_peers  # noqa: E402


def digest(rows):
    bag = check_peers.bag(rows)
    return {"rows": sum(bag.values()), "digest": hashlib.sha256("\n".join(sorted(bag.elements())).encode()).hexdigest()}


def main():
    peer, warehouse = sys.argv[1:]
    read = check_peers.read_python if peer == "pypaimon" else check_peers.read_rust
    for line in sys.stdin:
        try:
            answer = digest(read(warehouse, json.loads(line)))
        except BaseException as e:  # Rust panics are BaseExceptions
            answer = {"error": " ".join(f"{type(e).__name__}: {e}".split())[:200]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
