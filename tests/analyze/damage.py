"""What can happen to the database of a rank: tables that are emptied, dropped or halved, columns that are gone, bytes that are
flipped, a file that is cut off. Each by name and seed, always the same."""
import random
import sqlite3

# What a rank is judged by; the rest of its tables say more about it.
CORE = ("TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "STRING_IDS", "STEP_TIME", "CANN_API")


def tables(path):
    with sqlite3.connect(path) as db:
        return [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]


def columns(path, table):
    with sqlite3.connect(path) as db:
        return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def rows(path, table):
    with sqlite3.connect(path) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def edit(path, *statements):
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous=OFF")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def empty(path, table):
    edit(path, f"DELETE FROM {table}")


def drop(path, table):
    edit(path, f"DROP TABLE {table}")


def lose_column(path, table, column):
    edit(path, f"ALTER TABLE {table} RENAME COLUMN {column} TO {column}_of_another_version")


def halve(path, table, how, seed):
    """`how`: "any" row, those of the first or the last "part" of the time, "every" second one."""
    key = f"(rowid * 2654435761 + {seed} * 40503) % 4294967296"
    middle = f"(SELECT (min(rowid) + max(rowid)) / 2 FROM {table})"
    edit(path, f"DELETE FROM {table} WHERE " + {
        "any": f"({key} / 65536) % 2 = 0", "every": "rowid % 2 = 0", "first": f"rowid < {middle}", "last": f"rowid >= {middle}"}[how])


def lose_kernels(path, which):
    """Kernels of which no row is left; `which`: of their numbers, which are without gaps."""
    edit(path, f"DELETE FROM TASK WHERE globalTaskId IN (SELECT globalTaskId FROM COMPUTE_TASK_INFO WHERE {which})",
         f"DELETE FROM COMPUTE_TASK_INFO WHERE {which}",
         "CREATE TEMP TABLE numbers AS SELECT globalTaskId AS old, row_number() OVER (ORDER BY globalTaskId) AS new FROM COMPUTE_TASK_INFO",
         *(f"UPDATE {table} SET globalTaskId = (SELECT new FROM numbers WHERE old = globalTaskId) "
           "WHERE globalTaskId IN (SELECT old FROM numbers)" for table in ("TASK", "COMPUTE_TASK_INFO")))
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("VACUUM")  # and numbers the rows again


def lengthen(path, every, times):
    """Every so-many-th task takes so many times as long."""
    edit(path, f"UPDATE TASK SET endNs = startNs + (endNs - startNs) * {times} WHERE rowid % {every} = 0")


def move(path, tables, ns):
    edit(path, *(f"UPDATE {table} SET startNs = startNs + {ns}, endNs = endNs + {ns}" for table in tables))


def flip(path, count, seed, pages=None):
    """`count` bits of the file. `pages`: only in these."""
    rng = random.Random(f"flip {seed} {count}")
    data = bytearray(path.read_bytes())
    for _ in range(count):
        at = rng.randrange(len(data)) if pages is None else (rng.choice(pages) - 1) * 4096 + rng.randrange(4096)
        data[at] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def scramble(path, count, seed):
    """`count` bytes are any others."""
    rng = random.Random(f"scramble {seed} {count}")
    data = bytearray(path.read_bytes())
    for _ in range(count):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data)


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])
