"""The released Java library behind `paimon-ref serve`: one JVM, many commands."""
import json
import os
import subprocess
import threading
from pathlib import Path

TOOL = Path(os.environ.get("PAIMON_REF") or Path(__file__).resolve().parents[2] / "reference/paimon-ref")


class JavaError(Exception):
    """Java refused a command; the text is its error."""


class Java:
    def __init__(self):
        self.lock = threading.Lock()
        self.start()

    def start(self):
        log = os.environ.get("PAIMON_REF_LOG")
        self.process = subprocess.Popen([str(TOOL), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(log, "a") if log else subprocess.DEVNULL, text=True, encoding="utf-8",
                                        env={**os.environ, "LC_ALL": "C.UTF-8"})  # names of files are UTF-8

    def __call__(self, *words):
        """Run one command; returns its lines of JSON as text. A JVM that dies of a command is started again."""
        with self.lock:
            lines = []
            try:
                self.process.stdin.write(json.dumps([str(w) for w in words]) + "\n")
                self.process.stdin.flush()
                for line in self.process.stdout:
                    if line.startswith('{"_rc":'):
                        end = json.loads(line)
                        if end["_rc"]:
                            raise JavaError(end.get("_error", "?"))
                        return lines
                    lines.append(line.rstrip("\n"))
            except BrokenPipeError:
                pass
            status = self.process.wait()
            self.start()
        raise JavaError(f"the JVM died: exit {status}")

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait(30)
