#include "client/node/authority.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/unique_fd.h"
#include "client/files/own_folder.h"
#include "client/words/text.h"
#include "remote/pem.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using remote::Certificate;
using remote::File;
using remote::Freer;
using remote::Key;

constexpr char kAuthority[] = "ca";
constexpr size_t kMostCommonName = 64;  // X.520: ub-common-name
constexpr size_t kMostHostName = 253;   // RFC 1035
constexpr int kSerialBytes = 16;        // RFC 5280: at most 20
constexpr long kEarlierSeconds = 3600;  // clocks of nodes differ
constexpr long kDaySeconds = 86'400;

struct Extension {
  int nid;
  std::string value;
};

Status Failed(const std::string& what) {
  char reason[256] = "";
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  ERR_clear_error();
  return {Code::kInternal, what + ": " + reason};
}

bool IsAddress(const std::string& name) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, name.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

// Nothing that has a meaning to openssl, a path or profd's lists of names.
Status CheckName(const std::string& name, Purpose purpose) {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  const std::string allowed = std::string(kLetters) + (purpose == Purpose::kNode ? ":" : "@");
  const bool is_plain = !name.empty() && name.size() <= kMostHostName && name.front() != '.' &&
                        name.front() != '-' && name.find_first_not_of(allowed) == name.npos;
  const bool has_colon = name.find(':') != name.npos;
  if (is_plain && (!has_colon || IsAddress(name))) return {};
  return {Code::kInvalidArgument, "'" + Excerpt(name) + "' is not a name for a certificate: expected " +
                                      (purpose == Purpose::kNode ? "a host name or an address, without a port"
                                                                 : "letters, digits and . - _ @")};
}

Status Add(X509* certificate, X509* issuer, const Extension& extension) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>> made(
      X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value.c_str()));
  if (!made || X509_add_ext(certificate, made.get(), -1) != 1) return Failed("make a certificate");
  return {};
}

Status SetSerial(X509* certificate) {
  unsigned char bytes[kSerialBytes];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return Failed("find a serial number");
  bytes[0] &= 0x7f;  // it is positive
  const std::unique_ptr<BIGNUM, Freer<BN_free>> number(BN_bin2bn(bytes, sizeof bytes, nullptr));
  if (!number || BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) == nullptr)
    return Failed("find a serial number");
  return {};
}

// `issuer` and `its_key` nullptr: signed by itself.
Result<Certificate> Make(EVP_PKEY* key, const std::string& common_name, unsigned days, X509* issuer,
                         EVP_PKEY* its_key, const std::vector<Extension>& extensions) {
  Certificate made(X509_new());
  if (!made) return Failed("make a certificate");
  X509* const by = issuer == nullptr ? made.get() : issuer;
  PROFD_RETURN_IF_ERROR(SetSerial(made.get()));
  X509_NAME* const name = X509_get_subject_name(made.get());
  const auto* const text = reinterpret_cast<const unsigned char*>(common_name.c_str());
  if (X509_set_version(made.get(), X509_VERSION_3) != 1 ||
      X509_gmtime_adj(X509_getm_notBefore(made.get()), -kEarlierSeconds) == nullptr ||
      X509_gmtime_adj(X509_getm_notAfter(made.get()), kDaySeconds * static_cast<long>(days)) == nullptr ||
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) != 1 ||
      X509_set_issuer_name(made.get(), X509_get_subject_name(by)) != 1 ||
      X509_set_pubkey(made.get(), key) != 1)
    return Failed("make a certificate for " + common_name);
  for (const Extension& extension : extensions) PROFD_RETURN_IF_ERROR(Add(made.get(), by, extension));
  if (X509_sign(made.get(), its_key == nullptr ? key : its_key, EVP_sha256()) == 0)
    return Failed("sign a certificate for " + common_name);
  return made;
}

// What `write` puts into memory, into a new file.
template <typename Write>
Status Create(const base::UniqueFd& in, const std::string& path, mode_t mode, Write write) {
  const File memory(BIO_new(BIO_s_mem()));
  if (!memory || write(memory.get()) != 1) return Failed("write " + path);
  const std::string name = path.substr(path.rfind('/') + 1);
  char* data = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(memory.get(), &data));
  const base::UniqueFd file(
      ::openat(in.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file && errno == EEXIST)
    return {Code::kAlreadyExists, path + " is there already; nothing is overwritten: move it away first"};
  if (!file) return Status::FromErrno("create " + path);
  const ssize_t written = ::write(file.get(), data, size);
  if (written == static_cast<ssize_t>(size) && ::fsync(file.get()) == 0) return {};
  Status why = Status::FromErrno("write " + path);
  ::unlinkat(in.get(), name.c_str(), 0);
  return why;
}

// The folder of the authority: the caller's own, and reached by no link of somebody else's. `make`: if it is
// not there.
Result<base::UniqueFd> OpenFolder(const std::string& folder, bool make) {
  std::string path = folder;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t name = path.rfind('/') + 1;  // without a slash: 0
  PROFD_ASSIGN_OR_RETURN(const base::UniqueFd above,
                         OpenWay(path.substr(0, name), make ? IfMissing::kMake : IfMissing::kFail));
  if (make) ::mkdirat(above.get(), path.substr(name).c_str(), 0700);
  return OpenOwnFolder(above.get(), path.substr(name), path);
}

Result<Issued> Save(const base::UniqueFd& in, const std::string& folder, const std::string& name,
                    X509* certificate, EVP_PKEY* key) {
  const Issued files{folder + "/" + name + ".pem", folder + "/" + name + ".key"};
  // Both or none.
  if (::faccessat(in.get(), (name + ".pem").c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return Status(Code::kAlreadyExists,
                  files.certificate + " is there already; nothing is overwritten: move it away first");
  PROFD_RETURN_IF_ERROR(Create(in, files.key, 0600, [&](BIO* to) {
    return PEM_write_bio_PKCS8PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr);
  }));
  const Status written =
      Create(in, files.certificate, 0644, [&](BIO* to) { return PEM_write_bio_X509(to, certificate); });
  if (!written.ok()) {
    ::unlinkat(in.get(), (name + ".key").c_str(), 0);
    return written;
  }
  return files;
}

}  // namespace

Result<Issued> MakeAuthority(const std::string& folder, const std::string& name, unsigned days) {
  if (name.empty() || name.size() > kMostCommonName || !base::IsPlainText(name))
    return Status(Code::kInvalidArgument, "--name: expected 1 to 64 bytes of text");
  PROFD_ASSIGN_OR_RETURN(const base::UniqueFd in, OpenFolder(folder, true));
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return Failed("make a key");
  PROFD_ASSIGN_OR_RETURN(const Certificate made, Make(key.get(), name, days, nullptr, nullptr,
                                                      {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                                       {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                                       {NID_subject_key_identifier, "hash"}}));
  return Save(in, folder, kAuthority, made.get(), key.get());
}

Result<Issued> Issue(const std::string& folder, Purpose purpose, const std::vector<std::string>& names,
                     unsigned days) {
  for (const std::string& name : names) PROFD_RETURN_IF_ERROR(CheckName(name, purpose));
  const std::string& first = names.front();
  if (first == kAuthority) return Status(Code::kInvalidArgument, "'ca' is the authority; give another name");
  if (first.size() > kMostCommonName)
    return Status(Code::kInvalidArgument, "'" + Excerpt(first) +
                                              "' is longer than 64 bytes: give a shorter "
                                              "name first, longer ones behind it");
  PROFD_ASSIGN_OR_RETURN(const Certificate authority,
                         remote::ReadCertificate({"authority", folder + "/ca.pem"}));
  PROFD_ASSIGN_OR_RETURN(const Key its_key, remote::ReadKey({"the authority's key", folder + "/ca.key"}));
  PROFD_ASSIGN_OR_RETURN(const base::UniqueFd in, OpenFolder(folder, false));
  if (X509_check_private_key(authority.get(), its_key.get()) != 1) {
    ERR_clear_error();
    return Status(Code::kInvalidArgument, folder + "/ca.key is not the key of " + folder + "/ca.pem");
  }
  std::string also;
  for (const std::string& name : names)
    also += (also.empty() ? "" : ",") + std::string(IsAddress(name) ? "IP:" : "DNS:") + name;
  std::vector<Extension> extensions = {
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, purpose == Purpose::kNode ? "serverAuth,clientAuth" : "clientAuth"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid:always"}};
  if (purpose == Purpose::kNode) extensions.push_back({NID_subject_alt_name, also});
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return Failed("make a key");
  PROFD_ASSIGN_OR_RETURN(const Certificate made,
                         Make(key.get(), first, days, authority.get(), its_key.get(), extensions));
  return Save(in, folder, first, made.get(), key.get());
}

}  // namespace profd::client
