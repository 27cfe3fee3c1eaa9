# Sourced: `unpack_unstable FOLDER PACKAGE…` fetches packages of Debian's unstable, with all that they need, and unpacks them in FOLDER/usr.
# Nothing is installed, nothing of the machine changes, root is not needed. What is there runs by its own loader, FOLDER/usr/lib64/ld-linux….

unpack_unstable() {
  local folder=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror apt package
  shift
  [ -e "$keyring" ] || { echo "no keys of Debian here ($keyring): $* cannot be fetched" >&2; return 1; }
  # where this machine gets its own packages
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null | grep -v '^ *#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1 | tr -d ' ') || true

  apt=$folder/apt
  mkdir -p "$apt"/{lists,archives}/partial
  echo "deb [signed-by=$keyring] ${mirror:-http://deb.debian.org/debian} unstable main" >"$apt/sources.list"
  # What only its scripts need counts as installed, so that it is not fetched.
  printf 'Package: perl\nStatus: install ok installed\nVersion: 999\nArchitecture: all\nMulti-Arch: allowed\n\n' >"$apt/status"
  cat >"$apt/apt.conf" <<END_OF_CONF
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
END_OF_CONF
  APT_CONFIG=$apt/apt.conf apt-get update -qq
  APT_CONFIG=$apt/apt.conf apt-get install -qq -y --download-only "$@" >/dev/null
  for package in "$apt"/archives/*.deb; do
    dpkg -x "$package" "$folder/unpacked"
  done
  rm -rf "$apt" "$folder/usr"
  mv "$folder/unpacked/usr" "$folder/usr" # last, so that what is there is whole
  rm -rf "$folder/unpacked"
}
