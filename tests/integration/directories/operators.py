"""What CANN's own collector records of operators beside their tasks, added to a job of collectives.py: memory, models, and what
was made of several operators."""
import random
import struct

from collectives import ANY, COUNTER, EVENT, LAUNCH, LOAD, MODEL, NAMES, NODE, RAW, RUNTIME, TYPES, WALL, head

MEMORY, FUSED, MODELS = "additional.task_memory_info", "additional.fusion_op_info", "additional.graph_id_map"
CONTEXTS, COPIES = "additional.context_id_info", "compact.memcpy_info"
MARKERS, ATTRIBUTES = "additional.msproftx", "compact.node_attr_info"
STREAM_SPEC, LOGIC_STREAMS, STATIC_MEMORY = "compact.expand_stream_spec", "additional.logic_stream_info", "additional.static_op_mem"
CAPTURED, LONG_CAPTURED, CAPTURES = "additional.capture_op_info", "variable.capture_op_info", "compact.capture_stream_info"
MARK, PUSH_POP, START_END, MARK_ON_STREAM = range(4)
DEVICE_RAW = 3_000_000_000_000  # of the golden directory's dev_start.log
OPERATIONS = ("host to host", "host to device", "device to host", "device to device", "managed memory", "addr device to device",
              "host to device ex", "device to host ex")


def wall(stamp):
    return WALL + stamp - RAW


def memory_record(stamp, thread, address, size, operator, allocated, reserved, device=0, magic=0x5A5A):
    return struct.pack("<H", magic) + head(NODE, 30, thread, 232, stamp)[2:] + \
        struct.pack("<QqQQQII184x", address, size, operator, allocated, reserved, device, 20)


def add_memory(job, count=300, seed=3):
    """Two threads take memory for their operators and give it back, some of it later than something else, some never. Each
    (stamp, thread, address, size, operator's number, total allocated, total reserved); returns them."""
    dice, held, now, total, events = random.Random(seed), [], RAW + 12_000_000, 0, []
    job.names.update({f"Conv2D_{number}": 500 + number for number in range(20)}, **{"Name, with \"quotes\"": 520})
    for number in range(count):
        now += 20 * dice.randrange(1, 5000)
        thread = 4242 + number % 2
        if held and dice.random() < 0.45:
            _, address, size, operator = held.pop(dice.randrange(len(held)))
            size = -size
        else:
            # Of some operators nobody has told the name.
            address, size, operator = 0x12C0_4000_0000 + (dice.randrange(1 << 12) << 9), dice.randrange(1, 1 << 24), 500 + dice.randrange(24)
            held.append((now, address, size, operator))
        total += size
        events.append((now, thread, address, size, operator, total, total + dice.randrange(1 << 20)))
    # What was taken before the collection began.
    events.append((now + 1000, 4242, 0xABC000, -4096, 500, total, total))
    job.others["aging." + MEMORY] = [memory_record(*event) for event in events]
    return events


def fused_record(stamp, thread, operator, parts, sizes, count=None):
    return head(MODEL, 31, thread, 232, stamp) + struct.pack("<QI5Q", operator, len(parts) if count is None else count, *sizes) + \
        struct.pack("<8Q116x", *parts, *[0] * (8 - len(parts)))


def add_models(job):
    """Some calls of each thread are inside of one that loads a model; one of these is told by two events, one has another one inside,
    which is not to count. Returns the calls (thread, begin, end, model) and what was fused: (model's name, its number, name, parts,
    sizes in KB)."""
    job.names.update(resnet=701, FusedConv=710, FusedAdd=711, Conv=720, Bias=721, Relu=722)
    dice, loads, fused = random.Random(5), [], []
    for thread, model in ((4242, 7), (4243, 9)):
        calls = sorted((begin, end) for level, _, of, begin, end, _ in job.calls if of == thread and level == NODE)
        loads.append((thread, calls[1][0] - 100, calls[5][1] + 100, model))
        if thread == 4242:
            job.calls.append((MODEL, LOAD, thread, calls[3][0] - 100, calls[3][1] + 100, 8))
    for thread, begin, end, model in loads:
        if model == 9:
            job.calls += [(MODEL, LOAD, thread, at, EVENT, model) for at in (begin, end)]
        else:
            job.calls.append((MODEL, LOAD, thread, begin, end, model))
    records = []
    for thread, begin, end, model in loads:
        for number, operator in enumerate((710, 711)):
            stamp, parts = (begin + 20, end - 20)[number], [720, 721, 722][:2 + number]
            sizes = [dice.randrange(1 << 30) for _ in range(5)]
            records.append((stamp, thread, operator, parts, sizes))
            fused.append(("resnet", model, ("FusedConv", "FusedAdd")[number],
                          ";".join(("Conv", "Bias", "Relu")[:2 + number]), *(size / 1024 for size in sizes)))
    job.others["unaging." + FUSED] = [fused_record(*record) for record in sorted(records)]
    job.others["unaging." + MODELS] = [head(MODEL, 32, 4242, 232, RAW + 1000 + number) + struct.pack("<QII216x", name, 1, model)
                                       for number, (name, model) in enumerate(((701, 7), (701, 9)))]
    return loads, fused


def add_sub_tasks(job, graphs=6, each=1):
    """Launches of one thread that are `each` so many operators as sub tasks, of which the host tells the numbers. Returns each sub
    task: (stream, task, context, operator, its type, begin, end)."""
    names = {"graph": 740, "Cast_1": 741, "Mul_1": 742, "Relu_1": 743, "Cast": 751, "Mul": 752}
    job.names.update(names)
    operators = (("Cast_1", "Cast", 0, (0, 1)), ("Mul_1", "Mul", 4, (2,)), ("Relu_1", "Mul", 2, (3, 4, 5)))
    now, ids, records, found = max(end for *_, end, _ in job.calls if end != EVENT) + 2_000_000, {9: -1}, [], []
    for graph in range(graphs):
        task = job.launch(now + 1_000, 4242, 9, ids, "FFTS_PLUS", NAMES["my_kernel"])  # it tells its blocks
        job.calls.append((NODE, LAUNCH, 4242, now, now + 9_000, names["graph"]))
        job.infos.append((now + 5_000, 4242, names["graph"], 6, names["graph"]))
        begin = now + 20_000
        for number, (operator, kind, core, contexts) in enumerate((operators[graph % 3:] + operators)[:each]):
            job.infos.append((now + 5_100 + number, 4242, names[operator], core, names[kind]))
            records.append((now + 5_200 + number, names[operator], contexts))
            for context in contexts:
                ticks = [COUNTER + (at - RAW) // 20 for at in (begin, begin + 3_000)]
                of_device = {0: 0, 2: 1, 4: 6}[core]  # AIC, AIV, MIX_AIC
                job.log += [(ticks[0], 0b100010, 9, task, of_device, context), (ticks[1], 0b100011, 9, task, of_device, context)]
                found.append((9, task, context, operator, kind, *(WALL + (at - COUNTER) * 20 for at in ticks)))
                begin += 4_000
        job.ran(now + 18_000, begin, 9, task)
        now += 200_000
    job.others["aging." + CONTEXTS] = [
        head(NODE, 33, 4242, 232, stamp) + struct.pack("<QI55I", operator, len(contexts), *contexts, *[0] * (55 - len(contexts)))
        for stamp, operator, contexts in records]
    return found


def add_copies(job):
    """Of each task that copies how much and from where to where; and one copy of two tasks. Returns {(stream, task): (bytes,
    operation's number, or 65535)}."""
    dice, records, found = random.Random(9), [], {}
    for stamp, thread, stream, task, kind, _ in job.tracks:
        if kind == TYPES["MEMCPY_ASYNC"]:
            size, operation = dice.randrange(1, 1 << 24), dice.randrange(len(OPERATIONS) + 1)
            records.append((stamp, thread, size, 1 << 26, operation))
            found[stream, task] = (size, operation if operation < len(OPERATIONS) else 65535)
    now, ids = max(end for *_, end, _ in job.calls if end != EVENT) + 2_000_000, {11: -1}
    first = job.launch(now, 4242, 11, ids, "MEMCPY_ASYNC")
    job.tracks.append((now + 400, 4242, 11, first + 1, TYPES["MEMCPY_ASYNC"], 0))
    records.append((now + 400, 4242, 100_000, 64_000, 1))
    for task, size in ((first, 64_000), (first + 1, 36_000)):
        job.ran(now + 10_000 + 10_000 * task, now + 18_000 + 10_000 * task, 11, task)
        found[11, task] = (size, 1)
    job.others["aging." + COPIES] = [head(RUNTIME, 34, thread, 40, stamp) + struct.pack("<QQH22x", *rest)
                                     for stamp, thread, *rest in sorted(records)]
    return found


def marker(stamp, event, text, begin, end, source=1, number=0, domain=0, piece=0, category=0, payload=0, process=999, thread=4242, magic=0x5A5A):
    return struct.pack("<H", magic) + head(20000, 35, thread, 232, stamp)[2:] + struct.pack(
        "<2H8x4IIQQQQQI156s", source, piece, process, thread, category, event, 0, payload, begin, end, number, domain, 0, text.encode())


def add_markers(job):
    """Ranges and marks of mstx, one with a text of three pieces that another one's come between, and of AscendCL's own functions.
    Returns {text: (event, domain or category, payload, begin, end)} with wall stamps."""
    job.names.update(training=801, default=802)
    now, long, found, records = RAW + 9_000_000, "".join(f"{number:4}" for number in range(100)), {}, []
    pieces = [long[:155], long[155:310], long[310:]]
    for number, (text, event, domain) in enumerate((("a mark", MARK, 801), ("of a stream", MARK_ON_STREAM, 802), ("nested", PUSH_POP, 801),
                                                     ("forward", START_END, 802), (long, START_END, 801)), 1):
        begin, end = now + 1000 * number, now + 1000 * number + (0 if event in (MARK, MARK_ON_STREAM) else 5000)
        parts = pieces if text is long else [text]
        records += [(end + at, event, part, begin, end, 1, number, domain, at) for at, part in enumerate(parts)]
        found[text] = (event, {801: "training", 802: "default"}[domain], None, wall(begin), wall(end))
    records.append((now + 10_001, START_END, "between", now + 7000, now + 10_001, 1, 9, 801, 0))
    found["between"] = (START_END, "training", None, wall(now + 7000), wall(now + 10_001))
    records.append((now + 20_000, PUSH_POP, "of AscendCL", now + 12_000, now + 20_000, 0, 0, 0, 0, 7, 4711))
    found["of AscendCL"] = (PUSH_POP, "7", 4711, wall(now + 12_000), wall(now + 20_000))
    job.others["unaging." + MARKERS] = [marker(*record) for record in sorted(records)]
    return found


def add_attributes(job, of_nobody=True):
    """Attributes of each operator that a call of the node level launches, and of one that none does."""
    job.names.update({"stride: [1, 1]": 810, "of nobody": 811})
    records = [(stamp + 10, thread, name, 810) for stamp, thread, name, *_ in job.infos]
    if of_nobody:
        records.append((records[0][0] + 1, records[0][1], 5555, 811))
    job.others["aging." + ATTRIBUTES] = [head(NODE, 36, thread, 40, stamp) + struct.pack("<QIQ20x", name, 0, attributes)
                                         for stamp, thread, name, attributes in sorted(records)]


def captured_op(stamp, stream, task, operator, kind, tensors=(), room=None):
    """`tensors`: (is output, format, data type, shape)."""
    packed = b"".join(struct.pack("<3I8I", *of, *shape, *[0] * (8 - len(shape))) for *of, shape in tensors)
    record = head(RUNTIME, 37, 4242, 64 + len(packed), stamp) + struct.pack("<6I4Q2I", 5, 0, stream, task, 0, 20, operator, kind, 0, 0, 1,
                                                                            len(tensors)) + packed
    return record.ljust(room or 0, b"\0")


def add_captures(job):
    """Kernels of a graph that was captured and ran twice: they have no call of the node level, the runtime tells what they are, of
    one with more tensors than 256 bytes hold; and one that nobody tells of but its kernel. Returns {(stream, task): (operator,
    type, blocks, input shapes)}."""
    job.names.update(Add_7=830, Add=831, Concat_8=832, ConcatD=833)
    now, ids = max(end for *_, end, _ in job.calls if end != EVENT) + 2_000_000, {13: -1}
    began, found = now, {}
    job.others["unaging." + CAPTURES] = [head(RUNTIME, 38, 4242, 40, now - 1000) + struct.pack("<5H30x", 0, 13, 2, 5, 0)]
    for operator, kind, count in (("Add_7", "Add", 2), ("Concat_8", "ConcatD", 5), (None, None, 0)):
        task = job.launch(now, 4242, 13, ids, "KERNEL_AICORE", NAMES["my_kernel"])
        shapes = [(number + 2, 8) for number in range(count)]
        if operator is not None:
            tensors = [(0, 2, 1, shape) for shape in shapes] + [(1, 2, 1, (1, 8))]
            of = (now + 500, 13, task, job.names[operator], job.names[kind], tensors)
            file = CAPTURED if len(tensors) <= 3 else LONG_CAPTURED
            job.others["unaging." + file] = [captured_op(*of, room=256 if file == CAPTURED else None)]
        found[13, task] = (operator or "my_kernel", kind or "my_kernel", 24, ";".join(f"{rows},8" for rows, _ in shapes))
        now += 10_000
    for run in range(2):
        for task in range(len(found)):
            begin = began + 100_000 + 200_000 * run + 20_000 * task
            job.ran(begin, begin + 9_000, 13, task)
    return found


def wide_ids(stream, task):
    """As a record of the device has them where each lies in the other's place: bit 15 of the stream says so."""
    return 0x8000 | task & 0x7FFF, task & 0x8000 | stream & 0x7FFF


def add_wide_streams(job):
    """Streams beyond 2047 of a runtime that says that it has them: one whose ids are as they are, one whose ids lie in each other's
    places, one of a type whose ids never do. Returns {(stream, task): its type in the log}."""
    now, found = max(end for *_, end, _ in job.calls if end != EVENT) + 2_000_000, {}
    for stream, first, kind in ((5000, 7, "KERNEL_AICORE"), (6001, 0x8123, "KERNEL_AICORE"), (0x2005, 9, "NOTIFY_WAIT")):
        ids = {stream: first - 1}
        for number in range(3):
            task = job.launch(now, 4242, stream, ids, kind, NAMES["my_kernel"] if kind.startswith("KERNEL") else 0)
            logged, of_device = {5000: ((stream, task), 0), 6001: (wide_ids(stream, task), 0), 0x2005: ((0x8000 | stream, task), 4)}[stream]
            job.ran(now + 10_000, now + 19_000, *logged, of_device)
            found[stream, task] = of_device
            now += 30_000
    job.others["unaging." + STREAM_SPEC] = [head(RUNTIME, 39, 4242, 4, RAW + 500) + struct.pack("<B39x", 1)]
    return found


def add_logic_streams(job):
    """Streams of the job that are one to the framework. Returns {stream: its number}."""
    job.others["aging." + LOGIC_STREAMS] = [head(MODEL, 7, 4242, 232, RAW + 600 + number) + struct.pack("<II56I", logic, len(streams), *streams,
                                                                                                     *[0] * (56 - len(streams)))
                                            for number, (logic, streams) in enumerate(((1000, (3, 4)), (1001, (20, 77))))]
    return {3: 1000, 4: 1000, 20: 1001}


def add_static_memory(job):
    """What the operators of two graphs need: (operator, model, graph, first, last, bytes); of one in all, of one until the end."""
    job.names.update(**{"static/Conv": 840, "root": 841})
    rows = [(840, 841, 3, 1, 9, 1 << 20), (0, 841, 3, 0, 2**32 - 2, 3 << 20), (849, 841, 4, 2, 5, 1537)]
    job.others["unaging." + STATIC_MEMORY] = [head(NODE, 11, 4242, 52, RAW + 700 + number) + struct.pack("<q5QI180x", size, operator, first, last, 0,
                                                                                                       model, graph)
                                              for number, (operator, model, graph, first, last, size) in enumerate(rows)]
    return [({840: "static/Conv", 0: "TOTAL"}.get(operator, str(operator)), "root", graph, first, 2**32 - 1 if last == 2**32 - 2 else last,
             size / 1024) for operator, model, graph, first, last, size in rows]


def ai_cpu_record(kind, ticks, data):
    return (struct.pack("<HHIIIQ", 0x5A5A, 6000, kind, ANY, len(data), ticks) + data).ljust(256, b"\0")


def add_queues(directory):
    """Into a written directory: what a device's AI CPUs tell of queues of data and of waits for them. Returns the rows of both:
    (ticks, action, source, size) and (node, begin, end, size)."""
    queues = [(COUNTER + 50_000 * number, "Last queue dequeue"[:15], f"iterator_{number % 2}", 100 + number) for number in range(5)]
    waits = [("GetNext_dequeue_wait", 10**9 + 1000 * number, 10**9 + 1000 * number + 77, 9 - number) for number in range(4)]
    kernel = struct.pack("<HHI7Q2I4Q3IHB9x", 7, 40, 0, 1000, COUNTER, 2000, 2100, 2120, 3000, COUNTER + 50_000, 1, 0, COUNTER, COUNTER, COUNTER,
                         COUNTER + 50_000, 1, 11, 1100, 0, 1)  # without one the vendor's parser complains of a table
    (directory / "device_0/data/aicpu.data.0.slice_0").write_bytes(
        ai_cpu_record(0, COUNTER, kernel) + b"".join(ai_cpu_record(1, ticks, struct.pack("<16s64sQQ", action.encode(), source.encode(), number, size))
                 for number, (ticks, action, source, size) in enumerate(queues)) +
        b"".join(ai_cpu_record(3, COUNTER + 60_000 * number, struct.pack("<IIQQQ", 1, 0, size, begin, end))
                 for number, (_, begin, end, size) in enumerate(waits)))
    return queues, waits


def add_messages(directory):
    """Into a written directory: what AI CPUs of older drivers report, kernels and queues of data. Returns the rows of both: (ticks of the
    begin, compute us, copy us, stream, task) and (ns, action, source, size)."""
    kernels, messages = [], []
    for number in range(4):
        begin, stream, task = COUNTER + 100_000 * number, 7, 40 + number
        compute, copy = 100 + number, 20 + number
        kernels.append((begin, compute, copy, stream, task))
        messages.append(struct.pack("<4H7Q2I4Q3IHBBQ", 0x5A5A, 60, stream | 0x800, task, 1000, begin, 2000, 2000 + compute, 2000 + compute + copy, 3000,
                                    begin + 50_000, 1, 0, begin - 500, begin - 400, begin - 300, begin + 50_500, 1, 11, 1100, 0, 1, 0, 0))
    queues = [(DEVICE_RAW + 1_000_000 * number, "dequeue", f"iterator_{number % 2}", 100 + number) for number in range(5)]
    data = directory / "device_0/data"
    (data / "DATA_PREPROCESS.AICPU.0.slice_0").write_bytes(b"".join(messages))
    (data / "DATA_PREPROCESS.DP.0.slice_0").write_bytes(b"".join(
        struct.pack("<HHIQ16s64s4Q", 0x5A5A, 100, 0, ns, action.encode(), source.encode(), number, size, 0, 0)
        for number, (ns, action, source, size) in enumerate(queues)))
    return kernels, queues
