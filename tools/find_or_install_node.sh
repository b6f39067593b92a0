#!/bin/sh
# Find Node for the browser client, or install it with the system's package manager where that is possible; then bring
# the compiler and the bundler that its lock file names.
set -u
if ! { command -v node && command -v npm; } >/dev/null 2>&1; then
    if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
        echo "Installing Node for the browser client ..."
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nodejs npm >/dev/null
    fi
fi
if ! { command -v node && command -v npm; } >/dev/null 2>&1; then
    echo "No Node was found: tests of the browser client will fail. Install it (Debian: apt-get install nodejs npm)." >&2
    exit 0
fi
cd "$(dirname "$0")/../clients/js" || exit 1
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --silent || echo "npm ci failed: tests that build the browser client will fail. Try again with a network." >&2
fi
exit 0
