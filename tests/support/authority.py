"""A certificate authority for tests: openssl makes the keys, in a directory that goes with the test."""
import pathlib
import subprocess
import tempfile


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Authority:
    def __init__(self, name="test authority"):
        self.folder = tempfile.TemporaryDirectory(prefix="profd-ca-")
        self.root = pathlib.Path(self.folder.name)
        self.root.chmod(0o755)
        self.ca = self.root / "ca.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                f"/CN={name}", "-keyout", self.root / "ca.key", "-out", self.ca)

    def issue(self, common_name, names="", file=None):
        """The paths of a certificate and its key; `names` as openssl writes them: "DNS:a,IP:127.0.0.1"."""
        base = self.root / (file or common_name.replace(" ", "_"))
        request, extensions = base.with_suffix(".csr"), base.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={names}\n" if names else "")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                f"/CN={common_name}", "-keyout", base.with_suffix(".key"), "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.root / "ca.key", "-CAcreateserial", "-days",
                "2", "-extfile", extensions, "-out", base.with_suffix(".pem"))
        base.with_suffix(".key").chmod(0o600)
        return base.with_suffix(".pem"), base.with_suffix(".key")

    def revoke(self, certificate):
        """The folder with the list of those that are revoked, by its hash as openssl looks for it."""
        folder, settings = self.root / "revoked", self.root / "ca.cnf"
        if not settings.exists():
            folder.mkdir()
            (self.root / "index").touch()
            settings.write_text(f"[ca]\ndefault_ca = it\n[it]\ndatabase = {self.root}/index\ndefault_md = sha256\n"
                                "default_crl_days = 2\n")
        ours = ("-config", settings, "-cert", self.ca, "-keyfile", self.root / "ca.key")
        openssl("ca", *ours, "-revoke", certificate)
        openssl("ca", *ours, "-gencrl", "-out", folder / "list.pem")
        openssl("rehash", folder)
        return folder

    def close(self):
        self.folder.cleanup()
