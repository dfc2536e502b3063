"""What sanitizers say of any program that a test starts fails the test, wherever that program's stderr goes, and whether or not
anybody looks how it ended."""
import os
import pathlib
import shutil
import tempfile
import unittest

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="profd-reports-"))
FOLDER.chmod(0o777)  # for programs of other users, too
for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
    os.environ[name] = ":".join([*filter(None, [os.environ.get(name)]), f"log_path={FOLDER}/report"])


# TSan of clang 14 takes it for a fault of a forked process (profd's stand-ins) that what it did not look at before the fork is not
# looked at when it ends. Not a word of what was raced for.
NOT_OURS = "ThreadSanitizer: main thread finished with ignores enabled"


def there_are_none():
    texts = {path.name: path.read_text(errors="replace") for path in sorted(FOLDER.iterdir())}
    reports = [f"{name}: {text}" for name, text in texts.items() if not text.startswith(NOT_OURS)]
    shutil.rmtree(FOLDER)
    if reports:
        raise AssertionError("\n".join(["sanitizers report:", *reports]))


unittest.addModuleCleanup(there_are_none)
