"""profd's two sockets by hand, for what no client would say: the door, HTTP/2 frames, gRPC calls. Standard library only."""
import array
import contextlib
import itertools
import os
import selectors
import socket
import ssl
import struct
import time
import urllib.parse

WELCOME, MALFORMED, VERSION, BUSY, OUTPUT_DIR, FAILED = range(6)
HELLO = struct.pack("=IHBB", 0x52444650, 1, 1, 0)
HELLO_AGENT = struct.pack("=IHBB", 0x52444650, 1, 2, 0)
HELLO_OUTPUT = struct.pack("=IHBB", 0x52444650, 1, 1, 1)

OK, UNKNOWN_CODE, INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, UNAUTHENTICATED = 0, 2, 3, 5, 7, 8, 12, 16

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4


def connect(to, path, timeout=60):
    """Waits where very many wait to be let in, which Python's own time-out does not."""
    to.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("qq", timeout, 0))
    to.connect(path)
    to.settimeout(timeout)


class Door:
    """A knock: `status`, `reason`, and `ticket` for as long as it lives."""

    def __init__(self, path, message=HELLO, descriptors=()):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connect(self.socket, str(path) + ".door")
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self.socket.sendmsg([message], ancillary)
        try:
            answer, passed, _, _ = socket.recv_fds(self.socket, 512, 8)
        except ConnectionResetError:
            answer, passed = b"", []
        for each in passed:
            socket.close(each)
        self.status, self.ticket, self.reason = None, "", ""
        if len(answer) == 256:
            _, _, self.status, ticket, _, reason = struct.unpack("=IHH64s32s152s", answer)
            self.ticket = ticket.rstrip(b"\0").decode()
            self.reason = reason.split(b"\0")[0].decode()

    def close(self):
        self.socket.close()


def frame(kind, flags, stream, payload=b"", length=None):
    return struct.pack(">I", len(payload) if length is None else length)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _integer(value, bits, first=0):
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = bytes([first | most]), value - most
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def header_block(headers):
    block = b""
    for name, value in headers:
        name, value = name.encode(), value if isinstance(value, bytes) else value.encode()
        block += b"\0" + _integer(len(name), 7) + name + _integer(len(value), 7) + value
    return block


def call_headers(method, ticket=None, more=()):
    headers = [(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost"),
               ("content-type", "application/grpc"), ("te", "trailers")]
    return headers + ([("profd-ticket", ticket)] if ticket is not None else []) + list(more)


def message(body):
    return b"\0" + struct.pack(">I", len(body)) + body


class Call:
    """What became of one gRPC call: `code` None while it goes on, or when the connection ended; `data` is the newest frame of it,
    `body` all that came where that is to be kept."""

    def __init__(self):
        self.code, self.text, self.messages, self.data, self.body = None, "", 0, b"", None

    @property
    def session(self):
        """Of the SessionInfo that came: its first field."""
        return self.data[7:7 + self.data[6]].decode()


class Connection:
    """HTTP/2 on the control socket, or on one that is `connected`, far enough for unary calls and streams."""

    def __init__(self, path=None, preface=True, timeout=60, connected=None):
        self.socket = connected or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if connected is None:
            connect(self.socket, str(path))
        self.socket.settimeout(timeout)
        self.calls, self.table, self.next_stream, self.received = {}, [], 1, b""
        if preface:
            # Room for all that comes on the connection.
            self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", (1 << 31) - (1 << 16))))

    def begin(self, method, body=b"", ticket=None, whole=True, keep=False):
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.calls[stream] = Call()
        self.calls[stream].body = b"" if keep else None
        self.socket.sendall(frame(HEADERS, END_HEADERS, stream, header_block(call_headers(method, ticket))))
        if keep:  # all of it: more than a stream's first window may be to come
            self.socket.sendall(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 1 << 30)))
        if whole:
            self.socket.sendall(frame(DATA, END_STREAM, stream, message(body)))
        return self.calls[stream]

    def call(self, method, body=b"", ticket=None):
        call = self.begin("/profd.v1.Control/" + method, body, ticket)
        while call.code is None and self.read():
            pass
        return call

    def read(self):
        """One frame; False at the connection's end."""
        head = self._exactly(9)
        if head is None:
            return False
        length, kind, flags, stream = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:9], "big")
        payload = self._exactly(length)
        if payload is None:
            return False
        if kind == SETTINGS and not flags & ACK:
            self._send(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self._send(frame(PING, ACK, 0, payload))
        elif kind == DATA and stream in self.calls:
            self.calls[stream].messages += 1
            self.calls[stream].data = payload or self.calls[stream].data
            if self.calls[stream].body is not None:
                self.calls[stream].body += payload
        elif kind == RST and stream in self.calls:
            self.calls[stream].code = self.calls[stream].code or UNKNOWN_CODE
        elif kind == HEADERS:
            headers = dict(self._decode(payload))
            call = self.calls.get(stream)
            if call is not None and "grpc-status" in headers:
                call.code = int(headers["grpc-status"])
                call.text = urllib.parse.unquote(headers.get("grpc-message", ""))
        return True

    def cancel(self, call):
        stream = next(number for number, each in self.calls.items() if each is call)
        self._send(frame(RST, 0, stream, b"\0\0\0\x08"))

    def ended(self):
        """Waits for profd to close."""
        try:
            while self.read():
                pass
        except TimeoutError:
            return False
        return True

    def close(self):
        self.socket.close()

    def _send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass

    def _exactly(self, count):
        while len(self.received) < count:
            try:
                more = self.socket.recv(65536)
            except (ConnectionError, ssl.SSLError):
                return None
            if not more:
                return None
            self.received += more
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def _decode(self, block):
        at = 0

        def integer(bits):
            nonlocal at
            value, at = block[at] & ((1 << bits) - 1), at + 1
            shift = 0
            while value >= (1 << bits) - 1:
                value, shift, more, at = value + ((block[at] & 127) << shift), shift + 7, block[at] & 128, at + 1
                if not more:
                    break
            return value

        def text():
            nonlocal at
            size = integer(7)
            taken, at = block[at:at + size], at + size
            return taken.decode("latin-1")  # what is Huffman-coded is nothing we look at

        def entry(index):
            return self.table[index - 62] if 62 <= index < 62 + len(self.table) else (f"static-{index}", "")

        while at < len(block):
            first = block[at]
            if first & 0x80:
                yield entry(integer(7))
            elif first & 0xe0 == 0x20:
                integer(5)
            else:
                bits = 6 if first & 0x40 else 4
                index = integer(bits)
                name = entry(index)[0] if index else text()
                value = text()
                if first & 0x40:
                    self.table.insert(0, (name, value))
                yield name, value


def from_addresses(port, count):
    """For flood(): connections over TCP, of so many addresses of loopback in turn."""
    addresses = itertools.cycle(f"127.0.0.{2 + number}" for number in range(count))

    def begin():
        each = socket.socket()
        each.setblocking(False)
        each.bind((next(addresses), 0))
        with contextlib.suppress(BlockingIOError):
            each.connect(("127.0.0.1", port))
        return each
    return begin


def flood(path, data, connections, seconds, begin=None):
    """Says `data` on so many connections as fast as it goes, hears what comes, and begins anew where one has ended. Those to
    `path`, or what `begin` makes."""
    os.nice(10)  # it is not the machine's processors that are attacked
    selector = selectors.DefaultSelector()
    missing, end = connections, time.monotonic() + seconds
    while time.monotonic() < end:
        while missing > 0:
            each = begin() if begin else socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            each.setblocking(False)
            try:
                if begin is None:
                    each.connect(str(path))
            except OSError:  # too many wait to be let in
                each.close()
                break
            selector.register(each, selectors.EVENT_READ | selectors.EVENT_WRITE, memoryview(data))
            missing -= 1
        for key, events in selector.select(0.1):
            try:
                if events & selectors.EVENT_READ and not key.fileobj.recv(65536):
                    raise ConnectionResetError
                if events & selectors.EVENT_WRITE:
                    rest = key.data[key.fileobj.send(key.data[:65536]):]
                    selector.modify(key.fileobj, selectors.EVENT_READ | (selectors.EVENT_WRITE if rest else 0), rest)
            except BlockingIOError:
                pass
            except OSError:
                selector.unregister(key.fileobj)
                key.fileobj.close()
                missing += 1
    return [key.fileobj for key in selector.get_map().values()]


def text_field(number, text):
    data = text if isinstance(text, bytes) else text.encode()
    return _integer(number << 3 | 2, 8) + varint(len(data)) + data


def messages_of(body):
    """Of a stream: each message without what is in front of it."""
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at + 1:at + 5], "big")
        yield body[at + 5:at + 5 + size]
        at += 5 + size


def fields_of(body):
    """Number and value of a message's fields: bytes, or a number."""
    at = 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte, at = body[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if not byte & 128:
                return value

    while at < len(body):
        key = number()
        value = number()
        if key & 7 == 2:
            at, value = at + value, body[at:at + value]
        yield key >> 3, value


def varint(value):
    out = b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def start_request(pids=(), kinds=()):
    spec = b"".join(text_field(1, text_field(1, kind)) for kind in kinds)
    spec += b"".join(b"\x18" + varint(pid) for pid in pids)
    return text_field(1, spec)
