#!/usr/bin/env python3
"""A training job of many ranks that never ran, with faults planted in it: what each device and each host thread does, as an
event simulation of its own, written as the databases of the framework's profiler. What a fault costs is found by simulating
the same job, with the same noise, without it.

Rules of the simulation, none of which an analyser is told:
- A host thread per rank issues operators in the order of the program: Python time, then a launch call. The device's queue is
  finite; a launch into a full one blocks until a task ends.
- Kernels of a stream run one behind the other; each also waits until its launch has come through (5 to 9 us).
- A collective begins when its own stream is free and what was issued before it on the compute stream has ended. Data go round
  a ring in chunks: a rank sends on what it has when its neighbour's chunk is there, over its own link, so every rank has an
  end of its own.
- The tensor-parallel collectives block the compute stream. The gradients' do not: they go behind the backward pass, and the
  optimizer waits for them.
- Of a pipeline the stages are given micro batches, one forward and one backward in turn, or all forward first. A receive
  blocks the compute stream until its send has come; a send goes beside it.
- At the end of a step the host reads the loss: it waits for the device.
- Noise: kernels of one shape vary by 2 %, with a heavy tail; chips differ by up to 1.5 % for good; rank 0 writes a log line
  each step; nodes' clocks are apart and drift; the first step warms up.

  job_sim.py --out DIR [--ranks 16] [--tp 8] [--steps 6] [--layers 6] [--kernels 12] [--seed 7] [--fault KIND:KEY=VALUE,…]…
"""
import argparse
import dataclasses
import json
import math
import pathlib
import random
import sys

from job_database import MS, PRODUCT, US, Writer

QUEUE = 512  # tasks that a device takes in advance
TYPES = (PRODUCT, "SwiGlu", "RmsNorm", "Add", "FlashAttentionScore", "Cast")
NOMINAL = (60.0, 16.0, 7.0, 5.0, 45.0, 4.0)  # us
HOST_OP = 3.0  # us of Python for an operator, mean
LAUNCH = 2.5  # us of the call
NO_COST = ("missing_rank", "dies", "receives_first", "all_send_first", "leak", "order_swap", "fragments")  # they cost no step: they end them, or will


@dataclasses.dataclass
class Shape:
    ranks: int = 8
    tp: int = 4
    steps: int = 8
    layers: int = 4
    kernels: int = 12
    seed: int = 1
    nodes: int = 2
    buckets: int = 2  # of gradients
    experts: int = 0  # us of them in a layer
    pp: int = 1  # stages, each of as many ranks
    micro: int = 8  # batches of a step, of a pipeline
    message: float = 4.0  # MB from one stage to the next one
    uneven: float = 0.0  # by how much the work of one batch varies, of its mean
    fill: int = 0  # 1: all forward passes come before the first backward one
    copy: int = 0  # us of a copy at the begin of a step
    world: int = 0  # 1: all ranks agree on something at the end of a step
    calls: int = 1  # 0: those that launch are not recorded
    counters: int = 0  # 1: how busy the pipes of the cores were in each kernel is recorded
    vector: int = 0  # us of an operator of each layer that one kernel can do
    fsdp: float = 0.0  # MB of parameters that a layer gathers, while the one before is computed
    ring: float = 0.0  # MB that each rank sends to the next one at the end of a step, of an even number of ranks
    links: int = 0  # 1: what each rank is sent by its neighbour is recorded, for each collective

    @property
    def per_stage(self):
        return self.ranks // self.pp

    @property
    def dp(self):
        return self.per_stage // self.tp

    def stage(self, rank):
        return rank // self.per_stage

    def tp_group(self, rank):
        return rank // self.tp

    def dp_group(self, rank):
        return self.stage(rank) * self.tp + rank % self.tp

    def groups(self, rank):
        """Role and ranks of each group that it is in, by name."""
        first = self.stage(rank) * self.per_stage
        groups = {f"tp{self.tp_group(rank)}": ("tp", [rank // self.tp * self.tp + i for i in range(self.tp)]),
                  f"dp{self.dp_group(rank)}": ("dp", [first + (rank - first) % self.tp + i * self.tp for i in range(self.dp)])}
        if self.fsdp:
            groups[f"fsdp{self.dp_group(rank)}"] = ("dp", groups[f"dp{self.dp_group(rank)}"][1])
        for lower in (rank - self.per_stage, rank):
            if self.pp > 1 and 0 <= lower < self.ranks - self.per_stage:
                for way in ("down", "up"):
                    groups[f"pp{lower}{way}"] = ("pp", [lower, lower + self.per_stage])
        for lower in (rank, (rank - 1) % self.ranks) if self.ring else ():
            groups[f"ring{lower}"] = ("cp", sorted([lower, (lower + 1) % self.ranks]))
        if self.world:
            groups["world"] = ("world", list(range(self.ranks)))
        return groups


@dataclasses.dataclass
class Fault:
    kind: str
    rank: int = 0
    factor: float = 1.0
    us: float = 0.0
    ms: float = 0.0
    step: int = -1  # only in this one
    since: int = 0  # from this one on
    until: int = -1  # and not from this one on
    every: int = 1
    share: float = 0.0  # of kernels
    group: str = ""  # "tp1", "dp0"
    count: int = 0

    def of(self, shape, rank):
        """Of a stage all of its ranks are hit."""
        return self.rank < 0 or (shape.stage(rank) == self.rank if self.kind == "heavy_stage" else rank == self.rank)

    def hits(self, step):
        return ((self.step < 0 or step == self.step) and step >= self.since and (self.until < 0 or step < self.until)
                and (step - self.since) % self.every == 0)


class Rows:
    """What is recorded of one rank."""

    def __init__(self):
        self.kernels, self.collectives, self.calls, self.ranges, self.garbage, self.steps = [], [], [], [], [], []
        self.frequency, self.memory, self.others = [], [], []


class Ring:
    """One collective on its way: ranks arrive, chunks go round, each rank ends by itself."""

    def __init__(self, members):
        self.members, self.arrivals, self.ends, self.begins = members, {}, None, {}
        self.on_link = {}  # by rank: ns of all chunks that its neighbour sent it

    def arrive(self, rank, at, chunk_ns, noise):
        self.arrivals[rank] = at
        if len(self.arrivals) < len(self.members):
            return
        n = len(self.members)
        reached = [self.arrivals[member] for member in self.members]
        for hop in range(2 * (n - 1)):
            before = list(reached)
            for i in range(n):
                there = max(before[i], before[i - 1])
                chunk = chunk_ns * noise[(hop * n + i) % len(noise)]
                reached[i] = there + chunk
                self.on_link[self.members[i]] = self.on_link.get(self.members[i], 0) + chunk
        self.ends = {member: reached[i] for i, member in enumerate(self.members)}


class Pair(Ring):
    """A send and its receive: on the way when both are there."""

    def arrive(self, rank, at, chunk_ns, noise):
        self.arrivals[rank] = at
        if len(self.arrivals) == 2:
            end = max(self.arrivals.values()) + 2 * chunk_ns * noise[0]
            self.ends = {member: end for member in self.members}


class Simulation:
    def __init__(self, shape, faults):
        self.shape, self.faults = shape, faults
        self.rings = {}
        self.rows = [Rows() for _ in range(shape.ranks)]
        self.step_end = [0.0] * shape.steps
        rng = random.Random(f"chips {shape.seed}")
        self.chip = [1 + rng.uniform(-0.015, 0.015) for _ in range(shape.ranks)]

    def of(self, kind, rank, step):
        return [fault for fault in self.faults if fault.kind == kind and fault.of(self.shape, rank) and fault.hits(step)]

    def run(self):
        programs = [self.program(rank) for rank in range(self.shape.ranks)]
        waiting = {rank: None for rank in range(len(programs))}
        while waiting:
            progress = False
            for rank in list(waiting):
                while waiting[rank] is None or self.rings[waiting[rank]].ends is not None:
                    progress = True
                    try:
                        waiting[rank] = next(programs[rank])
                    except StopIteration:
                        del waiting[rank]
                        break
            if not progress:
                break  # a rank that never comes: the others wait until the recording ends
        return self

    def transfer(self, group, members, megabytes, step, number):
        """ns of a chunk, and how chunks vary."""
        rng = random.Random(f"{self.shape.seed} {group} {step} {number}")
        gigabytes_per_second = 90.0 if group.startswith("tp") else 25.0
        hops = max(1, 2 * (len(members) - 1))
        chunk = (megabytes / len(members)) * 1e6 / gigabytes_per_second + 2.0 * US
        for fault in self.faults:
            if fault.kind == "slow_group" and fault.group == group and fault.hits(step):
                chunk *= fault.factor
            if fault.kind == "contention" and group.startswith(fault.group) and number < self.shape.buckets - 1:
                chunk *= fault.factor  # kernels run beside all but the last one
            if fault.kind == "retry" and fault.group == group and fault.hits(step) and number == fault.count:
                chunk += fault.ms * MS / hops
            if fault.kind == "unaligned" and group.startswith(fault.group) and number % 2:
                chunk *= fault.factor
        chunk *= rng.lognormvariate(0, 0.02)  # the whole of it; chunks are copied by engines of a steady rate
        noise = [rng.lognormvariate(0, 0.005) for _ in range(hops * len(members))]
        for fault in self.faults:
            if fault.kind == "slow_link" and fault.group == group and fault.hits(step):
                for i in range(members.index(fault.rank), len(noise), len(members)):
                    noise[i] *= fault.factor  # what its neighbour sends it
        return chunk, noise

    def program(self, rank):
        shape, rows = self.shape, self.rows[rank]
        rng = random.Random(f"rank {rank} {shape.seed}")
        host = 1.0 * MS + rng.uniform(0, 50) * US
        device = 0.0  # end of the compute stream
        streams = {}  # of collectives
        ends = []  # of tasks, for the queue
        connection = 0
        for step in range(shape.steps):
            noise = random.Random(f"noise {rank} {step} {shape.seed}")
            own = random.Random(f"planted {rank} {step} {shape.seed}")
            for fault in self.of("checkpoint", rank, step):
                rows.ranges.append((host, host + fault.ms * MS, "save_checkpoint"))
                host += fault.ms * MS
            begin = host
            last = device
            slow = math.prod(fault.factor for kind in ("slow_compute", "clock_drop", "heavy_stage") for fault in self.of(kind, rank, step))
            for fault in self.of("moving", rank, step):  # another rank in each step
                slow *= fault.factor if step % shape.ranks == rank else 1
            for fault in self.of("lengths", rank, step):  # samples of other lengths, on each rank and in each step
                slow *= own.lognormvariate(0, fault.share)
            jitter = random.Random(f"jitter {rank} {step} {shape.seed}")
            spikes = random.Random(f"spikes {rank} {step} {shape.seed}")
            gaps = random.Random(f"gaps {rank} {step} {shape.seed}")
            batches = random.Random(f"batches {shape.stage(rank)} {step} {shape.seed}")
            neighbours = random.Random(f"neighbours {rank} {step} {shape.seed}")
            warm = 1.4 if step == 0 else 1.0

            def python(us, kind="operator"):
                nonlocal host
                host += us * US * noise.lognormvariate(0, 0.15)
                for fault in self.of("launch_jitter", rank, step):
                    host += jitter.expovariate(1 / fault.us) * US

            def call(name, us):
                nonlocal host, connection
                connection += 1
                at = host
                if len(ends) >= QUEUE:
                    host = max(host, ends[-QUEUE])  # full: until the oldest has gone
                host += us * US * noise.lognormvariate(0, 0.2)
                rows.calls.append((at, host, name, connection))
                return connection

            def kernel(index, us, kind, work="AI_CORE", scale=1.0):
                nonlocal device, last
                python(HOST_OP)
                number = call("launch", LAUNCH)
                length = us * US * self.chip[rank] * slow * warm * noise.lognormvariate(0, 0.02)
                for name in ("few_blocks", "unbound"):
                    for fault in self.of(name, rank, step):
                        length *= fault.factor if index % len(TYPES) == 0 and kind == TYPES[0] else 1
                for fault in self.of("kernel_jitter", rank, step):
                    if spikes.random() < fault.share:
                        length *= fault.factor
                if noise.random() < 0.001:
                    length *= 1.5
                start = max(device + 0.9 * US, host + noise.uniform(5, 9) * US)
                for fault in self.of("neighbour", rank, step):
                    if neighbours.random() < fault.share and work == "AI_CORE":
                        length *= fault.factor
                        rows.others.append((start + 0.1 * length, start + 0.9 * length))
                for fault in self.of("device_gap", rank, step):
                    if gaps.random() < fault.share:
                        start += fault.us * US  # on something that is in no record
                device = start + length * scale
                rows.kernels.append((start, device, kind, f"4096,{1024 + index}", number, work))
                ends.append(device)
                last = max(last, device)

            def collective(group, megabytes, number, blocks, kind="allReduce"):
                nonlocal device, last
                members = shape.groups(rank)[group][1]
                if any(fault.kind == "unaligned" and group.startswith(fault.group) for fault in self.faults):
                    megabytes = round(megabytes * 1e6 / 512) * 512e-6 + (14e-6 if number % 2 else 0)
                python(HOST_OP)
                connection_id = call("launch", LAUNCH)
                issued = host
                key = (group, step, number)
                if streams.get(group) is not None and self.rings[streams[group]].ends is None:
                    yield streams[group]
                before = self.rings[streams[group]].ends[rank] if streams.get(group) is not None else 0.0
                ring = self.rings.setdefault(key, Pair(members) if kind in ("send", "receive") else Ring(members))
                start = max(device + 1.5 * US, before + 0.9 * US, issued + noise.uniform(5, 9) * US)
                streams[group] = key
                rows.collectives.append([start, key, group, connection_id, megabytes, kind])
                chunk, variation = self.transfer(group, members, megabytes, step, number)
                ring.arrive(rank, start, chunk, variation)
                if blocks:
                    if ring.ends is None:
                        yield key
                    device = max(device, ring.ends[rank])
                ends.append(device)

            # Input.
            load = 150 * US * noise.lognormvariate(0, 0.1)
            for fault in self.of("dataloader", rank, step):
                load += fault.ms * MS
            rows.ranges.append((host, host + load, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"))
            host += load
            for fault in self.of("host_stall", rank, step):
                if fault.count == 0:
                    host += fault.ms * MS
            if rank == 0:
                host += 120 * US
            number_of = {}
            tp, dp = f"tp{shape.tp_group(rank)}", f"dp{shape.dp_group(rank)}"
            if shape.copy:
                scale = math.prod(fault.factor for fault in self.of("slow_copy", rank, step))
                kernel(0, shape.copy / (self.chip[rank] * slow * warm), "", "MEMCPY_ASYNC", scale)
            hang = next((fault for fault in self.faults if fault.kind == "missing_rank" and fault.step == step), None)
            swaps = any(fault.kind == "order_swap" and fault.rank == rank and fault.step == step for fault in self.faults)
            late = [fault for fault in self.faults if fault.kind == "late_gradients" and fault.hits(step)]
            pieces = next((fault.count for fault in self.faults if fault.kind == "small_packets" and fault.hits(step)), 1)

            def gradients():
                """One bucket, or many small pieces of it."""
                weights = [(1, 2, 4, 8)[i % 4] for i in range(pieces)]
                for weight in weights:
                    number_of[dp] = number_of.get(dp, -1) + 1
                    yield from collective(dp, 12.0 * weight / sum(weights), number_of[dp], False)

            def more_kernels(backward):
                nonlocal noise, own
                for fault in self.of("more_kernels", rank, step):
                    noise, own = own, noise
                    for index in range(fault.count):
                        kernel(index, NOMINAL[index % len(TYPES)] * (1.6 if backward else 1.0), TYPES[index % len(TYPES)])
                    noise, own = own, noise

            def micro_batch(backward, number):
                """Of one stage: receives, computes, sends."""
                up, down = rank - shape.per_stage, rank
                source, goal = (down, up) if backward else (up, down)  # by the lower rank of the two
                way = "up" if backward else "down"
                if 0 <= source < shape.ranks - shape.per_stage:
                    yield from collective(f"pp{source}{way}", shape.message, number, True, "receive")
                weight = batches.lognormvariate(0, shape.uneven)
                for layer in range(shape.layers):
                    more_kernels(backward)
                    for index in range(shape.kernels):
                        kernel(index, NOMINAL[index % len(TYPES)] * (1.6 if backward else 1.0), TYPES[index % len(TYPES)], scale=weight)
                    if shape.tp > 1:
                        number_of[tp] = number_of.get(tp, -1) + 1
                        yield from collective(tp, 10.0, number_of[tp], True)
                if self.of("receives_first", rank, step) and not backward:  # from the next stage, which waits for this one's message
                    yield from collective(f"pp{down}up", shape.message, 0, True, "receive")
                if 0 <= goal < shape.ranks - shape.per_stage:
                    yield from collective(f"pp{goal}{way}", shape.message, number, False, "send")

            if shape.pp > 1:
                warm_up = shape.micro if shape.fill else min(shape.micro, shape.pp - 1 - shape.stage(rank))
                if any(fault.kind == "serial_pipeline" and fault.hits(step) for fault in self.faults):
                    order = [(backward, number) for number in range(shape.micro) for backward in (False, True)]
                else:
                    order = [(False, number) for number in range(warm_up)]
                    for number in range(shape.micro):
                        order += [(False, number + warm_up)] * (number + warm_up < shape.micro) + [(True, number)]
                for done, (backward, number) in enumerate(order):
                    if any(fault.count == done for fault in self.of("dies", rank, step)):
                        return
                    yield from micro_batch(backward, number)
                if shape.dp > 1:
                    yield from gradients()
            for layer in range(2 * shape.layers if shape.pp == 1 else 0):  # forward, then backward
                backward = layer >= shape.layers
                if shape.fsdp:
                    fsdp, ahead = f"fsdp{shape.dp_group(rank)}", not self.of("no_prefetch", rank, step)
                    if layer == 0 or not ahead:
                        yield from collective(fsdp, shape.fsdp, layer, True, "allGather")
                    else:
                        if self.rings[streams[fsdp]].ends is None:
                            yield streams[fsdp]
                        device = max(device, self.rings[streams[fsdp]].ends[rank])
                    if ahead and layer + 1 < 2 * shape.layers:
                        yield from collective(fsdp, shape.fsdp, layer + 1, False, "allGather")
                more_kernels(backward)
                for index in range(shape.kernels):
                    kind = index % len(TYPES)
                    extra = math.prod(fault.factor for fault in self.of("extra_work", rank, step))
                    kernel(index + (500 if extra > 1 and kind in (0, 4) else 0), NOMINAL[kind] * (1.6 if backward else 1.0),
                           TYPES[kind], scale=extra if kind in (0, 4) else 1.0)
                    for fault in self.of("aicpu", rank, step):
                        if layer * shape.kernels + index < fault.count:
                            noise, own = own, noise  # what is planted has noise of its own: all the rest stays as it is
                            kernel(900, fault.us / (self.chip[rank] * slow * warm), "NonZero", "AI_CPU")
                            noise, own = own, noise
                    for fault in self.of("sync_calls", rank, step):
                        at = host
                        host = max(host, device) + 8 * US
                        connection += 1
                        rows.calls.append((at, host, "aclrtSynchronizeStream", connection))
                if shape.experts:
                    # Tokens go where the gates send them: a few percent apart, or most to one rank, another in each step.
                    share = noise.lognormvariate(0, 0.02)
                    for fault in self.of("experts", rank, step):
                        share *= fault.factor if step % shape.ranks == rank else (shape.ranks - fault.factor) / (shape.ranks - 1)
                    kernel(1000 + round(1000 * share), shape.experts, "GroupedMatmul", scale=share)
                if shape.vector:
                    pieces = next((fault.count for fault in self.of("unfused", rank, step)), 1)
                    noise, own = own, noise
                    for piece in range(pieces):
                        kernel(960 + piece, shape.vector / pieces, ("Mul", "Add")[piece % 2])
                    noise, own = own, noise
                for fault in self.of("conversions", rank, step):
                    noise, own = own, noise
                    kernel(950, fault.us / (self.chip[rank] * slow * warm), "TransData")
                    noise, own = own, noise
                for fault in self.of("save", rank, step):
                    if layer == fault.count:
                        rows.ranges.append((host, host + fault.ms * MS, "Engine.save_checkpoint"))
                        host += fault.ms * MS
                for fault in self.of("graph_head", rank, step):
                    if layer == fault.count:
                        whole = fault.ms * MS
                        for name, part in (("npu_fx_compiler_inference", 0), ("TorchNpuGraphBase::Run", 0.6), ("ExecuteGraph", 0.75)):
                            rows.ranges.append((host + part * whole, host + whole, name))
                        host += whole
                for fault in self.of("gc", rank, step):
                    if layer == fault.count:
                        rows.garbage.append((host, host + fault.ms * MS))
                        host += fault.ms * MS
                for fault in self.of("host_stall", rank, step):
                    if layer == fault.count > 0:
                        host += fault.ms * MS
                for fault in self.of("compile", rank, step):
                    if layer == fault.count:
                        connection += 1
                        rows.calls.append((host, host + fault.ms * MS, "aclopCompileAndExecute", connection))
                        host += fault.ms * MS
                for fault in self.of("alloc", rank, step):  # no room in one piece: the allocator gives back and asks again
                    if layer == fault.count:
                        for name in ("aclrtFree", "aclrtMallocAlign32"):
                            connection += 1
                            rows.calls.append((host, host + fault.ms * MS / 2, name, connection))
                            host += fault.ms * MS / 2
                if any(fault.count == layer for fault in self.of("dies", rank, step)):
                    return
                if shape.tp > 1:
                    if hang is not None and hang.rank == rank and layer == 2 * shape.layers - 1:
                        rows.steps.append((step, begin, host))
                        return
                    if swaps and layer == 2 * shape.layers - 1:
                        yield from collective("world", 0.01, 0, True)
                    yield from collective(tp, 10.0, layer, True)
                if shape.dp > 1 and backward and not late and (layer - shape.layers + 1) % max(1, shape.layers // shape.buckets) == 0:
                    yield from gradients()
            for _ in range(shape.buckets if late and shape.dp > 1 else 0):
                yield from gradients()
            if shape.world and not swaps:
                yield from collective("world", 0.01, 0, True)
            if shape.ring:  # every second one sends first, and the others receive
                sends_first = rank % 2 == 0 or bool(self.of("all_send_first", rank, step))
                for sends in (sends_first, not sends_first):
                    yield from collective(f"ring{rank if sends else (rank - 1) % shape.ranks}", shape.ring, 0, True, "send" if sends else "receive")
            if shape.dp > 1:  # the optimizer
                key = streams[dp]
                if self.rings[key].ends is None:
                    yield key
                device = max(device, self.rings[key].ends[rank])
            for index in range(4):
                kernel(700 + index, 80.0, "ApplyAdamW")
            at = host
            host = max(host + 3 * US, device + 12 * US)
            connection += 1
            rows.calls.append((at, host, "aclrtSynchronizeStream", connection))
            for fault in self.of("gc_behind", rank, step):
                rows.garbage.append((host, host + fault.ms * MS))
                host += fault.ms * MS
            for fault in self.of("save_behind", rank, step):
                rows.ranges.append((host, host + fault.ms * MS, "Engine.save_checkpoint"))
                host += fault.ms * MS
            rows.steps.append((step, begin, host))
            self.step_end[step] = max(self.step_end[step], device)
            # Of CANN's modules: one that is steady with a ripple, and one that may leak.
            rows.memory.append((begin, 3, 800e6 + 30e6 * noise.random()))
            rows.memory.append((begin, 7, 4e9 + sum(fault.ms * 1e6 * (step - fault.since) for fault in self.of("leak", rank, step))))
            for fault in self.of("clock_drop", rank, step):
                rows.frequency.append((begin, 1800 / fault.factor))
            if not self.of("clock_drop", rank, step):
                rows.frequency.append((begin, 1800))

    def step_ms(self, first=1):
        """Mean of the steps from `first` on."""
        return (self.step_end[-1] - self.step_end[first - 1]) / (self.shape.steps - first) / MS


def costs(shape, faults, simulation):
    """Per fault what a step gains without it: alone, and after all the others. By simulating again."""
    whole = simulation.step_ms()
    none = Simulation(shape, []).run().step_ms()
    truth = {"step_ms": whole, "ideal_ms": none, "faults": []}
    for fault in faults:
        if fault.kind in NO_COST:
            truth["faults"].append({**dataclasses.asdict(fault), "alone": 0, "last": 0})
            continue
        others = [other for other in faults if other is not fault]
        rest = none if not others else Simulation(shape, others).run().step_ms()
        only = whole if not others else Simulation(shape, [fault]).run().step_ms()
        truth["faults"].append({**dataclasses.asdict(fault), "alone": whole - rest, "last": only - none})
    return truth


def joint_cost(shape, faults, which):
    """What a step gains without several of the faults, `which` (places in the list), together: before the others are mended,
    or after them, whichever is more."""
    def step_ms(planted):
        return Simulation(shape, planted).run().step_ms()

    chosen, others = ([fault for i, fault in enumerate(faults) if (i in which) == is_chosen] for is_chosen in (True, False))
    return max(step_ms(faults) - step_ms(others), step_ms(chosen) - step_ms([]))


def make(shape, faults, out, ranks=None):
    """Writes the job (`ranks`: only these) and its truth.json; gives the truth."""
    out = pathlib.Path(out)
    simulation = Simulation(shape, faults).run()
    for rank in range(shape.ranks) if ranks is None else ranks:
        Writer(simulation, rank, out).write()
    truth = costs(shape, faults, simulation)
    (out / "truth.json").write_text(json.dumps(truth, indent=1))
    return truth


def parse_fault(text):
    kind, _, rest = text.partition(":")
    fields = {field.name: field.type for field in dataclasses.fields(Fault)}
    values = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key not in fields or key == "kind":
            sys.exit(f"--fault {text}: there is no '{key}'; there are {' '.join(fields)}")
        values[key] = fields[key](value) if isinstance(fields[key], type) else {"int": int, "float": float, "str": str}[fields[key]](value)
    return Fault(kind, **values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--fault", action="append", default=[], metavar="KIND:KEY=VALUE,…")
    for field in dataclasses.fields(Shape):
        parser.add_argument(f"--{field.name}", type=field.type if isinstance(field.type, type) else int, default=field.default)
    arguments = parser.parse_args()
    shape = Shape(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Shape)})
    print(json.dumps(make(shape, [parse_fault(fault) for fault in arguments.fault], arguments.out), indent=1))


if __name__ == "__main__":
    main()
