"""A door to a PostgreSQL server that breaks connections at a chosen message of the client."""

import select
import socket
import threading
import time
from pathlib import Path

BEFORE, DURING, AFTER = "before the server has it", "while the server works on it", "after the server has answered"


class Door:
    """Listens in `folder` as a server would, and passes everything on, until the message `at` (from 0) of all.

    passed: messages of clients so far. closed: nobody is let in any more.
    """

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder, self.server = folder, server / ".s.PGSQL.5432"
        self.at, self.when, self.passed, self.closed = None, BEFORE, 0, False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / ".s.PGSQL.5432"))
        self.listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self, at, when, *, close=False):
        """Break the connection at a message, counted from now; close: and let nobody in afterwards."""
        self.at, self.when, self.passed, self.closes, self.closed = at, when, 0, close, False

    def _serve(self):
        while True:
            client, _ = self.listener.accept()
            if self.closed:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self.server))
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _carry(self, client, server):
        try:
            while self._passed_on(client, server):
                pass
        except OSError:
            pass
        finally:
            client.close()
            server.close()

    def _passed_on(self, client, server):
        """Whether the connection lives on."""
        ready, _, _ = select.select([client, server], [], [])
        if server in ready:
            answer = server.recv(1 << 16)
            client.sendall(answer)
            return bool(answer)
        message = client.recv(1 << 16)
        if not message:
            return False
        number, self.passed = self.passed, self.passed + 1
        if number != self.at:
            server.sendall(message)
            return True
        self.closed = self.closes
        if self.when != BEFORE:
            server.sendall(message)
        if self.when == AFTER:
            server.recv(1 << 16)
            time.sleep(0.02)
        return False
