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


def request(name, **fields):
    """A message of that name with these fields."""
    made = message(name)()
    for field, value in fields.items():
        put(made, field, value)
    return made


def put(to, name, value, called=None):
    """Sets a field as the constructor would. A ValueError says what it takes; the caller knows it as `called`."""
    field = to.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        known = ", ".join(each.name for each in to.DESCRIPTOR.fields)
        raise ValueError(f"{called or name}: expected one of {known}")
    try:
        to.MergeFrom(type(to)(**{name: value}))
    except (TypeError, ValueError, AttributeError):
        is_list = hasattr(getattr(to, name), "extend")
        raise ValueError(f"{called or name}={value!r}: expected {_expected(field, is_list)}") from None


def _expected(field, is_list):
    """What a field takes, in words."""
    if field.message_type is not None:
        return "names with their values"
    one, several = {field.CPPTYPE_STRING: ("a text", "texts"), field.CPPTYPE_BOOL: ("True or False", "True or False"),
                    field.CPPTYPE_DOUBLE: ("a number", "numbers")}.get(field.cpp_type, ("a whole number", "whole numbers"))
    return several if is_list else one


def word(enum, value):
    """SESSION_STATE_RUNNING → "running"; what this client does not know is its number."""
    values = _pool.FindEnumTypeByName(f"profd.v1.{enum}").values_by_number
    prefix = "".join("_" + letter if letter.isupper() else letter.upper() for letter in enum).lstrip("_").upper() + "_"
    text = values[value].name[len(prefix):].lower() if value in values else str(value)
    return "" if text == "unspecified" else text


def number(enum, text):
    prefix = "".join("_" + letter if letter.isupper() else letter.upper() for letter in enum).lstrip("_").upper() + "_"
    values = _pool.FindEnumTypeByName(f"profd.v1.{enum}").values_by_name
    if prefix + str(text).upper() not in values:
        known = ", ".join(name[len(prefix):].lower() for name in values if not name.endswith("UNSPECIFIED"))
        raise ValueError(f"'{text}': expected one of {known}")
    return values[prefix + str(text).upper()].number
