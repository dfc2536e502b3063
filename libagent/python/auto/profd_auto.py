"""Sees the first import of a framework that trains or serves, and has profd's agent loaded then (`profctl auto`, docs/auto.md).

Runs at the start of every Python that finds it, so it is short; the rest is in profd_attach.py.
"""
import sys

# Only programs that use an accelerator import these.
FRAMEWORKS = frozenset(("acl", "mindformers", "mindspore", "mindspore_lite", "mindspeed", "npu_bridge", "sglang", "tensorflow",
                        "torch", "torch_npu", "vllm"))


class ProfdWatch:
    waits = True

    def find_spec(self, name, path=None, target=None):  # pylint: disable=unused-argument
        if self.waits and name in FRAMEWORKS:
            self.waits = False
            try:
                attach = __file__.replace("profd_auto.py", "profd_attach.py")
                with open(attach, encoding="utf-8") as text:
                    exec(compile(text.read(), attach, "exec"), {"__file__": attach, "SOCKET": globals().get("SOCKET")})
            except Exception:  # pylint: disable=broad-except
                pass  # a job starts as ever, whatever is wrong with profd


if not any(type(finder).__name__ == "ProfdWatch" for finder in sys.meta_path):
    sys.meta_path.insert(0, ProfdWatch())
