#!/bin/sh
# Find PostgreSQL for the tests of queries, or install it with the system's package manager where that is possible.
set -u
for name in "${TACIT_POSTGRES:-}/initdb" initdb /usr/lib/postgresql/*/bin/initdb; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing PostgreSQL for the tests of queries ..."
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null && exit 0
fi
echo "No PostgreSQL was found: tests of its queries will fail. Install it (Debian: apt-get install postgresql)," >&2
echo "or set TACIT_POSTGRES to the folder of initdb and pg_ctl." >&2
exit 0
