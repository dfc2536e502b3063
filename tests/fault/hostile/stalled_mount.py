"""The attack: stalled_mount.py SOCKET PID DIRECTORY FILE, as its owner. Opens a directory and a file of a file system, says
"ready", and when told "go" passes them to profd: where nobody asked for any, and as outputs of sessions, and goes.
Says of every start what came of it, in the end."""
import os
import sys

import raw_client as raw

DOORS, STARTS = 12, 8


def main(path, pid, directory, file):
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    regular = os.open(file, os.O_RDWR)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(DOORS):
        assert raw.Door(path, raw.HELLO, [regular]).status == raw.MALFORMED
        raw.Door(path, b"nonsense", [regular, folder, regular]).close()
    spec = raw.text_field(11, directory) + b"\x18" + raw.varint(int(pid))
    begun = []
    for _ in range(STARTS):
        door = raw.Door(path, raw.HELLO_OUTPUT, [folder])
        assert door.status == raw.WELCOME, door.reason
        connection = raw.Connection(path)
        begun.append((door, connection, connection.begin("/profd.v1.Control/Start", raw.text_field(1, spec), door.ticket)))
    print("begun", flush=True)
    for _, connection, call in begun:
        while call.code is None and connection.read():
            pass
        print(call.code, call.text, flush=True)
    print("end", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
