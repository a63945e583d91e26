"""A receiver of lines for Graphite that is at times not there, and at times takes nothing."""

import random
import socket
import threading


class Graphite:
    """Listens at a port of this host."""

    def __init__(self, seed: int):
        self.chance = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.5)
        self.port = self.listener.getsockname()[1]
        self.lines = 0
        self.connections = 0
        self.bad: list[str] = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join(60)
        self.listener.close()

    def _listen(self) -> None:
        while not self.stopped.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                continue
            self.connections += 1
            # One after the other: meanwhile others wait, as with a server that is behind.
            with connection:
                connection.settimeout(0.5)
                self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        rest = b""
        takes = self.chance.uniform(2, 40)
        while not self.stopped.is_set() and takes > 0:
            try:
                piece = connection.recv(1 << 16)
            except TimeoutError:
                takes -= 0.5
                continue
            except OSError:
                return
            if not piece:
                return
            *lines, rest = (rest + piece).split(b"\n")
            self.lines += len(lines)
            self.bad += [line.decode(errors="replace") for line in lines if len(line.split(b" ")) != 3][: 5 - len(self.bad)]
            takes -= 0.05
            if self.chance.random() < 0.01:
                self.stopped.wait(self.chance.uniform(1, 8))
