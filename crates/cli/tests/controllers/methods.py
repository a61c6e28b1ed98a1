"""All 48 methods against the daemon, each at least once with what it is for; `KillBess` ends it."""

import os

from session import *

bess = Bess()
assert bess.request("GetVersion").version.startswith("tidegate-")
bess.request("PauseAll")
bess.request("ResetAll")
refused(ENOTSUP, "/tmp/m.so", bess.request, "ImportPlugin", path="/tmp/m.so")
refused(ENOENT, "/tmp/m.so", bess.request, "UnloadPlugin", path="/tmp/m.so")
equal(list(bess.request("ListPlugins").paths), [])

core = min(os.sched_getaffinity(0))
bess.request("AddWorker", wid=0, core=core)
bess.request("AddWorker", wid=5, core=core)
equal([(worker.wid, worker.core, worker.running) for worker in bess.request("ListWorkers").workers_status],
      [(0, core, False), (5, core, False)])
bess.request("DestroyWorker", wid=5)
refused(ENOENT, "no worker 5", bess.request, "PauseWorker", wid=5)
refused(EINVAL, "core", bess.request, "AddWorker", wid=7, core=8000)

equal(set(bess.request("ListDrivers").driver_names), {"AFXDPPort", "BulkTapPort", "MemifPort", "PCAPPort", "PMDPort", "UnixSocketPort",
                                                   "VPort", "VhostUserPort"})
assert bess.request("GetDriverInfo", driver_name="VPort").help
bess.create_port("PMDPort", "null", vdev="net_null0")
bess.request("SetPortConf", name="null", conf=dict(mtu=1500, admin_up=True))
refused(ENOTSUP, "fixed", bess.request, "SetPortConf", name="null", conf=dict(mtu=9000, admin_up=True))
equal(bess.request("GetPortConf", name="null").conf.mtu, 1500)
equal([port.name for port in bess.request("ListPorts").ports], ["null"])

classes = bess.request("ListMclass").names
assert "Queue" in classes and bess.request("GetMclassInfo", name="Queue").help
equal(bess.create_module("PortInc", "in", port="null"), "in")
equal(bess.create_module("Queue"), "queue0")
bess.create_module("SetMetadata", "mark", attrs=[dict(name="x", size=4, value_int=5)])
bess.create_module("MetadataTest", "read", read={"x": 4}, write={"y": 2})
bess.create_module("PortOut", "out", port="null")
bess.create_module("Bypass", "spare")
bess.chain("in", "queue0", "mark", "read", "out")
bess.connect("spare", "read", igate=1)
bess.request("DisconnectModules", name="spare", ogate=0)
bess.request("DestroyModule", name="spare")
equal([module.desc for module in bess.request("ListModules").modules if module.name == "in"], ["null"])
equal(bess.check_constraints(), [])
bess.resume_all()
bess.await_arrival("out", 1000)
status = bess.command("queue0", "get_status")
assert status.size == 1024 and status.enqueued >= status.dequeued > 0, status

info = bess.info("read")
equal((info.name, info.mclass), ("read", "MetadataTest"))
equal(sorted((it.name, it.size, it.mode, it.offset >= 0) for it in info.metadata), [("x", 4, "read", True), ("y", 2, "write", False)])
equal([(gate.igate, [(it.name, it.ogate) for it in gate.ogates]) for gate in info.igates], [(0, [("mark", 0)])])
(ogate,) = info.ogates
assert (ogate.name, ogate.igate) == ("out", 0) and ogate.pkts > 0 and ogate.cnt > 0 and ogate.timestamp > 0, ogate
equal([hook.class_name for hook in ogate.gatehooks], ["Track"])

found = bess.request("GetPortStats", name="null")
assert found.inc.packets > 0 and found.out.packets > 0 and found.inc.bytes == found.inc.packets * 60, found
equal(bess.request("GetLinkStatus", name="null").link_up, True)
pool = bess.request("DumpMempool", socket=0).dumps[0]
assert pool.initialized and pool.mp_size >= pool.mp_available_count > 0 and pool.mp_element_size == 2048, pool
equal((pool.ring_count, pool.ring_count + pool.ring_free_count), (pool.mp_available_count, pool.mp_size))
assert pool.ring_bytes >= pool.mp_size * 4, pool
refused(ENOENT, "NUMA node 1000", bess.request, "DumpMempool", socket=1000)

bess.add_tc("limit", "rate_limit", wid=0, resource="bit", limit={"bit": 10**9}, max_burst={"bit": 10**6})
bess.attach_task("in", parent="limit")
bess.request("UpdateTcParams", **{"class": dict(name="limit", resource="bit", limit={"bit": 2 * 10**9})})
bess.await_arrival("out")
assert bess.request("GetTcStats", name="limit").packets > 0
names = {getattr(it, "class").name for it in bess.request("ListTcs", wid=0).classes_status}
assert {"limit", "!leaf_in:0", "!leaf_queue0:0"} <= names, names
bess.request("ResetTcs")

equal(set(bess.request("ListGateHookClass").names), {"PcapNg", "TcpDump", "Track"})
equal(list(bess.request("GetGateHookClassInfo", name="Track").cmds), ["reset"])
bess.hook("Track", facts.any("TrackArg", bits=True), module="in", gate=0)
bess.request("GateHookCommand", hook=dict(class_name="Track", module_name="in", ogate=0), cmd="reset")
assert any(hook.module_name == "in" for hook in bess.request("ListGateHooks").hooks)
bess.request("ConfigureResumeHook", hook_name="setup_metadata", enable=True)
bess.request("PauseWorker", wid=0)
bess.request("ResumeWorker", wid=0)

bess.request("ResetModules")
bess.request("DestroyPort", name="null")
bess.request("ResetPorts")
bess.request("ResetWorkers")
bess.request("KillBess")
equal(bess.called, set(facts.methods))
equal(len(bess.called), 48)
