"""A machine of its own: this one's root under an overlay that is thrown away, in namespaces of its own, with real systemd
as its first process. What is installed, enabled, written or broken there is gone afterwards."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import harness

# The kernel is shared, so nothing may be said to it: no sysctl, modules or devices. Nor is there anybody to log in.
BOOT = r"""
set -e
holder=$1; shift
mount -t tmpfs tmpfs "$holder"
mkdir "$holder/upper" "$holder/work" "$holder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$holder/upper,workdir=$holder/work" "$holder/root"
cd "$holder/root"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,ro,bind proc/sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
for shared in "$@"; do mkdir -p ".$shared"; mount --bind "$shared" ".$shared"; done
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
if grep -q cgroup2 /proc/filesystems && ! grep -q '^[a-z]' /proc/cgroups; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mkdir sys/fs/cgroup/systemd
  mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
fi
for unit in systemd-sysctl systemd-modules-load systemd-binfmt systemd-udevd systemd-networkd systemd-timesyncd \
            systemd-resolved systemd-journal-flush systemd-remount-fs getty@tty1 console-getty; do
  ln -sf /dev/null "etc/systemd/system/$unit.service"
done
ln -sf /lib/systemd/system/multi-user.target etc/systemd/system/default.target
rm -rf etc/systemd/system/multi-user.target.wants etc/rc?.d/S*
rm -f usr/sbin/policy-rc.d var/lib/man-db/auto-update
mkdir -p run/systemd
export container=profd-test
pivot_root . mnt
umount -l mnt
exec /lib/systemd/systemd --log-target=journal --show-status=no
"""


def why_not():
    """Why this machine cannot have one; None if it can."""
    if os.geteuid() != 0:
        return "needs root"
    for program in ("/lib/systemd/systemd", "unshare", "nsenter", "systemctl"):
        if not shutil.which(program):
            return f"needs {program}"
    if "\toverlay\n" not in pathlib.Path("/proc/filesystems").read_text():
        return "needs overlayfs"
    return None


class Machine:
    def __init__(self):
        self.holder = tempfile.mkdtemp(prefix="profd-machine-")
        self.boot = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--cgroup", "--propagation", "private",
             "bash", "-c", BOOT, "boot", self.holder, str(harness.ROOT), str(harness.BUILD)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.pid = None
        harness.wait_until(self._booted, "systemd to come up")

    def _booted(self):
        if self.boot.poll() is not None:
            raise AssertionError(f"the machine did not boot: {self.boot.stdout.read()}")
        if self.pid is None:
            children = pathlib.Path(f"/proc/{self.boot.pid}/task/{self.boot.pid}/children").read_text().split()
            if not children or pathlib.Path(f"/proc/{children[0]}/comm").read_text() != "systemd\n":
                return False
            self.pid = int(children[0])
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def command(self, *command, user=None):
        inside = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return ["nsenter", "-t", str(self.pid), "-m", "-p", "-i", "-u", "-C", "-r", "-w", *inside, *map(str, command)]

    def run(self, *command, user=None):
        return subprocess.run(self.command(*command, user=user), capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=harness.PATIENCE_S * 3,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                                   "DEBIAN_FRONTEND": "noninteractive"})

    def popen(self, *command, user=None):
        return subprocess.Popen(self.command(*command, user=user), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def path(self, inside):
        return pathlib.Path(f"/proc/{self.pid}/root{inside}")

    def close(self):
        self.boot.kill()  # and with it all that runs there
        self.boot.wait()
        self.boot.stdout.close()
        shutil.rmtree(self.holder, ignore_errors=True)
