"""A process that takes a task as a line of JSON and answers with events, one on a line; {"event": "done"} ends them."""

import json
import os
import select
import signal
import subprocess


class WorkerProcess:
    """A process of its own group, so that what it has started ends with it."""

    def __init__(self, command, silence_seconds, environment=None):
        self.silence_seconds, self.rest = silence_seconds, b""
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True, env=environment)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ask(self, task):
        self.process.stdin.write(json.dumps(task).encode() + b"\n")
        self.process.stdin.flush()

    def events(self):
        """Until the task is done. TimeoutError when nothing comes, EOFError when it died."""
        while True:
            while b"\n" not in self.rest:
                if not select.select([self.process.stdout], [], [], self.silence_seconds)[0]:
                    raise TimeoutError
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                if not data:
                    raise EOFError
                self.rest += data
            line, self.rest = self.rest.split(b"\n", 1)
            event = json.loads(line)
            if event["event"] == "done":
                return
            yield event
