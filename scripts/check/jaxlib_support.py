"""What the scripts share that compare us with jaxlib: its virtual environment, jaxlib in a process
of its own, and the structs of remat_hlo.h for ctypes."""

import ctypes
import pathlib
import re
import select
import struct
import subprocess

HEADER = pathlib.Path(__file__).resolve().parents[2] / "include" / "remat_hlo.h"


def venv_python(folder):
    """The Python of a virtual environment with jaxlib, which is made when it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        base = next((p for p in ("python3.13", "python3.12", "python3")
                     if subprocess.run(["which", p], capture_output=True).returncode == 0), None)
        subprocess.run([base, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "jaxlib"], check=True)
    return str(python)


# ---- jaxlib in a process of its own ----

# Requests, and each part of an answer, come behind their length.
WORKER_LOOP = r"""
import struct, sys
while True:
    head = sys.stdin.buffer.read(4)
    if len(head) < 4: break
    for data in answer(sys.stdin.buffer.read(struct.unpack('<I', head)[0])):
        sys.stdout.buffer.write(struct.pack('<I', len(data)) + data)
    sys.stdout.buffer.flush()
"""


class Worker:
    """A process that is asked by bytes, and started again when it dies or hangs: XLA does both on
    some texts. `program` is Python that defines answer(request), which gives a list of bytes."""

    def __init__(self, python, program, timeout_seconds):
        self.command = [python, "-c", program + WORKER_LOOP]
        self.timeout_seconds = timeout_seconds
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)

    def restart(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def request(self, data, num_parts):
        """The parts of the answer. TimeoutError when the process hung, EOFError when it died."""
        try:
            self.process.stdin.write(struct.pack("<I", len(data)) + data)
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], self.timeout_seconds)[0]:
                self.restart()
                raise TimeoutError
            parts = []
            for _ in range(num_parts):
                head = self.process.stdout.read(4)
                if len(head) < 4:
                    break
                parts.append(self.process.stdout.read(struct.unpack("<I", head)[0]))
            if len(parts) == num_parts:
                return parts
        except BrokenPipeError:
            pass
        self.restart()
        raise EOFError


# ---- structs of remat_hlo.h ----

class Text(ctypes.Structure):  # rh_text; it does not end in NUL, as c_char_p would have it
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]


C_TYPES = {"bool": ctypes.c_bool, "const char *": ctypes.c_char_p, "int64_t": ctypes.c_int64,
           "rh_code": ctypes.c_int, "rh_copies": ctypes.c_int, "rh_severity": ctypes.c_int,
           "rh_text": Text, "size_t": ctypes.c_size_t,
           "uint64_t": ctypes.c_uint64}


def fields_of(name):
    """The fields of a struct that the library makes, read from the header: later ones may have more
    behind them. Fails on anything but plain fields of C_TYPES."""
    header = re.sub(r"/\*.*?\*/|//[^\n]*", "", HEADER.read_text(), flags=re.S)
    body = re.search(r"struct %s \{(.*?)\}" % name, header, re.S)[1]
    fields = []
    for declaration in body.split(";")[:-1]:
        kind, field = re.fullmatch(r"(.*?)\s*(\w+)", declaration.strip()).groups()
        fields.append((field, C_TYPES[kind]))
    return fields


class Diag(ctypes.Structure):
    _fields_ = fields_of("rh_diag")


class Info(ctypes.Structure):
    _fields_ = fields_of("rh_module_info")
