"""A file system by hand, over /dev/fuse: a folder "folder" and a file "file", and files without a name (O_TMPFILE), which the
kernel's own library does not make. From hang() on it takes every question and answers none, so not even a signal ends who asked."""
import ctypes
import errno
import os
import stat
import struct
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, INIT, OPENDIR, INTERRUPT, TMPFILE = 1, 2, 3, 14, 15, 17, 26, 27, 36, 51
FLUSH, RELEASE, RELEASEDIR = 25, 18, 29
NODES = {b"file": 2, b"folder": 3}
CONTENT = b"x" * 4096
LIBC = ctypes.CDLL(None, use_errno=True)


class HangingFs:
    def __init__(self, where, owner):
        self.where, self.owner, self.hangs = str(where), owner, False
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40755,user_id={owner},group_id={owner},allow_other"
        if LIBC.mount(b"profd-test", self.where.encode(), b"fuse", 6, options.encode()) != 0:  # no setuid, no devices
            number = ctypes.get_errno()
            os.close(self.device)
            raise OSError(number, os.strerror(number))
        threading.Thread(target=self.serve, daemon=True).start()

    def hang(self):
        self.hangs = True

    def end(self):
        """Whoever waits gets an error."""
        if self.device >= 0:
            LIBC.umount2(self.where.encode(), 3)  # MNT_FORCE | MNT_DETACH
            os.close(self.device)
        self.device = -1

    def attributes(self, node):
        mode = stat.S_IFREG | 0o666 if node == 2 else stat.S_IFDIR | 0o777
        return struct.pack("<6Q10I", node, len(CONTENT), 8, 0, 0, 0, 0, 0, 0, mode, 1, self.owner, self.owner, 0, 4096, 0)

    def answer(self, kind, node, body):
        entry = struct.pack("<4Q2I", NODES.get(body.split(b"\0")[0], 2), 0, 0, 0, 0, 0)
        if kind == INIT:
            return struct.pack("<4I2H2I2H2I28x", 7, 39, 65536, 0, 16, 8, 65536, 1, 16, 0, 0, 0)[:64]
        if kind == LOOKUP:
            name = body.split(b"\0")[0]
            return entry + self.attributes(NODES[name]) if name in NODES else None
        if kind == TMPFILE:
            return struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + self.attributes(2) + struct.pack("<Q2I", 1, 0, 0)
        if kind == GETATTR:
            return struct.pack("<Q2I", 0, 0, 0) + self.attributes(node)
        if kind in (OPEN, OPENDIR):
            return struct.pack("<Q2I", 1, 0, 0)
        if kind == READ:
            offset, = struct.unpack_from("<Q", body, 8)
            return CONTENT[offset:]
        if kind == STATFS:
            return struct.pack("<5Q4I24x", 1, 1, 1, 1, 1, 4096, 255, 4096, 0)
        return b"" if kind in (FLUSH, RELEASE, RELEASEDIR) else None

    def serve(self):
        while True:
            try:
                asked = os.read(self.device, 1 << 17)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return
            _, kind, unique, node = struct.unpack_from("<2I2Q", asked)
            if kind in (FORGET, INTERRUPT) or (self.hangs and kind != INIT):
                continue
            answer = self.answer(kind, node, asked[40:])
            number = 0 if answer is not None else -(errno.ENOENT if kind == LOOKUP else errno.ENOSYS)
            try:
                os.write(self.device, struct.pack("<IiQ", 16 + len(answer or b""), number, unique) + (answer or b""))
            except OSError:
                pass
