"""A real object store for tests: a gateway of Ceph with one store in memory; and who signs requests to it beside profctl."""
import contextlib
import datetime
import hashlib
import hmac
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import uuid

PROGRAMS = ("ceph-mon", "ceph-osd", "ceph", "monmaptool", "radosgw", "radosgw-admin")
needs_store = unittest.skipUnless(all(map(shutil.which, PROGRAMS)), "no Ceph here: apt-get install ceph-mon ceph-osd radosgw")
PATIENCE_S = 120
CONFIG = """[global]
fsid = {fsid}
mon_host = {monitor}
mon_initial_members = a
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
auth_allow_insecure_global_id_reclaim = true
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_warn_on_pool_no_redundancy = false
mon_allow_pool_size_one = true
mon_data_avail_crit = 1
run_dir = {folder}
admin_socket = {folder}/$name.asok
log_file = {folder}/$name.log
mon_data = {folder}/mon
osd_data = {folder}/osd
osd_objectstore = memstore
osd_class_update_on_start = false
osd_crush_update_on_start = false
memstore_device_bytes = 536870912
rgw_data = {folder}/rgw
rgw_frontends = beast {frontend}
"""


def free_port():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


def signed(keys, method, path, query, headers, body, region="us-east-1"):
    """The headers of a request: the calculation of Amazon's page, written without profctl's."""
    now = datetime.datetime.now(datetime.timezone.utc)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    headers = {**headers, "x-amz-date": stamp, "x-amz-content-sha256": hashlib.sha256(body).hexdigest()}
    names = ";".join(sorted(headers))
    text = "\n".join([method, urllib.parse.quote(path), "&".join(f"{name}={urllib.parse.quote(value, safe='')}" for name, value in sorted(query.items())),
                      *(f"{name}:{headers[name]}" for name in sorted(headers)), "", names, headers["x-amz-content-sha256"]])
    scope = f"{day}/{region}/s3/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(text.encode()).hexdigest()])
    key = ("AWS4" + keys[1]).encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={keys[0]}/{scope},SignedHeaders={names},"
                                f"Signature={hmac.new(key, to_sign.encode(), 'sha256').hexdigest()}")
    return headers


class Store:
    """**Owns:** its processes, and its folder."""
    KEYS = ("ADMIN", "adminsecret")

    def __init__(self, certificate=None):
        """`certificate`: a file with key and chain, for https."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="profd-store-"))
        self.port, self.processes = free_port(), {}
        self.scheme = "https" if certificate else "http"
        fsid, address = str(uuid.uuid4()), f"127.0.0.1:{free_port()}"
        monitor = f"[v1:{address}]"
        frontend = f"endpoint=127.0.0.1:{self.port}" if not certificate else \
            f"ssl_endpoint=127.0.0.1:{self.port} ssl_certificate={certificate} ssl_private_key={certificate}"
        self.config = self.folder / "ceph.conf"
        self.config.write_text(CONFIG.format(fsid=fsid, monitor=monitor, folder=self.folder, frontend=frontend))
        for name in ("mon", "osd"):
            (self.folder / name).mkdir()
        try:
            self.begin(fsid, monitor)
        except BaseException:
            self.close()
            raise

    def begin(self, fsid, monitor):
        osd = str(uuid.uuid4())
        self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", monitor, self.folder / "monmap", with_config=False)
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", self.folder / "monmap")
        self.start("mon", "ceph-mon", "-i", "a")
        self.run("ceph", "--connect-timeout", str(PATIENCE_S), "osd", "new", osd)
        # Else the store says where it belongs as it starts, now and then before it knows the cluster, and ends.
        self.run("ceph", "osd", "crush", "add", "osd.0", "1", "root=default", "host=here")
        self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.start("osd", "ceph-osd", "-i", "0")
        self.start_gateway()
        self.add_user("admin", self.KEYS)

    def run(self, program, *arguments, with_config=True):
        done = subprocess.run([program, *(["-c", self.config] if with_config else []), *map(str, arguments)], capture_output=True,
                              text=True, check=False, timeout=PATIENCE_S)
        if done.returncode != 0:
            raise AssertionError(f"{program} {arguments}: {done.stderr}")
        return done.stdout

    def start(self, name, program, *arguments):
        with open(self.folder / f"{name}.out", "wb") as out:
            self.processes[name] = subprocess.Popen([program, "-c", self.config, *arguments, "-f"], stdout=out, stderr=out,
                                                    stdin=subprocess.DEVNULL)

    def start_gateway(self):
        self.start("rgw", "radosgw", "-n", "client.rgw")
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                gone = [name for name, process in self.processes.items() if process.poll() is not None]
                if gone or time.monotonic() > end:
                    told = "".join((self.folder / f"{name}.out").read_text() for name in self.processes)
                    raise AssertionError(f"the store does not start; ended: {gone}: {told}") from None
                time.sleep(0.05)  # it says nowhere else that it listens

    def kill_gateway(self):
        self.end("rgw")

    def end(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def add_user(self, name, keys):
        self.run("radosgw-admin", "-n", "client.rgw", "user", "create", "--uid", name, "--display-name", name, "--access-key", keys[0],
                 "--secret", keys[1])

    def limit(self, name, objects):
        """As many of them as the user may have."""
        self.run("radosgw-admin", "-n", "client.rgw", "quota", "set", "--quota-scope=user", "--uid", name, f"--max-objects={objects}")
        self.run("radosgw-admin", "-n", "client.rgw", "quota", "enable", "--quota-scope=user", "--uid", name)

    def ask(self, method, path, query=None, body=b"", keys=KEYS):
        """(status, body) of plain http."""
        query, host = query or {}, f"127.0.0.1:{self.port}"
        connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
        words = urllib.parse.urlencode(sorted(query.items()), quote_via=urllib.parse.quote)
        connection.request(method, urllib.parse.quote(path) + ("?" + words if words else ""), body,
                           signed(keys, method, path, query, {"host": host}, body))
        with contextlib.closing(connection), connection.getresponse() as answer:
            return answer.status, answer.read()

    def environment(self, keys=KEYS):
        return dict(os.environ, AWS_ENDPOINT_URL=f"{self.scheme}://127.0.0.1:{self.port}", AWS_ACCESS_KEY_ID=keys[0],
                    AWS_SECRET_ACCESS_KEY=keys[1], AWS_REGION="us-east-1")

    def close(self):
        for name in list(self.processes):
            self.end(name)
        shutil.rmtree(self.folder, ignore_errors=True)
