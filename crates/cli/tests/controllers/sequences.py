"""What controllers do: pause, build, check, resume; again over what the last run left; move tasks about; reset."""

from session import *

bess = Bess()


def build(prefix=""):
    src, by, end = (prefix + name for name in ("src", "by", "end"))
    bess.create_module("Source", src)
    bess.create_module("Bypass", by)
    bess.create_module("Sink", end)
    bess.chain(src, by, end)


def a_script_is_run_and_run_again():
    for _ in range(3):
        bess.request("PauseAll")
        bess.request("ResetAll")
        build()
        equal(bess.arrived("end"), 0)
        equal(bess.check_constraints(), [])
        bess.resume_all()
        bess.await_arrival("end", 1000)
    refused(EEXIST, "src", build)
    names = [module.name for module in bess.request("ListModules").modules]
    equal(names, ["by", "end", "src"])


def pause_stops_packets_and_resume_starts_them():
    bess.request("PauseAll")
    still = bess.arrived("end")
    equal([worker.running for worker in bess.request("ListWorkers").workers_status], [False])
    for _ in range(50):
        equal(bess.arrived("end"), still)
    bess.create_module("MACSwap", "swap")
    bess.request("DisconnectModules", name="by", ogate=0)
    bess.chain("by", "swap", "end")
    equal(bess.arrived("end"), 0)
    bess.resume_all()
    bess.await_arrival("end")
    bess.request("PauseWorker", wid=0)
    still = bess.arrived("end")
    equal(bess.arrived("end"), still)
    bess.request("ResumeWorker", wid=0)
    bess.await_arrival("end")


def tasks_move_one_by_one_while_all_is_paused():
    core = bess.request("ListWorkers").workers_status[0].core
    bess.request("PauseAll")
    bess.request("ResetAll")
    for wid in (0, 1):
        bess.request("AddWorker", wid=wid, core=core)
    for name in ("a", "b"):
        bess.create_module("Source", name)
    bess.create_module("Buffer", "held")
    bess.create_module("Sink", "end")
    bess.connect("a", "held")
    bess.connect("b", "held")
    bess.chain("held", "end")
    bess.attach_task("a", wid=1)
    found = bess.request("CheckSchedulingConstraints")
    assert found.fatal and [module.name for module in found.modules] == ["held"], found
    assert "one worker" in found.error.errmsg and found.error.code == 0, found
    refused(EBUSY, "held", bess.request, "ResumeAll")
    try:
        bess.resume_all()
        raise AssertionError("a fatal violation was passed over")
    except ConstraintError as error:
        assert "held" in str(error)
    bess.attach_task("b", wid=1)
    bess.resume_all()
    bess.await_arrival("end")
    refused(EBUSY, "held", bess.attach_task, "b", wid=0)
    bess.await_arrival("end")


def what_no_task_reaches_is_told():
    bess.request("ResetAll")
    bess.create_module("Bypass", "lonely")
    bess.create_module("Sink", "end")
    bess.connect("lonely", "end")
    found = bess.request("CheckSchedulingConstraints")
    equal((found.fatal, [module.name for module in found.modules]), (False, ["end", "lonely"]))
    assert "no task reaches lonely" in found.error.errmsg, found
    bess.resume_all()


def classes_are_built_moved_and_reset():
    bess.request("ResetAll")
    build()
    bess.add_tc("top", "priority", wid=0)
    bess.add_tc("limit", "rate_limit", parent="top", priority=0, resource="packet", limit={"packet": 100_000})
    bess.attach_task("src", parent="limit")
    bess.await_arrival("end")
    bess.request("UpdateTcParams", **{"class": dict(name="limit", resource="packet", limit={"packet": 1_000_000})})
    bess.await_arrival("end")
    used = bess.request("GetTcStats", name="limit")
    assert used.packets > 0 and used.bits > 0 and used.count > 0, used
    listed = {getattr(it, "class").name: it for it in bess.request("ListTcs", wid=-1).classes_status}
    equal(listed["limit"].parent, "top")
    refused(ENOENT, "nowhere", bess.attach_task, "src", parent="nowhere")
    bess.request("ResetTcs")
    bess.await_arrival("end")


def everything_goes_away():
    bess.request("PauseAll")
    bess.request("ResetTcs")
    bess.request("ResetModules")
    bess.request("ResetPorts")
    bess.request("ResetWorkers")
    bess.resume_all()
    for method, field in (("ListModules", "modules"), ("ListPorts", "ports"), ("ListWorkers", "workers_status")):
        equal(len(getattr(bess.request(method), field)), 0)
    pool = bess.request("DumpMempool", socket=-1).dumps[0]
    equal((pool.initialized, pool.mp_in_use_count), (True, 0))


for step in (
    a_script_is_run_and_run_again, pause_stops_packets_and_resume_starts_them,
    tasks_move_one_by_one_while_all_is_paused, what_no_task_reaches_is_told, classes_are_built_moved_and_reset,
    everything_goes_away,
):
    step()
