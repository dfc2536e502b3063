"""Collectives that AI CPUs carry out, beside the ordinary ones of collectives.Job: the host launches a kernel on a stream of an AI
CPU (and tells of that stream and of those that it works with: mc2_comm_info), the kernel gives the parts to the device, and
reports in the device's aicpu.data what they are. Layouts: docs/formats.md. Those of the communication library (hcom_…) have calls
and parts of their own on the host; those that are a part of an operator (MC2) have the kernel only."""
import struct

import collectives
from collectives import GROUPS, INFO, LAUNCH, MASTER, NAMES, NODE, COUNTER, LIBRARY, RAW, head

AI_CPU_LEVEL, OP, MAIN, PARTS = 6000, 10, 12, 13
FIRST, LAST = 0, 1
MC2_INFO = 12
collectives.GROUPS["10.0.0.2%eth0_60000_1"] = 99_000_000_000_000_123
THREADS = {4250: ("10.0.0.2%eth0_60000_1", 31, (40, 41, 42)), 4251: ("10.0.0.1%eth0_60000_1", 33, (44, 45))}
MORE = {"hcom_allReduce_AicpuKernel": 301, "MatmulAllReduceAicpuKernel": 302, "hcomAicpuInit": 303, "Notify_Record": 304,
        "RunAicpuRpcSrvLaunch": 305}
NOTIFY_WAIT, SDMA, C_CORE, AI_CPU = 7, 11, 20, 1  # types of the device's log


class Job(collectives.Job):
    """`self.of_ai_cpus` is what there was of them, each with its parts."""

    def __init__(self, each=12, seed=1):
        super().__init__(each=20, seed=seed)
        collectives.TYPES.setdefault("KERNEL_AICPU", 18)
        self.names.update(MORE)
        self.reports, self.streams, self.of_ai_cpus = [], [], []
        for number, (thread, (group, kernels, comm)) in enumerate(THREADS.items()):
            now, ids = RAW + 60_000_000 + thread, {}
            self.streams.append((now, thread, GROUPS[group], kernels, comm))
            for index in range(each):
                now = self.by_ai_cpu(now + 500_000, thread, group, kernels, comm, ids, index, of_library=number == 0)
        self.others["unaging.additional.mc2_comm_info"] = [
            head(NODE, MC2_INFO, thread, 60, at) + struct.pack("<Q5I8I172x", group, 8, 1, 1, kernels, len(comm), *comm, *[0] * (8 - len(comm)))
            for at, thread, group, kernels, comm in self.streams]

    def report(self, at, kind, data):
        self.reports.append((at, struct.pack("<HHIIIQ", 0x5A5A, AI_CPU_LEVEL, kind, 77, len(data), COUNTER + (at - RAW) // 20) +
                             data.ljust(232, b"\0")))

    def by_ai_cpu(self, now, thread, group, kernels, comm, ids, index, of_library):
        kernel = "hcom_allReduce_AicpuKernel" if of_library else "MatmulAllReduceAicpuKernel"
        begin, at, control = now, now + 2_000, []
        if of_library:  # its own parts, on the stream of who asked
            for what, kind in (("Notify_Record", "NOTIFY_WAIT"), ("Notify_Wait", "NOTIFY_WAIT")):
                task = self.launch(at + 500, thread, 30, ids, kind)
                self.calls.append((LIBRARY, MASTER, thread, at, at + 2_000, {**NAMES, **MORE}[what]))
                part = {"notify": 5 + index, "local": 1, "remote": 1, "estimated": 0.0, "bytes": 0, "data": 4, "link": 0, "transport": 2,
                        "rdma": 255}
                self.of_library.append((at + 1_000, thread, {**NAMES, **MORE}[what], GROUPS[group], 0, part))
                ran = (now + 60_000, now + 61_000) if what == "Notify_Record" else (now + 62_000, now + 260_000)
                control.append(self.ran(*ran, 30, task, 6 if what == "Notify_Record" else NOTIFY_WAIT))
                at += 4_000
        task = self.launch(at + 1_000, thread, kernels, ids, "KERNEL_AICPU", MORE["RunAicpuRpcSrvLaunch"])
        self.calls.append((NODE, LAUNCH, thread, at, at + 3_000, MORE[kernel]))
        self.infos.append((at + 2_500, thread, MORE[kernel], 9, MORE[kernel]))
        if of_library:
            end = at + 6_000
            self.calls.append((NODE, LAUNCH, thread, begin, end, NAMES["hcom_allReduce_"]))
            self.infos.append((end - 200, thread, NAMES["hcom_allReduce_"], 9, NAMES["hcom_allReduce_"]))
            self.ops.append((end - 100, thread, 0, 4, NAMES["MESH-RING-NHR"], 4096 + index, GROUPS[group]))
        start, stop = now + 63_000, now + 250_000
        self.ran(start, stop, kernels, task, AI_CPU)
        if of_library:
            self.report(start + 2_000, OP, struct.pack("<BBQQQIHI", index % 2 | (index % 3 == 0) << 1, 4, NAMES["MESH-RING-NHR"], 4096 + index,
                                                       GROUPS[group], 8, kernels, task))
        parts = []
        for plane, stream in enumerate(comm):
            device_ns = start + 10_000 + 100 * plane
            for what, logged in (("Notify_Wait", NOTIFY_WAIT), ("Memcpy", SDMA), ("Memcpy", SDMA), ("Notify_Wait", NOTIFY_WAIT)):
                ids[stream] = ids.get(stream, -1) + 1
                logged = C_CORE if not of_library and plane == 0 and logged == NOTIFY_WAIT else logged
                # The main stream waits for the others.
                spent = 40_000 if len(parts) == 3 else 3_000 + 1_000 * ((index + plane) % 4)
                ran = self.ran(device_ns, device_ns + spent, stream, ids[stream], logged)
                parts.append((what, stream, ids[stream], device_ns, plane, ran))
                device_ns += spent + 2_000
        packed = [struct.pack("<3Q4I2Qd3Q2I2H7B9x", NAMES[what], 0, GROUPS[group], 1, 2 + plane, 8, 0, 900 + index, COUNTER + (began - RAW) // 20,
                              1.5, 0x1000, 0x2000, 0 if what == "Notify_Wait" else 65536 + 100 * index, number, 0, stream, plane,
                              0, 4, 1, 0, 255, 0, 0)
                  for what, stream, number, began, plane, _ in parts]
        for first in range(0, len(packed), 2):
            self.report(start + 4_000 + first * 100, PARTS, b"".join(packed[first:first + 2]))
        if of_library:
            of_main = [part for part in parts if part[1] == comm[0]]
            for what, kind in ((of_main[0], FIRST), (of_main[-1], LAST)):
                self.report(start + 6_000 + kind, MAIN, struct.pack("<5H", kernels, task, what[1], what[2], kind))
        main = [ran for _, stream, _, _, _, ran in parts if stream == comm[0]]
        self.of_ai_cpus.append({
            "name": f"{'hcom_allReduce_' if of_library else kernel}_{str(GROUPS[group])[-3:]}_{index}_1",
            "group": group if of_library else f"{group} Aicpu", "count": 4096 + index if of_library else -1,
            "relay": index % 2 if of_library else -1, "retry": int(index % 3 == 0) if of_library else -1,
            "begin": control[0][0] if of_library else main[0][0], "end": max(end for _, end in control or main),
            # Behind the plane of the host's own parts; the first task of the library waits, it is not the collective's begin.
            "parts": [{"name": what, "plane": plane + int(of_library), "notify": 900 + index, "remote": 2 + plane, "stream": stream,
                       "task": number, "begin": ran[0], "end": ran[1],
                       "master": int(plane == 0 and not (of_library and parts[0][2] == number))}
                      for what, stream, number, _, plane, ran in parts]})
        return now + 300_000

    def write(self, path, slices=3):
        path = super().write(path, slices)
        self.slices(path / "device_0/data", "aicpu.data.0", [record for _, record in sorted(self.reports)], 1)
        return path
