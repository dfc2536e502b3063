"""What a simulated job (job_sim.py) leaves of a rank: the folder and the database of the framework's profiler."""
import json
import math
import random
import sqlite3

EPOCH = 1_760_000_000_000_000_000
US, MS = 1_000, 1_000_000
PRODUCT = "MatMulV3"  # the kernels whose blocks and pipes faults are about


class Writer:
    """A rank's database, and the folder about it, as the framework's profiler leaves it."""

    SCHEMA = """
    CREATE TABLE STRING_IDS(id INTEGER PRIMARY KEY,value TEXT);
    CREATE TABLE HOST_INFO(hostUid TEXT,hostName TEXT);
    CREATE TABLE RANK_DEVICE_MAP(rankId INTEGER,deviceId INTEGER);
    CREATE TABLE META_DATA(name TEXT,value TEXT);
    CREATE TABLE ENUM_HCCL_DATA_TYPE(id INTEGER PRIMARY KEY,name TEXT);
    CREATE TABLE TASK(startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,globalTaskId INTEGER,globalPid INTEGER,
      taskType INTEGER,contextId INTEGER,streamId INTEGER,taskId INTEGER,modelId INTEGER);
    CREATE TABLE COMPUTE_TASK_INFO(name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockDim INTEGER,mixBlockDim INTEGER,
      taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,inputShapes INTEGER,outputFormats INTEGER,
      outputDataTypes INTEGER,outputShapes INTEGER,attrInfo INTEGER,opState INTEGER,hf32Eligible INTEGER);
    CREATE TABLE COMMUNICATION_OP(opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,groupName INTEGER,
      opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,count NUMERIC,opType INTEGER,
      deviceId INTEGER);
    CREATE TABLE TASK_PMU_INFO(globalTaskId INTEGER,name INTEGER,value NUMERIC);
    CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE(id INTEGER PRIMARY KEY,name TEXT);
    CREATE TABLE COMMUNICATION_TASK_INFO(name INTEGER,globalTaskId INTEGER,taskType INTEGER,planeId INTEGER,groupName INTEGER,
      notifyId INTEGER,rdmaType INTEGER,srcRank INTEGER,dstRank INTEGER,transportType INTEGER,size NUMERIC,dataType INTEGER,
      linkType INTEGER,opId INTEGER);
    CREATE TABLE CANN_API(startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,connectionId INTEGER PRIMARY KEY,
      name INTEGER);
    CREATE TABLE PYTORCH_API(startNs INTEGER,endNs INTEGER,globalTid INTEGER,connectionId INTEGER,name INTEGER,
      sequenceNumber INTEGER,fwdThreadId INTEGER,inputDtypes INTEGER,inputShapes INTEGER,callchainId INTEGER,type INTEGER);
    CREATE TABLE STEP_TIME(id INTEGER,startNs INTEGER,endNs INTEGER);
    CREATE TABLE AICORE_FREQ(deviceId INTEGER,timestampNs INTEGER,freq INTEGER);
    CREATE TABLE NPU_MODULE_MEM(moduleId INTEGER,timestampNs INTEGER,totalReserved NUMERIC,deviceId INTEGER);
    CREATE TABLE MEMORY_RECORD(component INTEGER,timestamp INTEGER,totalAllocated INTEGER,totalReserved INTEGER,totalActive INTEGER,
      streamPtr INTEGER,deviceId INTEGER);
    CREATE TABLE ENUM_MODULE(id INTEGER PRIMARY KEY,name TEXT);
    CREATE TABLE GC_RECORD(startNs INTEGER,endNs INTEGER,globalTid INTEGER);
    """

    def __init__(self, simulation, rank, out):
        self.simulation, self.rank, self.shape = simulation, rank, simulation.shape
        per_node = max(1, self.shape.ranks // self.shape.nodes)
        self.node, self.device = rank // per_node, rank % per_node
        rng = random.Random(f"clock {self.node} {self.shape.seed}")
        self.offset, self.drift = rng.uniform(-800, 800) * US * (self.node > 0), rng.uniform(-12e-6, 12e-6) * (self.node > 0)
        self.folder = out / f"host{self.node}_{1000 + rank}_20260101000000_ascend_pt"
        self.texts = {}

    def at(self, ns):
        """On the clock of the node."""
        return EPOCH + round(ns * (1 + self.drift) + self.offset)

    def text(self, value):
        return self.texts.setdefault(value, len(self.texts))

    def write(self):
        results = self.folder / "ASCEND_PROFILER_OUTPUT"
        results.mkdir(parents=True)
        (self.folder / f"profiler_info_{self.rank}.json").write_text(json.dumps({"rank_id": self.rank}))
        device = self.folder / f"PROF_000001_20260101000000000_{self.rank:016d}" / f"device_{self.device}"
        device.mkdir(parents=True)
        (device / f"info.json.{self.device}").write_text(json.dumps(
            {"rank_id": self.rank, "DeviceInfo": [{"id": self.device, "ai_core_num": 24, "aiv_num": 48, "aic_frequency": "1800"}]}))
        path = results / f"ascend_pytorch_profiler_{self.rank}.db"
        db = sqlite3.connect(path)
        db.execute("PRAGMA synchronous=OFF")
        db.executescript(self.SCHEMA)
        self.fill(db)
        db.executemany("INSERT INTO STRING_IDS VALUES(?,?)", [(number, value) for value, number in self.texts.items()])
        db.commit()
        db.close()

    def fill(self, db):
        rows, shape, text, at = self.simulation.rows[self.rank], self.shape, self.text, self.at
        thread = (1000 + self.rank) << 32 | (1000 + self.rank)
        core, none = text("AI_CORE"), text("N/A")
        db.execute("INSERT INTO HOST_INFO VALUES(?,?)", (f"{900 + self.node}", f"host{self.node}"))
        db.execute("INSERT INTO RANK_DEVICE_MAP VALUES(?,?)", (self.rank, self.device))
        db.executemany("INSERT INTO ENUM_HCCL_DATA_TYPE VALUES(?,?)", [(3, "FP16"), (4, "FP32")])
        groups = {self.plain(name): {"group_name": role, "global_ranks": ranks}
                  for name, (role, ranks) in shape.groups(self.rank).items()}
        db.execute("INSERT INTO META_DATA VALUES(?,?)", ("parallel_group_info", json.dumps(groups)))
        tasks, infos = [], []
        blocks = {PRODUCT: fault.count for fault in self.simulation.faults if fault.kind == "few_blocks"}
        for number, (begin, end, kind, shapes, connection, work) in enumerate(rows.kernels, 1):
            tasks.append((at(begin), at(end), self.device, connection, number, 1000 + self.rank, text(work), 4294967295, 2,
                          number % 65536, 4294967295))
            if work == "MEMCPY_ASYNC":
                continue  # no kernel
            infos.append((text(f"aclnn{kind}_{number % 7}"), number, blocks.get(kind, 24), 0, text(work), text(kind), none, none, text(shapes), none,
                          none, none, none, none, none))
        for number, (begin, end) in enumerate(rows.others, 2_000_000):  # another program's, on a stream of its own
            tasks.append((at(begin), at(end), self.device, 4294967295, number, 77, core, 4294967295, 9, number % 65536, 4294967295))
            infos.append((text("aclnnOther_1"), number, 24, 0, core, text("Other"), none, none, none, none, none, none, none, none, none))
        db.executemany("INSERT INTO TASK VALUES(?,?,?,?,?,?,?,?,?,?,?)", tasks)
        db.executemany("INSERT INTO COMPUTE_TASK_INFO VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", infos)
        if shape.counters:
            self.fill_counters(db)
        last = max(self.simulation.step_end) + 3000 * MS
        counts, operations, parts = {}, [], []
        for number, (begin, key, group, connection, megabytes, kind) in enumerate(rows.collectives, 1):
            count = counts[group] = counts.get(group, -1) + 1
            ring = self.simulation.rings[key]
            ends = ring.ends
            end = ends[self.rank] if ends is not None else last
            if shape.links and ends is not None and self.rank in ring.on_link:
                members, own = ring.members, ring.members.index(self.rank)
                parts.append((1_000_000 + number, end - ring.on_link[self.rank], end, text(self.plain(group)),
                              (own - 1) % len(members), own, 0 if group.startswith("tp") else 2,
                              round(2 * (len(members) - 1) * megabytes * 1e6 / len(members)), number))
            operations.append((text(f"hcom_{kind}__{sum(group.encode()) % 1000:03d}_{count}_1"), at(begin), at(end), connection,
                               text(self.plain(group)), number, 0, 0, 3, none, round(megabytes * 5e5), text(f"hcom_{kind}_"),
                               self.device))
        db.executemany("INSERT INTO COMMUNICATION_OP VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", operations)
        db.executemany("INSERT INTO ENUM_HCCL_TRANSPORT_TYPE VALUES(?,?)", [(0, "HCCS"), (1, "PCIE"), (2, "RDMA")])
        db.executemany("INSERT INTO TASK VALUES(?,?,?,?,?,?,?,?,?,?,?)", [
            (at(begin), at(end), self.device, 4294967295, part, 1000 + self.rank, text("SDMA"), 4294967295, 3, part % 65536, 4294967295)
            for part, begin, end, *_ in parts])
        db.executemany("INSERT INTO COMMUNICATION_TASK_INFO VALUES(?,?,?,0,?,0,0,?,?,?,?,3,0,?)", [
            (text("Memcpy"), part, text("Memcpy"), group, source, goal, transport, size, operation)
            for part, _, _, group, source, goal, transport, size, operation in parts])
        db.executemany("INSERT INTO CANN_API VALUES(?,?,?,?,?,?)", [
            (at(begin), at(end), 10000 if name == "launch" else 20000, thread, connection, text(name))
            for begin, end, name, connection in rows.calls if shape.calls])
        db.executemany("INSERT INTO PYTORCH_API VALUES(?,?,?,?,?,-1,-1,-1,-1,-1,50001)", [
            (at(begin), at(end), thread, 10_000_000 + i, text(name)) for i, (begin, end, name) in enumerate(rows.ranges)])
        db.executemany("INSERT INTO STEP_TIME VALUES(?,?,?)", [(step, at(begin), at(end)) for step, begin, end in rows.steps])
        db.executemany("INSERT INTO AICORE_FREQ VALUES(?,?,?)", [(self.device, at(when), round(mhz)) for when, mhz in rows.frequency])
        db.executemany("INSERT INTO ENUM_MODULE VALUES(?,?)", [(3, "HCCL"), (7, "RUNTIME")])
        db.executemany("INSERT INTO NPU_MODULE_MEM VALUES(?,?,?,?)",
                       [(module, at(when), round(size), self.device) for when, module, size in rows.memory])
        # Of the framework's allocator: in use at the begin and in the middle of a step, and held.
        faults = [fault for fault in self.simulation.faults if fault.kind == "fragments" and fault.of(shape, self.rank)]
        held = round(21e9 * math.prod(fault.factor for fault in faults))
        db.executemany("INSERT INTO MEMORY_RECORD VALUES(?,?,?,?,?,0,?)", [
            (text(component), at(when), used, held, used, self.device) for _, begin, end in rows.steps for component in ("PTA", "PTA+GE")
            for when, used in ((begin, 12_000_000_000), ((begin + end) / 2, 20_000_000_000))])
        db.executemany("INSERT INTO GC_RECORD VALUES(?,?,?)", [(at(begin), at(end), thread) for begin, end in rows.garbage])

    def fill_counters(self, db):
        """Matrix products are limited by their cubes, all else by what is loaded; a fault lengthens without more of either."""
        rng = random.Random(f"counters {self.rank} {self.shape.seed}")
        faults = [fault for fault in self.simulation.faults if fault.kind == "unbound" and fault.of(self.shape, self.rank)]
        figures = []
        for number, (_, _, kind, _, _, work) in enumerate(self.simulation.rows[self.rank].kernels, 1):
            if work != "AI_CORE":
                continue
            is_product = kind == PRODUCT
            slow = math.prod(fault.factor for fault in faults) if is_product else 1
            for name, busy in (("mac", 0.8 if is_product else 0.1), ("mte2", 0.6 if is_product else 0.9), ("scalar", 0.2), ("mte1", 0.3),
                               ("fixpipe", 0.15)):
                figures.append((number, self.text(f"aic_{name}_ratio"), busy / slow * rng.uniform(0.97, 1.03)))
        db.executemany("INSERT INTO TASK_PMU_INFO VALUES(?,?,?)", figures)

    @staticmethod
    def plain(group):
        return f"10.0.0.1%eth0_60000_0_{group}"
