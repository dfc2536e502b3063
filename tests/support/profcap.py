"""Captures (docs/formats.md), read without profd's code."""
import io
import json
import tarfile


class Capture:
    def __init__(self, path):
        with tarfile.open(path) as archive:
            self.members = {member.name: archive.extractfile(member).read() for member in archive}
        self.index = json.loads(self.members["index.json"])
        self.calls = [json.loads(line) for line in self.members["calls.jsonl"].splitlines()]

    def devices(self):
        return sorted({call["device"] for call in self.calls if "device" in call})

    def of(self, call, device=None, channel=None):
        return [one for one in self.calls if one["call"] == call and (device is None or one.get("device") == device)
                and (channel is None or one.get("channel") == channel)]

    def channels(self):
        """(device, channel) → bytes."""
        found = {}
        for name, data in self.members.items():
            if name.startswith("device_"):
                device, channel = name.removesuffix(".bin").split("/")
                found[int(device.removeprefix("device_")), int(channel.removeprefix("channel_"))] = data
        return found

    def runs(self):
        """(device, channel) → the bytes of each of its starts."""
        runs, at = {}, {}
        data = self.channels()
        for call in self.calls:
            if not call.get("channel"):
                continue
            key = (call["device"], call["channel"])
            if call["call"] == "prof_drv_start":
                runs.setdefault(key, []).append(b"")
            elif call["call"] == "prof_channel_read" and call["code"] > 0:
                begin = at.get(key, 0)
                at[key] = begin + call["code"]
                runs[key][-1] += data[key][begin:at[key]]
        return runs

    def write(self, path):
        """As it is now, changed or not."""
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
            for name, data in self.members.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
