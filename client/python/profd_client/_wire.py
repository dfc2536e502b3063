"""The messages of proto/profd/v1, from their descriptors: no generated code to fit the protobuf of the machine."""
import pathlib

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def _load():
    pool = descriptor_pool.DescriptorPool()
    files = descriptor_pb2.FileDescriptorSet.FromString((pathlib.Path(__file__).parent / "api.desc").read_bytes())
    for file in files.file:
        pool.Add(file)
    return pool


_pool = _load()


def message(name):
    """The class of profd.v1.`name`."""
    descriptor = _pool.FindMessageTypeByName(f"profd.v1.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_pool).GetPrototype(descriptor)


def word(enum, value):
    """SESSION_STATE_RUNNING → "running"; what this client does not know is its number."""
    values = _pool.FindEnumTypeByName(f"profd.v1.{enum}").values_by_number
    prefix = "".join("_" + letter if letter.isupper() else letter.upper() for letter in enum).lstrip("_").upper() + "_"
    text = values[value].name[len(prefix):].lower() if value in values else str(value)
    return "" if text == "unspecified" else text


def number(enum, text):
    prefix = "".join("_" + letter if letter.isupper() else letter.upper() for letter in enum).lstrip("_").upper() + "_"
    values = _pool.FindEnumTypeByName(f"profd.v1.{enum}").values_by_name
    if prefix + text.upper() not in values:
        known = ", ".join(name[len(prefix):].lower() for name in values if not name.endswith("UNSPECIFIED"))
        raise ValueError(f"'{text}': expected one of {known}")
    return values[prefix + text.upper()].number
