#!/bin/sh
# Installs the Debian packages named as arguments that are missing; asks no questions.
# Without apt it prints what to install instead and lets the build go on.
set -eu

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    cc=$(command -v pkg-config >/dev/null 2>&1 && pkg-config --exists ncursesw libcjson gsl libcrypto openblas cmocka && echo ok || true)
    [ "$cc" = ok ] && exit 0
    cat <<EOF
No apt on this machine. Please install the equivalents of these Debian packages:
  $*
Fedora:
  sudo dnf install gcc make pkgconf-pkg-config ncurses-devel cjson-devel gsl-devel openblas-devel \\
      openssl-devel libunistring-devel libcmocka-devel tmux procps-ng python3 python3-scipy valgrind clang compiler-rt
macOS (Homebrew):
  brew install make pkgconf ncurses cjson gsl openblas openssl@3 libunistring cmocka tmux scipy llvm
EOF
    exit 0
fi

missing=
for p in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true) in
        installed) ;;
        *) missing="$missing $p" ;;
    esac
done
[ -z "$missing" ] && exit 0

sudo=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "These packages are missing and there is no sudo to install them with:$missing" >&2
        exit 1
    fi
    sudo=sudo
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q
# shellcheck disable=SC2086  # a list of words
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
