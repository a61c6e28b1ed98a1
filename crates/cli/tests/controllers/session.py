"""A controller's session, in the manner of BESS's own Python client, made from the interface's facts alone.

It builds a message by the class's name with `Arg` behind it, or takes EmptyArg where there is none; packs it as Any; raises what an
answer's error says; unpacks an answer's data by the last word of its type URL.
"""

import pathlib
import sys

import grpc

FACTS = pathlib.Path(__file__).resolve().parents[3] / "control/tests/wire"
sys.path.insert(0, str(FACTS))
from interface import Interface  # noqa: E402

EPERM, ENOENT, EIO, EBUSY, EEXIST, ENODEV, EINVAL, ENOSPC, ENOTSUP = 1, 2, 5, 16, 17, 19, 22, 28, 95

facts = Interface((FACTS / "interface.txt").read_text() + (FACTS / "own.txt").read_text(), "bess.pb")


class Refused(Exception):
    """An answer with an error: a code of errno(3), and a text."""

    def __init__(self, code, text, method):
        super().__init__(f"{method}: errno {code}: {text}")
        self.code, self.text = code, text


class ConstraintError(Exception):
    """What was placed cannot run."""


class Bess:
    """A connection to a daemon."""

    def __init__(self, address="127.0.0.1:10514"):
        self.channel = grpc.insecure_channel(address)
        grpc.channel_ready_future(self.channel).result(timeout=30)
        self.called = set()

    def request(self, method, /, **fields):
        """Calls a method; its answer, or `Refused`."""
        path, request, answer = facts.methods[method]
        self.called.add(method)
        stub = self.channel.unary_unary(
            path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=facts.message(answer).FromString,
        )
        got = stub(facts.message(request)(**fields), timeout=60)
        if got.error.code != 0:
            raise Refused(got.error.code, got.error.errmsg, method)
        return got

    def create_module(self, mclass, name="", /, **arg):
        return self.request("CreateModule", name=name, mclass=mclass, arg=argument(mclass + "Arg", arg)).name

    def create_port(self, driver, name="", /, num_inc_q=0, num_out_q=0, size_inc_q=0, size_out_q=0, **arg):
        return self.request(
            "CreatePort", name=name, driver=driver, arg=argument(driver + "Arg", arg),
            num_inc_q=num_inc_q, num_out_q=num_out_q, size_inc_q=size_inc_q, size_out_q=size_out_q,
        )

    def connect(self, m1, m2, ogate=0, igate=0, skip_default_hooks=False):
        self.request("ConnectModules", m1=m1, m2=m2, ogate=ogate, igate=igate, skip_default_hooks=skip_default_hooks)

    def chain(self, *names):
        for one, other in zip(names, names[1:]):
            self.connect(one, other)

    def command(self, module, cmd, arg_type="EmptyArg", /, **arg):
        """Runs a module's command; what it answers, unpacked, or nothing."""
        got = self.request("ModuleCommand", name=module, cmd=cmd, arg=argument(arg_type, arg))
        if not got.HasField("data"):
            return None
        return facts.message(got.data.type_url.split(".")[-1]).FromString(got.data.value)

    def attach_task(self, module, parent="", wid=-1, module_taskid=0, **place):
        leaf = dict(leaf_module_name=module, leaf_module_taskid=module_taskid, parent=parent, wid=wid, **place)
        self.request("UpdateTcParent", **{"class": leaf})

    def add_tc(self, name, policy, wid=-1, **fields):
        self.request("AddTc", **{"class": dict(name=name, policy=policy, wid=wid, **fields)})

    def check_constraints(self):
        found = self.request("CheckSchedulingConstraints")
        if found.fatal:
            raise ConstraintError(found.error.errmsg)
        return [module.name for module in found.modules]

    def resume_all(self, check=True):
        if check:
            self.check_constraints()
        self.request("ResumeAll")

    def hook(self, class_name, arg=None, enable=True, module="", direction="out", gate=-1, name=""):
        hook = dict(class_name=class_name, hook_name=name, module_name=module, arg=arg)
        hook["igate" if direction == "in" else "ogate"] = gate
        return self.request("ConfigureGateHook", hook=hook, enable=enable).name

    def info(self, module):
        return self.request("GetModuleInfo", name=module)

    def arrived(self, module):
        """Packets that came in by any gate."""
        return sum(gate.pkts for gate in self.info(module).igates)

    def await_arrival(self, module, more=1):
        """Waits until so many packets more have come in."""
        wanted = self.arrived(module) + more
        while self.arrived(module) < wanted:
            pass


def argument(name, fields):
    """A message as Any; EmptyArg where there is none of that name."""
    if name not in facts.names:
        assert not fields, f"there is no {name}"
        name = "EmptyArg"
    return facts.any(name, **fields)


def refused(code, words, call, /, *args, **kwargs):
    """Calls what must be refused with this code and a text of one line that has these words in it."""
    try:
        call(*args, **kwargs)
    except Refused as error:
        assert error.code == code, f"{error}, and not errno {code}"
        assert words in error.text, f"{words!r} is not in {error.text!r}"
        assert "\n" not in error.text and 0 < len(error.text) < 400, error.text
        return
    raise AssertionError(f"not refused: {call.__name__}{args}{kwargs}")


def equal(got, wanted):
    assert got == wanted, f"{got}\n    and not\n{wanted}"
