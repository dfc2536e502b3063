"""profd's own folder of a PROF directory (format/directory/own_folder.h): what the vendor's layout has no place for."""
import json
import pathlib

OWN_FOLDER = ".profiler"
FORMER_OWN_FOLDER = "profd"  # of an older profd: read, never made
MANIFEST = OWN_FOLDER + "/manifest.json"


def own_folder(directory):
    return pathlib.Path(directory) / OWN_FOLDER


def losses(directory, but=()):
    """(kind, where) of everything that was lost, except in the places `but`. "sampler" is where a busy machine costs the host's
    samples a moment, which is no fault of anybody's."""
    return {(stream["kind"], loss["where"]) for stream in manifest(directory)["streams"] for loss in stream["losses"]
            if loss["where"] not in but}


def manifest(directory, folder=OWN_FOLDER):
    return json.loads((pathlib.Path(directory) / folder / "manifest.json").read_text(encoding="utf-8"))
