"""Clients are killed in mid-call: others go on, packets go on, and what the dead had begun is whole or not there."""

import signal
import subprocess
import threading

from session import *

bess = Bess()


def build():
    bess.create_module("Source", "src")
    bess.create_module("Source", "src2")
    bess.create_module("Sink", "end")
    bess.connect("src", "end")
    for source in ("src", "src2"):
        bess.add_tc("calm_" + source, "rate_limit", wid=0, resource="packet", limit={"packet": 20_000})
        bess.attach_task(source, parent="calm_" + source)
    bess.await_arrival("end", 100)


class Other:
    """A client that goes on calling beside those that die."""

    def __init__(self):
        self.count = 0
        self.error = None
        self.is_over = False
        self.thread = threading.Thread(target=self.call)
        self.thread.start()

    def call(self):
        try:
            bess = Bess()
            while not self.is_over:
                name = bess.create_module("Bypass", f"other{self.count}")
                bess.connect("src2", name)
                equal(bess.info(name).mclass, "Bypass")
                bess.request("DestroyModule", name=name)
                self.count += 1
        except BaseException as error:
            self.error = error

    def goes_on(self, more=3):
        wanted = self.count + more
        while self.count < wanted:
            assert self.error is None, self.error

    def end(self):
        self.is_over = True
        self.thread.join()
        assert self.error is None, self.error


def begin(mode):
    client = subprocess.Popen([sys.executable, "-B", "dying.py", mode], stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "under way\n"
    return client


def kill(client):
    client.send_signal(signal.SIGKILL)
    client.wait()


def leftovers_go():
    """What a call had made is whole: it has a name by which it can be taken away."""
    for module in bess.request("ListModules").modules:
        if module.mclass == "Bypass" and module.name.startswith("bypass"):
            equal(bess.info(module.name).mclass, "Bypass")
            bess.request("DestroyModule", name=module.name)


def clients_die_while_they_change_the_graph():
    for _ in range(5):
        client = begin("calls")
        other.goes_on()
        kill(client)
        other.goes_on()
        bess.await_arrival("end", 100)
        leftovers_go()


def clients_die_that_hold_streams():
    for mode in ("streams", "watch", "silent"):
        client = begin(mode)
        # Beside it while it lives, and when it is dead.
        other.goes_on()
        bess.await_arrival("end", 100)
        kill(client)
        other.goes_on()
        bess.await_arrival("end", 100)


def a_pause_outlives_its_client_and_any_other_ends_it():
    for _ in range(3):
        client = begin("paused")
        other.goes_on()
        kill(client)
        other.goes_on()
        still = bess.arrived("end")
        equal([worker.running for worker in bess.request("ListWorkers").workers_status], [False])
        equal(bess.arrived("end"), still)
        bess.resume_all()
        bess.await_arrival("end", 100)
        leftovers_go()


def many_die_at_once():
    clients = [begin(mode) for mode in ("calls", "streams", "watch", "silent", "calls")]
    for client in clients:
        kill(client)
    other.goes_on()
    bess.await_arrival("end", 100)


build()
other = Other()
try:
    clients_die_while_they_change_the_graph()
    clients_die_that_hold_streams()
    a_pause_outlives_its_client_and_any_other_ends_it()
    many_die_at_once()
finally:
    other.end()
bess.request("ResetAll")
equal(bess.request("DumpMempool", socket=-1).dumps[0].mp_in_use_count, 0)
