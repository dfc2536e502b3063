"""profd for Python programs: name ranges, marks, counters and steps; profd records them when it is asked to.

    import profd

    with profd.range("forward", batch=32):
        ...
    @profd.range("load")
    def load(): ...
    profd.mark("checkpoint written")
    profd.counter("queue length", n)
    for batch in profd.steps(loader):
        ...

Everything may be called from any thread at any time, whether or not a profd is there, and does nothing while nobody
records. Importing starts nothing; the first call starts the agent's one thread (profd/agent.h has the details). Without
libprofd_agent.so every call does nothing. Collections of garbage of the older generations become ranges,
too. The library is looked for at $PROFD_AGENT_LIBRARY, in the process itself (preloaded), where profd's packages put it, and
in the loader's path.
"""
import atexit
import ctypes
import functools
import gc
import os

__all__ = ["range", "mark", "counter", "step", "steps", "begin_step", "end_step", "domain", "name_thread", "available"]

_U64, _I64, _F64, _TEXT = 1, 2, 3, 4


class _As(ctypes.Union):
    _fields_ = [("u64", ctypes.c_uint64), ("i64", ctypes.c_int64), ("f64", ctypes.c_double), ("text", ctypes.c_char_p)]


class _Value(ctypes.Structure):
    _fields_ = [("key", ctypes.c_uint32), ("type", ctypes.c_uint32), ("as_", _As)]


class _Event(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("domain", ctypes.c_uint32), ("name", ctypes.c_uint32),
                ("category", ctypes.c_uint32), ("values", ctypes.POINTER(_Value)), ("value_count", ctypes.c_size_t)]


_FUNCTIONS = {
    "profd_intern": (ctypes.c_uint32, ctypes.c_char_p),
    "profd_domain_create": (ctypes.c_uint32, ctypes.c_char_p),
    "profd_name_thread": (None, ctypes.c_char_p),
    "profd_mark_event": (None, ctypes.POINTER(_Event)),
    "profd_range_push": (ctypes.c_int, ctypes.c_uint32),
    "profd_range_push_event": (ctypes.c_int, ctypes.POINTER(_Event)),
    "profd_range_pop_in": (ctypes.c_int, ctypes.c_uint32),
    "profd_mark": (None, ctypes.c_uint32),
    "profd_counter": (None, ctypes.c_uint32, ctypes.c_int64),
    "profd_counter_f64": (None, ctypes.c_uint32, ctypes.c_double),
    "profd_step_begin": (None, ctypes.c_uint64),
    "profd_step_end": (None, ctypes.c_uint64),
}


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    # Of a build, whose package is a link to the sources, as of an installation: lib/profd/python/profd.
    lib = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    candidates = [
        os.environ.get("PROFD_AGENT_LIBRARY"),
        None,  # the process itself
        os.path.join(here, "libprofd_agent.so"),
        os.path.join(lib, "libprofd_agent.so"),
        "libprofd_agent.so",
    ]
    for number, candidate in enumerate(candidates):
        if candidate is None and number != 1:
            continue
        try:
            # PyDLL: the calls are shorter than giving up the interpreter's lock.
            library = ctypes.PyDLL(candidate)
            for name, (result, *arguments) in _FUNCTIONS.items():
                function = getattr(library, name)
                function.restype = result
                function.argtypes = arguments
            return library, ctypes.c_uint32.in_dll(library, "profd_agent_active")
        except (OSError, AttributeError, ValueError):
            continue
    return None, ctypes.c_uint32(0)


_library, _active = _load()


def available():
    """Whether the agent's library was found."""
    return _library is not None


def _bytes(text):
    return text.encode("utf-8", "replace").replace(b"\0", b"?")


# Names that are known already; bounded, since a program may make up a new one every time.
@functools.lru_cache(maxsize=65536)
def _intern(text):
    return _library.profd_intern(_bytes(text))


@functools.lru_cache(maxsize=256)
def domain(name):
    """The number of a domain, for the `domain` argument of range and mark. 0 is the default domain."""
    return _library.profd_domain_create(_bytes(name)) if _library else 0


def _event(name, domain_, category, values):
    array = (_Value * len(values))()
    for value, (key, item) in zip(array, values.items()):
        value.key = _intern(key)
        if isinstance(item, int) and -(1 << 63) <= item < 1 << 63:
            value.type, value.as_.i64 = _I64, item
        elif isinstance(item, int) and 0 <= item < 1 << 64:
            value.type, value.as_.u64 = _U64, item
        elif isinstance(item, float):
            value.type, value.as_.f64 = _F64, item
        else:
            value.type, value.as_.text = _TEXT, _bytes(str(item))
    return _Event(ctypes.sizeof(_Event), domain_, _intern(name), category, array, len(values))


class range:
    """A nested range of the calling thread: a context manager and a decorator. Keyword values become its payload."""

    __slots__ = ("_name", "_domain", "_category", "_values", "_open")

    def __init__(self, name, *, domain=0, category=0, **values):
        self._name, self._domain, self._category, self._values = name, domain, category, values
        self._open = []

    def __enter__(self):
        if not _active.value:
            self._open.append(False)
        elif self._values or self._domain or self._category:
            event = _event(self._name, self._domain, self._category, self._values)
            self._open.append(_library.profd_range_push_event(event) != -2)
        else:
            self._open.append(_library.profd_range_push(_intern(self._name)) != -2)
        return self

    def __exit__(self, *_):
        if self._open.pop():
            _library.profd_range_pop_in(self._domain)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def ranged(*arguments, **named):
            # One of its own: the function may run in several threads at once.
            with range(self._name, domain=self._domain, category=self._category, **self._values):
                return function(*arguments, **named)

        return ranged


def mark(name, *, domain=0, category=0, **values):
    """A moment."""
    if not _active.value:
        return
    if values or domain or category:
        _library.profd_mark_event(_event(name, domain, category, values))
    else:
        _library.profd_mark(_intern(name))


def counter(name, value):
    """A value that holds from now on: an int of 64 bits or a float."""
    if not _active.value:
        return
    if isinstance(value, int):
        _library.profd_counter(_intern(name), value)
    else:
        _library.profd_counter_f64(_intern(name), value)


def begin_step(number):
    """For loops that no `with step(number)` fits: end_step(number) must follow, in the same thread."""
    if _library:
        _library.profd_step_begin(number)


def end_step(number):
    if _library:
        _library.profd_step_end(number)


class step:
    """One step of the training loop, as a context manager. Drives step windows, recording or not."""

    __slots__ = ("_number",)

    def __init__(self, number):
        self._number = number

    def __enter__(self):
        begin_step(self._number)
        return self

    def __exit__(self, *_):
        end_step(self._number)
        return False


def steps(iterable, start=0):
    """The items of `iterable`, the work on each being one step."""
    for number, item in enumerate(iterable, start):
        with step(number):
            yield item


def name_thread(text):
    """Says what the calling thread is called."""
    if _library:
        _library.profd_name_thread(_bytes(text))


# What stops the program while garbage is collected: a range, so that it has a name and a length. Of the youngest
# generation there are thousands a second, and none is long.
def _collects(phase, info, _is_open=[False]):
    if phase == "stop":
        if _is_open[0]:
            _is_open[0] = False
            _library.profd_range_pop_in(0)
    elif info["generation"] > 0 and _active.value:
        name = _intern(f"Python: garbage collection, generation {info['generation']}")
        _is_open[0] = _library.profd_range_push(name) != -2


if _library:
    gc.callbacks.append(_collects)
    atexit.register(gc.callbacks.remove, _collects)
