# Sourced by the scripts beside it: `ensure EXTRA` leaves a virtual environment in .venv (or $ONTHEDOT_VENV) with
# onthedot[EXTRA] installed from this checkout, and its bin folder first on PATH. Prints what it installs; costs nothing when done before.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=${ONTHEDOT_VENV:-$PWD/.venv}
python=${PYTHON:-python3}

say() { printf '\033[2m· %s\033[0m\n' "$*" >&2; }
stop() { printf 'error: %s\n' "$*" >&2; exit 2; }

make_venv() {
  command -v "$python" >/dev/null || stop "no $python here: install Python 3.11 or newer, or set PYTHON=/path/to/python"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || stop "$python is $("$python" -V 2>&1): Python 3.11 or newer is needed; set PYTHON=/path/to/it"
  if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || stop "Python's venv module is missing: apt-get install python3-venv"
    say "installing python3-venv"
    apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
  fi
  say "making a virtual environment in $venv"
  "$python" -m venv "$venv"
}

ensure() {
  local extra=$1 stamp
  [ -x "$venv/bin/python" ] || make_venv
  stamp=$venv/.onthedot-$extra-$(sha256sum pyproject.toml | cut -c1-16)
  if [ ! -e "$stamp" ]; then
    say "installing onthedot[$extra] and what it needs (once)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$extra]" 2>&1 | { grep -v '^WARNING: Location' || true; } >&2
    [ "${PIPESTATUS[0]}" = 0 ] || stop "pip could not install onthedot[$extra]"
    touch "$stamp"
  fi
  export PATH="$venv/bin:$PATH" VIRTUAL_ENV="$venv"
}
