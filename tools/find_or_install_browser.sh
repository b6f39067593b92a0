#!/bin/sh
# Find Chromium for the page's tests, or install it with the system's package manager where that is possible.
set -u
for name in "${TACIT_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing Chromium for the page's tests ..."
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null && exit 0
fi
echo "No Chromium was found: the browser tests will fail. Install it (Debian: apt-get install chromium)," >&2
echo "or set TACIT_CHROMIUM to the path of a Chromium or Chrome." >&2
exit 0
