"""The door of this node's profd (libagent/abi/door.h): who calls, and the directory that is to be written to."""
import array
import socket
import struct

_MAGIC, _VERSION, _CLIENT = 0x52444650, 1, 1
_WELCOME, _BUSY = 0, 3


class Refused(Exception):
    """`is_busy`: too many are there already; else it is no door of ours."""

    def __init__(self, text, is_busy=False):
        super().__init__(text)
        self.is_busy = is_busy


class Door:
    """`ticket` is good while it is open."""

    def __init__(self, path, output_fd=None, timeout=10):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(timeout)
        passed = [] if output_fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [output_fd]))]
        try:
            self._socket.connect(f"{path}.door")
            self._socket.sendmsg([struct.pack("=IHBB", _MAGIC, _VERSION, _CLIENT, 1 if passed else 0)], passed)
            answer = self._socket.recv(512)
        except OSError as error:
            self.close()
            raise Refused(f"no profd at {path} ({error.strerror or error}): start it, or name its socket") from None
        if len(answer) != 256:
            self.close()
            raise Refused(f"{path}.door is not profd's door")
        magic, version, status, ticket, _, reason = struct.unpack("=IHH64s32s152s", answer)
        if magic != _MAGIC or version != _VERSION or status != _WELCOME:
            self.close()
            raise Refused(reason.split(b"\0")[0].decode(errors="replace") or "profd's door speaks another version",
                          status == _BUSY)
        self.ticket = ticket.decode()

    def close(self):
        self._socket.close()
