"""Clients of a run: browsers that read, stall and leave, requests by HTTP, and the command port, good and bad."""

import base64
import json
import os
import random
import socket
import struct
import threading
import time
import urllib.parse
from collections import Counter

# In seconds.
TIMEOUT = 10.0
PATHS = [
    "/", "/api/health", "/api/state.json", "/api/pictures.json", "/api/image.bin", "/api/image.json", "/api/image.png",
    "/api/spectrum.json", "/api/spectrum.png", "/api/series.json", "/api/history.json", "/api/beam.json", "/metrics", "/monitor.json",
    "/api/control/state", "/api/control/counters", "/api/control/parameters", "/api/control/configuration",
    "/api/nothing", "/api/image.json?picture=99", "/../../etc/passwd",
]
COMMANDS = [b"STAT_GET_COUNT", b"STAT_GET 1", b"STAT_GET_NAME detector.events", b"VERSION_GET", b"DETECTOR_INFO_GET", b"RUNTIMESTATS",
            b"CMD_GET_COUNT", b"CMD_GET 999", b"NO_SUCH_COMMAND", b"\xff\x00\xfe", b" ", b"STAT_GET " + b"9" * 8000]


class Clients:
    """Threads that each are one client after the other, by numbers of a seed, until they are stopped."""

    def __init__(self, view: str, command_port: int | None, seed: int, count: int):
        self.address = urllib.parse.urlsplit(view)
        self.command_port = command_port
        self.stopped = threading.Event()
        self.done: Counter[str] = Counter()
        self.problems: list[str] = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._work, args=(random.Random(seed + number),), daemon=True)
                        for number in range(count)]
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """All have left when this returns."""
        self.stopped.set()
        for thread in self.threads:
            thread.join(2 * TIMEOUT)

    def _work(self, chance: random.Random) -> None:
        kinds = [self._reads, self._stalls, self._asks, self._half_a_request, self._breaks_the_protocol, self._leaves_at_once]
        kinds += [self._commands, self._commands] if self.command_port else []
        while not self.stopped.is_set():
            kind = chance.choice(kinds)
            try:
                kind(chance)
                outcome = "done"
            except OSError:
                # The program is killed at times, and refuses whom there is no room for.
                outcome = "cut"
            with self.lock:
                self.done[f"{kind.__name__.strip('_')}: {outcome}"] += 1
            self.stopped.wait(chance.uniform(0.02, 0.4))

    def _connect(self) -> socket.socket:
        return socket.create_connection((self.address.hostname, self.address.port), TIMEOUT)

    def _pause(self, chance: random.Random, longest: float) -> None:
        self.stopped.wait(chance.uniform(0.1, longest))

    def _upgrade(self, connection: socket.socket) -> bytes:
        """Opens a WebSocket: what came behind the header of the answer."""
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall(f"GET /api/live HTTP/1.1\r\nHost: {self.address.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(4096)
            if not piece:
                raise OSError("closed")
            head += piece
        head, rest = head.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise OSError("no WebSocket")
        return rest

    def _reads(self, chance: random.Random) -> None:
        """A browser: it acknowledges every update, and leaves after some seconds, politely or not."""
        with self._connect() as connection:
            incoming = Frames(connection, self._upgrade(connection))
            until = time.monotonic() + chance.uniform(0.5, 15)
            while time.monotonic() < until and not self.stopped.is_set():
                kind, payload = incoming.next()
                if kind == 8:
                    return
                if kind == 9:
                    connection.sendall(masked(10, payload))
                number = update_number(payload) if kind == 1 else None
                if number is not None:
                    connection.sendall(masked(1, b"ack %d" % number))
            if chance.random() < 0.5:
                connection.sendall(masked(8, struct.pack(">H", 1000)))
            self._perhaps_reset(connection, chance)

    def _stalls(self, chance: random.Random) -> None:
        """A browser that reads nothing any more, longer than the program puts up with at times."""
        with self._connect() as connection:
            self._upgrade(connection)
            self._pause(chance, 30)
            self._perhaps_reset(connection, chance)

    def _asks(self, chance: random.Random) -> None:
        """Requests, some of which make no sense; some answers are not read to their end."""
        with self._connect() as connection:
            for _ in range(chance.randint(1, 8)):
                path = chance.choice(PATHS)
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {self.address.netloc}\r\nConnection: close\r\n\r\n".encode())
                if chance.random() < 0.2:
                    connection.recv(100)
                    return
                while connection.recv(1 << 16):
                    pass
                return

    def _half_a_request(self, chance: random.Random) -> None:
        with self._connect() as connection:
            connection.sendall(b"GET /api/state.json HTTP/1.1\r\nHost: ")
            self._pause(chance, 12)

    def _breaks_the_protocol(self, chance: random.Random) -> None:
        with self._connect() as connection:
            self._upgrade(connection)
            connection.sendall(chance.choice([masked(1, b"ack 99999999"), masked(1, b"nonsense"), masked(2, b"\0" * 300), b"\xff" * 40]))
            self._pause(chance, 1)

    def _leaves_at_once(self, chance: random.Random) -> None:
        with self._connect() as connection:
            self._perhaps_reset(connection, chance)

    def _commands(self, chance: random.Random) -> None:
        with socket.create_connection(("127.0.0.1", self.command_port), TIMEOUT) as connection:
            for _ in range(chance.randint(1, 20)):
                connection.sendall(chance.choice(COMMANDS))
                if chance.random() < 0.1:
                    break
                connection.recv(1 << 14)
            self._perhaps_reset(connection, chance)

    @staticmethod
    def _perhaps_reset(connection: socket.socket, chance: random.Random) -> None:
        if chance.random() < 0.5:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Frames:
    """Frames of a WebSocket."""

    def __init__(self, connection: socket.socket, begun: bytes):
        self.connection, self.buffer = connection, begun

    def _take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            piece = self.connection.recv(1 << 16)
            if not piece:
                raise OSError("closed")
            self.buffer += piece
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def next(self) -> tuple[int, bytes]:
        """Kind and content."""
        first, second = self._take(2)
        length = second & 0x7F
        if length == 126:
            [length] = struct.unpack(">H", self._take(2))
        elif length == 127:
            [length] = struct.unpack(">Q", self._take(8))
        return first & 0x0F, self._take(length)


def masked(kind: int, payload: bytes) -> bytes:
    """A frame of a client."""
    length = len(payload)
    head = bytes([0x80 | kind]) + (bytes([0x80 | length]) if length < 126 else bytes([0x80 | 126]) + struct.pack(">H", length))
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))


def update_number(payload: bytes) -> int | None:
    """The number of an update; none in the greeting."""
    message = json.loads(payload)
    return None if "protocol" in message else message.get("number")
